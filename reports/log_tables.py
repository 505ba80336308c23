"""Tables of logs on a terminal. All that comes from a log is shown as text, never as markup."""

from collections.abc import Sequence
from itertools import takewhile

from rich.console import Console
from rich.table import Table

from reports.numbers import NOTHING, interval, rate, ratio
from reports.terminal import plain
from results.logs.cases import LogCase
from results.logs.facts import Facts
from results.logs.rules import Rule, throughput_of
from results.logs.verdict import LogResult

STYLES = {"ok": "green", "short": "yellow", "no training": "dim"}
# With more logs than this, only those that do not count are explained.
MOST_EXPLAINED = 40
MOST_REASONS = 200
FEWEST_FOR_ROOT = 2


def print_logs(
    results: Sequence[LogResult],
    cases: Sequence[LogCase],
    notices: Sequence[str],
    rule: Rule,
    console: Console | None = None,
) -> None:
    """Print each log, each case with its speedup, and what could not be used and why."""
    console = console or Console()
    root = _root([result.log for result in results])
    if len(results) <= MOST_REASONS:
        if root:
            console.print(plain(f"Logs in {root}"), style="bold", highlight=False)
        console.print(_logs_table(results, rule, root))
    _print_reasons(results, rule, root, console)
    cases = [case for case in cases if case.facts.label or case.throughput]
    if any(len(case.logs) > 1 or case.speedup for case in cases):
        console.print(_cases_table(cases, root))
        if any(case.throughput and case.throughput.low is None for case in cases):
            console.print("A 95 % interval needs at least six logs that count.", style="dim")
    for notice in notices:
        console.print(plain(notice), style="yellow", highlight=False)
    console.print(_count(results), style="bold", highlight=False)


def _root(names: Sequence[str]) -> str:
    """Return the folder that all logs have in common, and no more is said of."""
    if len(names) < FEWEST_FOR_ROOT:
        return ""
    folders = [name.split("/")[:-1] for name in names]
    shared = takewhile(lambda parts: len(set(parts)) == 1, zip(*folders, strict=False))
    return "/".join(parts[0] for parts in shared)


def _below(root: str, name: str) -> str:
    return name.removeprefix(f"{root}/") if root else name


def _logs_table(results: Sequence[LogResult], rule: Rule, root: str) -> Table:
    several = len({result.format for result in results}) > 1
    rates = ["uniform", "dlperf-v1", "difference"] if rule == "both" else ["images/s"]
    table = Table()
    for heading in ("log", *(["format"] if several else []), "case", "status"):
        table.add_column(heading, overflow="fold")
    for heading in (*rates, "steps"):
        table.add_column(heading, justify="right", overflow="fold")
    for result in results:
        style = STYLES.get(result.status, "red")
        cells = [plain(_below(root, result.log))]
        if several:
            cells.append(plain(result.format or NOTHING))
        cells += [plain(case_text(result.facts)), f"[{style}]{result.status}[/]"]
        if rule == "both":
            cells += [rate(result.throughput), rate(result.dlperf_v1), _difference(result)]
        else:
            cells.append(rate(throughput_of(result, rule)))
        table.add_row(*cells, str(result.steps) if result.steps else NOTHING)
    return table


def _cases_table(cases: Sequence[LogCase], root: str) -> Table:
    table = Table()
    headings = ("case", "images/s", "95 % interval", "speedup", "over", "logs")
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="left" if place == 0 else "right", overflow="fold")
    for case in cases:
        throughput = rate(case.throughput.value if case.throughput else None)
        series = "" if case.series == root else _below(root, case.series)
        name = " ".join(part for part in (case.format, case.facts.model) if part)
        text = f"{name} {case_text(case.facts)}"
        table.add_row(
            plain(f"{series}: {text}" if series else text),
            throughput + (" (short)" if case.short else ""),
            interval(case.throughput),
            ratio(case.speedup.value if case.speedup else None),
            plain(case.base or case.no_base),
            f"{case.counted} of {len(case.logs)}",
        )
    return table


def _print_reasons(results: Sequence[LogResult], rule: Rule, root: str, console: Console) -> None:
    few = len(results) <= MOST_EXPLAINED
    explained = [one for one in results if few or one.status != "ok"]
    for result in explained[:MOST_REASONS]:
        reasons = list(result.reasons)
        if rule != "uniform" and result.dlperf_v1_note:
            reasons.append(f"dlperf-v1: {result.dlperf_v1_note}")
        if reasons:
            name = plain(_below(root, result.log))
            console.print(f"[bold]{name}[/]", highlight=False)
        for reason in reasons:
            console.print(f"  {plain(reason)}", highlight=False, soft_wrap=True)
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
