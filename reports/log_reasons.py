"""What could not be used of logs, and why: of many logs, each kind of reason once."""

import re
from collections.abc import Sequence

from rich.console import Console

from reports.terminal import plain
from results.counted import counted
from results.logs.rules import Rule
from results.logs.verdict import LogResult

# With more logs than this, a reason that several of those that count have is told once.
MOST_ONE_BY_ONE = 40
# More that do not count than these are not listed; a table would not be read.
MOST_FAILED = 200
_NUMBERS = re.compile(r"\d[\d.,]*")

Named = tuple[str, LogResult]


def print_reasons(named: Sequence[Named], rule: Rule, console: Console) -> None:
    """Print the reasons of logs that are shown under these names. None is left out in silence."""
    if len(named) <= MOST_ONE_BY_ONE:
        alone, together = list(named), []
    else:
        alone = [(name, one) for name, one in named if one.status not in {"ok", "short"}]
        together = [(name, one) for name, one in named if one.status in {"ok", "short"}]
    for name, result in alone[:MOST_FAILED]:
        reasons = _reasons(result, rule)
        if reasons:
            console.print(f"[bold]{plain(name)}[/]", highlight=False)
        for reason in reasons:
            _print(reason, console)
    if len(alone) > MOST_FAILED:
        more = counted(len(alone) - MOST_FAILED, "more log")
        text = f"{more} that do not count, and why, are in --json and --csv"
        console.print(text, style="yellow", highlight=False)
    _print_together(together, rule, console)


def _print_together(named: Sequence[Named], rule: Rule, console: Console) -> None:
    """Print each kind of reason, those that differ in numbers alone being one, with one example."""
    kinds: dict[str, list[tuple[str, str]]] = {}
    for name, result in named:
        for reason in _reasons(result, rule):
            kinds.setdefault(_NUMBERS.sub("#", reason), []).append((name, reason))
    for examples in kinds.values():
        name, reason = examples[0]
        of = f"{counted(len(examples), 'log')}, such as " if len(examples) > 1 else ""
        console.print(f"{of}[bold]{plain(name)}[/]", highlight=False)
        _print(reason, console)


def _print(reason: str, console: Console) -> None:
    console.print(f"  {plain(reason)}", highlight=False, soft_wrap=True)


def _reasons(result: LogResult, rule: Rule) -> list[str]:
    reasons = list(result.reasons)
    if rule != "uniform" and result.dlperf_v1_note:
        reasons.append(f"dlperf-v1: {result.dlperf_v1_note}")
    return reasons
