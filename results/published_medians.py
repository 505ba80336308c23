"""The repeats that DLPerf prints, their medians with intervals, and the figures it published."""

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from results.published_figures import (
    PublishedFigure,
    PublishedRepeat,
    load_resnet50,
    load_resnet50_repeats,
)
from results.statistics import Estimate, median_estimate

# Throughputs are printed to a hundredth.
DIGIT = 0.01


class MedianCheck(msgspec.Struct, frozen=True):
    """The repeats of a published case: `median` with its interval, in images/s.

    `published` are the figures that the same document prints for the case, and `agrees` tells
    whether one of them is the median.
    """

    first: PublishedRepeat
    values: tuple[float, ...]
    median: Estimate
    published: tuple[float, ...]
    agrees: bool

    @property
    def case(self) -> str:
        """The case in words, such as `ngc-mxnet fp32, batch 128, 4n8g`."""
        one = self.first
        options = [f"batch {one.batch_size}"]
        if one.xla:
            options.append("XLA")
        if one.dali:
            options.append("DALI")
        label = f"{one.nodes}n{one.devices_per_node}g"
        return f"{one.implementation} {one.precision}, {', '.join(options)}, {label}"


def check_medians(
    figures: Iterable[PublishedFigure] | None = None,
    repeats: Iterable[PublishedRepeat] | None = None,
) -> list[MedianCheck]:
    """Compute the median of every case that DLPerf prints the repeats of, in file order."""
    published: dict[object, list[float]] = defaultdict(list)
    for figure in load_resnet50() if figures is None else figures:
        if not figure.is_single_run:
            published[_key(figure)].append(figure.throughput)
    cases: dict[object, list[PublishedRepeat]] = defaultdict(list)
    for repeat in load_resnet50_repeats() if repeats is None else repeats:
        cases[_key(repeat)].append(repeat)
    checks = []
    for key, group in cases.items():
        values = tuple(one.throughput for one in group)
        median = median_estimate(values)
        printed = tuple(dict.fromkeys(published[key]))
        agrees = any(abs(value - median.value) <= DIGIT for value in printed)
        checks.append(MedianCheck(group[0], values, median, printed, agrees))
    return checks


def _key(one: PublishedFigure | PublishedRepeat) -> tuple[object, ...]:
    settings = (one.document, one.implementation, one.precision, one.xla, one.dali, one.batch_size)
    return (*settings, one.nodes, one.devices_per_node)
