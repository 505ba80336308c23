"""Tables of logs on a terminal. All that comes from a log is shown as text, never as markup."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, takewhile

from rich import box
from rich.console import Console
from rich.table import Table

from reports.log_reasons import print_reasons
from reports.numbers import NOTHING, interval, rate, ratio
from reports.terminal import plain
from results.counted import counted
from results.logs.cases import LogCase
from results.logs.facts import Facts
from results.logs.rules import Rule
from results.logs.verdict import LogResult

STYLES = {"ok": "green", "short": "yellow", "no training": "dim"}
# More than these are counted, and not listed one by one.
MOST_LISTED = 200


def print_logs(
    results: Sequence[LogResult],
    cases: Mapping[str, Sequence[LogCase]],
    notices: Sequence[str],
    rule: Rule,
    console: Console | None = None,
) -> None:
    """Print each log, each case with its speedup, and what could not be used and why.

    `cases` are the same cases by each rule that is shown.
    """
    console = console or Console()
    root = _root([result.log for result in results])
    if root:
        console.print(plain(f"Logs in {root}"), style="bold", highlight=False)
    if len(results) <= MOST_LISTED:
        console.print(_logs_table(results, rule, root))
        if any(result.devices_assumed for result in results):
            note = "* Nothing says how many devices there were: of those that printed."
            console.print(note, style="dim", highlight=False)
    print_reasons([(_below(root, one.log), one) for one in results], rule, console)
    _print_cases(cases, root, console)
    for notice in notices:
        console.print(plain(notice), style="yellow", highlight=False)
    console.print(_count(results), style="bold", highlight=False)


def _root(names: Sequence[str]) -> str:
    """Return the folder that all logs have in common, and no more is said of."""
    folders = [name.split("/")[:-1] for name in names]
    shared = takewhile(lambda parts: len(set(parts)) == 1, zip(*folders, strict=False))
    return "/".join(parts[0] for parts in shared)


def _below(root: str, name: str) -> str:
    return name.removeprefix(f"{root}/") if root else name


def _logs_table(results: Sequence[LogResult], rule: Rule, root: str) -> Table:
    rates = ["uniform", "dlperf-v1", "difference"] if rule == "both" else ["images/s"]
    table = _table(("log", "case", "status"), (*rates, "steps"))
    folders = [_folder(_below(root, result.log)) for result in results]
    several = len({result.format for result in results}) > 1
    for folder, group in groupby(zip(folders, results, strict=True), lambda pair: pair[0]):
        logs = [result for _, result in group]
        shared = several and len({result.format for result in logs}) == 1
        if len(set(folders)) > 1 or shared:
            form = logs[0].format or NOTHING if shared else ""
            table.add_row(f"[bold]{plain(folder or '.')}[/]", f"[bold]{plain(form)}[/]")
        for result in logs:
            form = f"{result.format or NOTHING}\n" if several and not shared else ""
            style = STYLES.get(result.status, "red")
            table.add_row(
                plain(_file(result.log)),
                plain(form + case_text(result.facts)),
                f"[{style}]{result.status}[/]",
                *_rates(result, rule),
                f"{result.steps}" if result.steps else NOTHING,
            )
    return table


def _table(left: Sequence[str], right: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in left:
        table.add_column(heading, overflow="fold")
    for heading in right:
        table.add_column(heading, justify="right", overflow="fold")
    return table


def _file(name: str) -> str:
    return name.rpartition("/")[2]


def _folder(name: str) -> str:
    return name.rpartition("/")[0]


def _rates(result: LogResult, rule: Rule) -> Iterator[str]:
    if rule != "dlperf-v1":
        mark = "*" if result.devices_assumed else ""
        seconds = result.step_seconds
        if result.throughput is None and seconds is not None:
            yield f"{seconds:.4g} s/step"
        else:
            yield rate(result.throughput) + mark
    if rule != "uniform":
        yield rate(result.dlperf_v1)
    if rule == "both":
        ours, theirs = result.throughput, result.dlperf_v1
        yield f"{theirs / ours - 1:+.2%}" if ours and theirs else NOTHING


def _print_cases(cases: Mapping[str, Sequence[LogCase]], root: str, console: Console) -> None:
    """Print a line per case: its speedup, by each rule, if there is one."""
    rules = list(cases)
    rows = [
        row
        for row in zip(*cases.values(), strict=True)
        if row[0].facts.label or any(case.throughput for case in row)
    ]
    if not any(len(row[0].logs) > 1 or case.speedup for row in rows for case in row):
        return
    table = _cases_table(rows, rules, root)
    words = f"rule{'s' if len(rules) > 1 else ''} {' and '.join(rules)}"
    console.print(f"Cases, by the {words}", style="bold", highlight=False)
    console.print(table)
    firsts = [row[0] for row in rows]
    reasons = [case.no_base for case in firsts if case.no_base]
    for reason in dict.fromkeys(reasons):
        number = counted(reasons.count(reason), "case")
        console.print(f"No speedup for {number}: {reason}.", style="dim", highlight=False)
    if len(rules) == 1 and any(one.throughput and not _has_interval(one) for one in firsts):
        console.print("A 95 % interval needs at least six repeats that count.", style="dim")


def _cases_table(rows: Sequence[tuple[LogCase, ...]], rules: Sequence[str], root: str) -> Table:
    intervals = any(_has_interval(case) for row in rows for case in row)
    one_rule = ("images/s", *(["95 % interval"] if intervals else []), "speedup")
    several = tuple(f"{what} {rule}" for rule in rules for what in ("images/s", "speedup"))
    columns = several if len(rules) > 1 else one_rule
    table = _table(("case",), (*columns, "over", "repeats"))
    formats = len({row[0].format for row in rows}) > 1
    series = len({row[0].series for row in rows}) > 1
    texts = [_case_name(row[0], formats=formats) for row in rows]
    for folder, group in groupby(zip(rows, texts, strict=True), lambda pair: pair[0][0].series):
        if series:
            table.add_row(f"[bold]{plain(_below(root, folder) if folder != root else '.')}[/]")
        members = list(group)
        names = [text for _, text in members]
        for row, text in members:
            # Cases that differ in nothing else are told apart by their logs.
            name = f" ({_file(row[0].logs[0].log)})" if names.count(text) > 1 else ""
            table.add_row(
                plain(text + name),
                *_case_cells(row, intervals=intervals),
                plain(row[0].base or NOTHING),
                f"{row[0].counted} of {row[0].repeats}",
            )
    return table


def _has_interval(case: LogCase) -> bool:
    return case.throughput is not None and case.throughput.low is not None


def _case_cells(row: tuple[LogCase, ...], *, intervals: bool) -> Iterator[str]:
    for case in row:
        short = " (short)" if case.short else ""
        assumed = "*" if any(log.devices_assumed for log in case.logs) else ""
        yield rate(case.throughput.value if case.throughput else None) + assumed + short
        if len(row) == 1 and intervals:
            yield interval(case.throughput)
        yield ratio(case.speedup.value if case.speedup else None)


def _case_name(case: LogCase, *, formats: bool) -> str:
    parts = (case.format if formats else "", case.facts.model or "", case_text(case.facts))
    return " ".join(part for part in parts if part)


def case_text(facts: Facts) -> str:
    """Return what is known of a case, such as `4n8g b128 fp32`."""
    ranks = counted(facts.ranks, "rank") if facts.ranks else ""
    parts = [facts.label or ranks, f"b{facts.batch_size}" if facts.batch_size else ""]
    return " ".join(part for part in (*parts, facts.precision or "") if part) or NOTHING


def _count(results: Sequence[LogResult]) -> str:
    words = [result.status for result in results]
    counts = [f"{words.count(word)} {word}" for word in dict.fromkeys(sorted(words))]
    return f"{counted(len(results), 'log')}: " + ", ".join(counts) if results else "no logs"
