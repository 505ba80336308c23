"""The table of a run, as text: the same rows on a terminal and in a report."""

from collections.abc import Callable
from dataclasses import dataclass

from reports.numbers import NOTHING, interval, percent, rate, ratio
from results.summary import CaseSummary, RunSummary

# Those that fit a terminal of 80 columns; the report has them all.
_TERMINAL = {"images/s", "95 % interval", "speedup", "efficiency", "repeats"}


@dataclass(frozen=True)
class Failure:
    """A repeat that does not count: its name, its reason, and the end of its log."""

    name: str
    reason: str
    tail: tuple[str, ...]


def summary_table(run: RunSummary) -> tuple[list[str], list[list[str]]]:
    """Return headings, and a row for each case; `of fastest` compares several variants."""
    columns = _columns(run)
    return list(columns), [[write(case) for write in columns.values()] for case in run.cases]


def terminal_table(run: RunSummary) -> tuple[list[str], list[list[str]]]:
    """Return what fits a terminal of `summary_table`."""
    headings, rows = summary_table(run)
    places = [at for at, heading in enumerate(headings) if at == 0 or heading in _TERMINAL]
    return [headings[at] for at in places], [[row[at] for at in places] for row in rows]


def failures(run: RunSummary) -> list[Failure]:
    """Return the repeats that do not count, in the order of the cases."""
    return [
        Failure(
            f"{run.names[case.case]} repeat {repeat.record.repeat}",
            repeat.reason
            if repeat.record.outcome in {"failed", "completed"}
            else f"{repeat.record.outcome}: {repeat.reason}",
            tuple(repeat.record.tail),
        )
        for case in run.cases
        for repeat in case.failed
    ]


def _columns(run: RunSummary) -> dict[str, Callable[[CaseSummary], str]]:
    several = len(run.variants) > 1
    return {
        "case": lambda one: run.names[one.case],
        "nodes": lambda one: str(one.case.nodes),
        "devices": lambda one: str(one.case.world_size),
        "images/s": lambda one: rate(one.throughput.value if one.throughput else None),
        **({"of fastest": lambda one: percent(run.of_fastest(one))} if several else {}),
        "95 % interval": lambda one: interval(one.throughput),
        "min to max": _extremes,
        "speedup": _speedup,
        "efficiency": lambda one: percent(one.efficiency.value if one.efficiency else None),
        "waits for data": lambda one: percent(one.data_share),
        "repeats": lambda one: f"{len(one.counted)} of {one.asked}",
    }


def _extremes(summary: CaseSummary) -> str:
    if summary.minimum is None:
        return NOTHING
    return f"{rate(summary.minimum)} to {rate(summary.maximum)}"


def _speedup(summary: CaseSummary) -> str:
    if summary.speedup is None:
        return summary.no_base or NOTHING
    if summary.base == summary.case:
        return "1 (base)"
    ends = interval(summary.speedup, ratio)
    return ratio(summary.speedup.value) + (f" ({ends})" if ends != NOTHING else "")
