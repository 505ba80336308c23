"""From judged repeats to one line per case: median, interval, speedup, efficiency."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from results.case import Case
from results.case_names import case_names, variant_names
from results.rank_log import Floats
from results.statistics import Estimate, median_estimate, ratio_estimate
from results.store import StoredRun
from results.verdict import RepeatResult


@dataclass(frozen=True)
class CaseSummary:
    """What the repeats of one case came to.

    `throughput` is the median in images per second of the whole job, None where no repeat
    counts; `minimum` and `maximum` are of the repeats that count. `speedup` is over `base`;
    where there is none, `no_base` says why. `efficiency` is speedup over the ratio of devices.
    """

    case: Case
    counted: tuple[RepeatResult, ...]
    failed: tuple[RepeatResult, ...]
    asked: int
    throughput: Estimate | None = None
    minimum: float | None = None
    maximum: float | None = None
    base: Case | None = None
    no_base: str = ""
    speedup: Estimate | None = None
    efficiency: Estimate | None = None

    @property
    def step_seconds(self) -> Floats:
        """Durations of all steps of all counted repeats, in seconds."""
        return _joined(repeat.step_seconds for repeat in self.counted)

    @property
    def data_share(self) -> float | None:
        """Share of the windows' time that steps waited for their data; None where not logged."""
        waits = _joined(repeat.data_seconds for repeat in self.counted)
        total = float(self.step_seconds.sum())
        if not len(waits) or not np.isfinite(waits).all() or total <= 0:
            return None
        return float(waits.sum()) / total


@dataclass(frozen=True)
class RunSummary:
    """A run, one line per case in the order of the request."""

    run: StoredRun
    cases: tuple[CaseSummary, ...] = field(default=())

    @cached_property
    def names(self) -> dict[Case, str]:
        """What each case is called."""
        return case_names(self.run.record.cases)

    @cached_property
    def variants(self) -> dict[str, tuple[CaseSummary, ...]]:
        """The cases of each variant, by its name: all that one line of a plot shows."""
        names = variant_names(self.run.record.cases)
        grouped: dict[str, list[CaseSummary]] = {}
        for case in self.cases:
            grouped.setdefault(names[case.case], []).append(case)
        return {name: tuple(cases) for name, cases in grouped.items()}

    def of_fastest(self, case: CaseSummary) -> float | None:
        """Return a case's throughput over the greatest of the same nodes and devices."""
        rates = [
            other.throughput.value
            for other in self.cases
            if other.case.label == case.case.label and other.throughput
        ]
        return case.throughput.value / max(rates) if case.throughput else None

    @property
    def complete(self) -> bool:
        """Whether every repeat that was asked for is there and counts."""
        return all(len(case.counted) == case.asked for case in self.cases)

    @property
    def failed(self) -> tuple[RepeatResult, ...]:
        """Every repeat that does not count."""
        return tuple(repeat for case in self.cases for repeat in case.failed)


def summarise(run: StoredRun) -> RunSummary:
    """Summarise a run from its judged repeats."""
    medians = {}
    for case in run.record.cases:
        counted = tuple(one for one in run.repeats if one.record.case == case and one.window)
        rates = [one.window.throughput for one in counted if one.window]
        medians[case] = (counted, rates, median_estimate(rates) if rates else None)
    lines = []
    for case, (counted, rates, throughput) in medians.items():
        base, no_base = find_base(case, run.record.cases)
        base_throughput = medians[base][2] if base else None
        if base and base_throughput is None:
            no_base = f"base {base.label} has no valid repeat"
        speedup = efficiency = None
        if throughput and base and base_throughput:
            exactly_one = Estimate(1.0, 1.0, 1.0)
            same = base == case
            speedup = exactly_one if same else ratio_estimate(throughput, base_throughput)
            efficiency = _scaled(speedup, base.world_size / case.world_size)
        lines.append(
            CaseSummary(
                case=case,
                counted=counted,
                failed=tuple(r for r in run.repeats if r.record.case == case and not r.window),
                asked=run.record.repeats,
                throughput=throughput,
                minimum=min(rates, default=None),
                maximum=max(rates, default=None),
                base=base,
                no_base=no_base,
                speedup=speedup,
                efficiency=efficiency,
            )
        )
    return RunSummary(run, tuple(lines))


def find_base(case: Case, cases: Sequence[Case]) -> tuple[Case | None, str]:
    """Return the case that a speedup is taken over, or None and the reason.

    It is the one with the fewest devices among those with the same batch, precision and options.
    A case on several devices with nothing smaller beside it has no base: a 1.0 would mean nothing.
    """
    base = min(
        (other for other in cases if other.settings == case.settings),
        key=lambda other: (other.world_size, other.nodes),
    )
    if base.world_size == case.world_size > 1 and (base != case or not _has_larger(case, cases)):
        return None, "no base case"
    return base, ""


def _has_larger(case: Case, cases: Sequence[Case]) -> bool:
    return any(
        other.settings == case.settings and other.world_size > case.world_size for other in cases
    )


def _scaled(estimate: Estimate, factor: float) -> Estimate:
    low, high = estimate.low, estimate.high
    return Estimate(
        estimate.value * factor,
        None if low is None else low * factor,
        None if high is None else high * factor,
    )


def _joined(parts: Iterable[Floats]) -> Floats:
    return np.concatenate([np.empty(0), *parts])
