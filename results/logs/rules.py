"""Both rules on one log, and why they differ."""

import statistics
from typing import Literal

from results.logs.dlperf_v1 import DlperfFigure, RuleError, dlperf_v1
from results.logs.verdict import LogResult

# What is shown as the throughput; with `both` it is that of `uniform`, and the other beside it.
Rule = Literal["uniform", "dlperf-v1", "both"]
# Closer than this the two figures are the same to all digits that matter.
SAME = 0.0005


def throughput_of(result: LogResult, rule: Rule) -> float | None:
    """Return a log's throughput by a rule, in images/s of the whole job."""
    return result.dlperf_v1 if rule == "dlperf-v1" else result.throughput


def by_dlperf_v1(result: LogResult) -> tuple[DlperfFigure | None, str]:
    """Return DLPerf's figure for a log, and why it differs from ours or why there is none."""
    reading = result.reading
    if reading is None or reading.format is None or not reading.beginning:
        return None, "it has no steps"
    try:
        figure = dlperf_v1(reading.format.name, reading.beginning, result.facts)
    except RuleError as error:
        return None, str(error)
    return figure, _why(result, figure)


def _why(result: LogResult, figure: DlperfFigure) -> str:
    ours, window = result.throughput, result.window
    if ours is None or window is None:
        return f"{figure.how}; by the uniform rule there is no figure"
    difference = figure.throughput / ours - 1
    if abs(difference) < SAME:
        return f"no difference (less than {SAME:.2%})"
    parts = [figure.how]
    if figure.rates:
        work_over_time = statistics.harmonic_mean(figure.rates)
        by_mean = statistics.fmean(figure.rates) / work_over_time - 1
        if by_mean >= SAME:
            parts.append(f"the mean of rates is {by_mean:.2%} above work over time there")
        by_window = work_over_time / ours - 1
        if abs(by_window) >= SAME:
            parts.append(f"its lines are not our window's: {by_window:+.2%}")
    elif figure.indices:
        least, most = figure.indices
        text = (
            f"these have the indices {least} to {most}, our window is steps {window.first + 1} to"
        )
        early = ", after these: it is about the warm-up" if most <= window.first else ""
        parts.append(f"{text} {window.last}{early}")
    else:
        parts.append(f"our window is steps {window.first + 1} to {window.last}")
    if result.status == "failed":
        parts.append("it does not look whether the run went well")
    return "; ".join(parts)
