"""One file per sub-command of `dlscale`: its options, and what it calls."""
