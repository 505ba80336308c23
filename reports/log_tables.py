"""Tables of logs on a terminal. All that comes from a log is shown as text, never as markup."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from reports.numbers import NOTHING, interval, rate, ratio
from results.failure import printable
from results.logs.cases import LogCase
from results.logs.facts import Facts
from results.logs.rules import Rule, throughput_of
from results.logs.verdict import LogResult

STYLES = {"ok": "green", "short": "yellow", "no training": "dim"}
# With more logs than this, only those that do not count are explained.
MOST_EXPLAINED = 40
MOST_REASONS = 200


def print_logs(
    results: Sequence[LogResult],
    cases: Sequence[LogCase],
    notices: Sequence[str],
    rule: Rule,
    console: Console | None = None,
) -> None:
    """Print each log, each case with its speedup, and what could not be used and why."""
    console = console or Console()
    if len(results) <= MOST_REASONS:
        console.print(_logs_table(results, rule))
    _print_reasons(results, rule, console)
    if any(len(case.logs) > 1 or case.speedup for case in cases):
        console.print(_cases_table(cases))
        if any(case.throughput and case.throughput.low is None for case in cases):
            console.print("A 95 % interval needs at least six logs that count.", style="dim")
    for notice in notices:
        console.print(_text(notice), style="yellow", highlight=False)
    console.print(_count(results), style="bold", highlight=False)


def _logs_table(results: Sequence[LogResult], rule: Rule) -> Table:
    headings = ["log", "format", "case", "status", "images/s", "steps"]
    if rule == "both":
        headings[4:5] = ["uniform", "dlperf-v1", "difference"]
    table = Table()
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place < 4 else "right", overflow="fold")
    for result in results:
        style = STYLES.get(result.status, "red")
        cells = [
            _text(_short(result.log)),
            _text(result.format or NOTHING),
            _text(case_text(result.facts)),
            f"[{style}]{result.status}[/]",
        ]
        if rule == "both":
            cells += [rate(result.throughput), rate(result.dlperf_v1), _difference(result)]
        else:
            cells.append(rate(throughput_of(result, rule)))
        table.add_row(*cells, str(result.steps) if result.steps else NOTHING)
    return table


def _cases_table(cases: Sequence[LogCase]) -> Table:
    table = Table()
    headings = ("case", "images/s", "95 % interval", "speedup", "over", "logs that count")
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place == 0 else "right", overflow="fold")
    for case in cases:
        throughput = rate(case.throughput.value if case.throughput else None)
        name = f"{case.format} {case_text(case.facts)}"
        table.add_row(
            _text(f"{case.series}: {name}" if case.series else name),
            throughput + (" (short)" if case.short else ""),
            interval(case.throughput),
            ratio(case.speedup.value if case.speedup else None),
            _text(case.base or case.no_base),
            f"{case.counted} of {len(case.logs)}",
        )
    return table


def _print_reasons(results: Sequence[LogResult], rule: Rule, console: Console) -> None:
    few = len(results) <= MOST_EXPLAINED
    explained = [one for one in results if few or one.status != "ok"]
    for result in explained[:MOST_REASONS]:
        reasons = list(result.reasons)
        if rule != "uniform" and result.dlperf_v1_note:
            reasons.append(f"dlperf-v1: {result.dlperf_v1_note}")
        if reasons:
            console.print(f"[bold]{_text(result.log)}[/]", highlight=False)
        for reason in reasons:
            console.print(f"  {_text(reason)}", highlight=False, soft_wrap=True)
    if len(explained) > MOST_REASONS:
        more = len(explained) - MOST_REASONS
        console.print(f"and {more} more: --json and --csv have them all", style="dim")


def case_text(facts: Facts) -> str:
    """Return what is known of a case, such as `4n8g b128 fp32`."""
    parts = [facts.label or "", f"b{facts.batch_size}" if facts.batch_size else ""]
    return " ".join(part for part in (*parts, facts.precision or "") if part) or NOTHING


def _difference(result: LogResult) -> str:
    if not result.throughput or not result.dlperf_v1:
        return NOTHING
    return f"{result.dlperf_v1 / result.throughput - 1:+.2%}"


def _count(results: Sequence[LogResult]) -> str:
    words = [result.status for result in results]
    counts = [f"{words.count(word)} {word}" for word in dict.fromkeys(sorted(words))]
    return f"{len(results)} logs: " + ", ".join(counts) if results else "no logs"


def _short(name: str) -> str:
    return name if len(name) <= 60 else "…" + name[-59:]


def _text(text: str) -> str:
    return escape(printable(text))
