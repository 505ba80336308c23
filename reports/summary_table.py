"""The table of a run, as text: the same rows on a terminal and in a report."""

from dataclasses import dataclass

from reports.numbers import NOTHING, interval, percent, rate, ratio
from results.record import section
from results.summary import CaseSummary, RunSummary

HEADINGS = (
    "case",
    "nodes",
    "devices",
    "images/s",
    "95 % interval",
    "min to max",
    "speedup",
    "efficiency",
    "waits for data",
    "repeats",
)

# Those that fit a terminal of 80 columns; the report has them all.
TERMINAL = ("case", "images/s", "95 % interval", "speedup", "efficiency", "repeats")


@dataclass(frozen=True)
class Failure:
    """A repeat that does not count: its name, its reason, and the end of its log."""

    name: str
    reason: str
    tail: tuple[str, ...]


def summary_rows(run: RunSummary) -> list[tuple[str, ...]]:
    """Return one row per case, a cell for each of `HEADINGS`."""
    return [_row(case) for case in run.cases]


def terminal_rows(run: RunSummary) -> list[tuple[str, ...]]:
    """Return one row per case, a cell for each of `TERMINAL`."""
    places = [HEADINGS.index(heading) for heading in TERMINAL]
    return [tuple(row[place] for place in places) for row in summary_rows(run)]


def failures(run: RunSummary) -> list[Failure]:
    """Return the repeats that do not count, in the order of the cases."""
    return [
        Failure(
            f"{case_name(case)} repeat {repeat.record.repeat}",
            repeat.reason
            if repeat.record.outcome in {"failed", "completed"}
            else f"{repeat.record.outcome}: {repeat.reason}",
            tuple(repeat.record.tail),
        )
        for case in run.cases
        for repeat in case.failed
    ]


def case_name(summary: CaseSummary) -> str:
    """Return a case's label, saying so where its nodes are emulated."""
    return summary.case.label + (" (emulated)" if summary.case.emulated else "")


def setting_line(run: RunSummary) -> str:
    """Return what all cases of a run have in common, in one line."""
    case = run.run.record.cases[0]
    title = section(run.run.record.environment, "framework").get("title", case.implementation)
    version = section(run.run.record.environment, "framework").get("version", "")
    amp = f" ({case.amp_dtype})" if case.amp_dtype else ""
    parts = [
        f"{title} {version}",
        f"{case.precision}{amp}",
        f"batch {case.batch_size} per device",
        f"{case.image_size} px",
        f"JPEGs by {case.loader}" if case.data == "jpeg" else "synthetic data",
        case.layout,
        f"{case.strategy}{', compiled' if case.compile else ''}",
        f"{case.warmup} + {case.steps} steps",
    ]
    return ", ".join(parts)


def _row(summary: CaseSummary) -> tuple[str, ...]:
    case = summary.case
    low_high = NOTHING
    if summary.minimum is not None:
        low_high = f"{rate(summary.minimum)} to {rate(summary.maximum)}"
    return (
        case_name(summary),
        str(case.nodes),
        str(case.world_size),
        rate(summary.throughput.value if summary.throughput else None),
        interval(summary.throughput),
        low_high,
        _speedup(summary),
        percent(summary.efficiency.value if summary.efficiency else None),
        percent(summary.data_share),
        f"{len(summary.counted)} of {summary.asked}",
    )


def _speedup(summary: CaseSummary) -> str:
    if summary.speedup is None:
        return summary.no_base or NOTHING
    if summary.base == summary.case:
        return "1 (base)"
    ends = interval(summary.speedup, ratio)
    return ratio(summary.speedup.value) + (f" ({ends})" if ends != NOTHING else "")
