"""Tables on a terminal. What comes from logs and hosts is shown as text, never as markup."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from reports.comparison_table import COMPARISON_HEADINGS, comparison_rows
from reports.settings_table import setting_line, settings_table
from reports.summary_table import failures, terminal_table
from reports.variant_table import variant_table
from results.comparison import Comparison, compare_with_published
from results.failure import printable
from results.summary import RunSummary


def print_summary(run: RunSummary, console: Console | None = None) -> None:
    """Print a run's table, what does not count and why, and what DLPerf published beside it."""
    console = console or Console()
    record = run.run.record
    console.print(f"\n[bold]{plain(setting_line(run))}[/]", highlight=False)
    for note in record.notes:
        console.print(plain(note), style="yellow", highlight=False)
    if len(run.variants) > 1:
        console.print(_table(*settings_table(run)))
        console.print(_table(*variant_table(run)))
    console.print(_table(*terminal_table(run)))
    if any(case.throughput and case.throughput.low is None for case in run.cases):
        console.print("A 95 % interval needs at least six repeats that count.", style="dim")
    for failure in failures(run):
        console.print(f"[red]{plain(failure.name)}: {plain(failure.reason)}[/]", highlight=False)
        for line in failure.tail[-5:]:
            console.print(f"    {plain(line)}", style="dim", highlight=False)
    for notice in run.run.notices:
        console.print(plain(notice), style="yellow", highlight=False)
    if any(case.throughput for case in run.cases):
        print_comparison(compare_with_published(run), console)


def print_comparison(comparison: Comparison, console: Console | None = None) -> None:
    """Print a run beside the published figures, and what is not comparable."""
    console = console or Console()
    console.print("\n[bold]Beside what DLPerf v1.0 published[/]", highlight=False)
    console.print(_table(COMPARISON_HEADINGS, comparison_rows(comparison)))
    console.print("Not comparable directly:", highlight=False)
    for difference in comparison.differences:
        console.print(f"  {plain(difference)}", highlight=False, style="dim")


def plain(text: str) -> str:
    """Return text that is neither markup nor a terminal's escape sequence."""
    return escape(printable(text))


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table()
    for place, heading in enumerate(headings):
        first = place == 0
        table.add_column(
            heading, justify="left" if first else "right", no_wrap=first, overflow="fold"
        )
    for row in rows:
        table.add_row(*map(plain, row))
    return table
