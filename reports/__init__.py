"""How a number is shown: tables, plots, reports and comparisons."""
