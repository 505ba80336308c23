"""Medians and ratios of medians, with their intervals. Pure functions of numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, hypot, log

import numpy as np
from scipy import stats

CONFIDENCE = 0.95
# With fewer values even the whole range covers the median less often than 95 % of the time.
FEWEST_FOR_INTERVAL = 6


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % confidence interval; `low` and `high` are None where there is none."""

    value: float
    low: float | None
    high: float | None


def median_estimate(values: Sequence[float]) -> Estimate:
    """Return the median of at least one value, and an interval from order statistics.

    The interval assumes nothing about the distribution (Conover, Practical Nonparametric
    Statistics, 3rd ed., section 3.2): its ends are two of the values, such that they enclose the
    true median at least 95 % of the time. For 6 to 8 values they are the smallest and the largest.
    """
    middle = float(np.median(values))
    if len(values) < FEWEST_FOR_INTERVAL:
        return Estimate(middle, None, None)
    ordered = sorted(values)
    # The median lies below the k-th smallest with P(Binomial(n, 1/2) < k): the largest k for
    # which that stays under 2.5 %, and the same from above.
    k = int(stats.binom.ppf((1 - CONFIDENCE) / 2, len(values), 0.5))
    return Estimate(middle, ordered[k - 1], ordered[-k])


def ratio_estimate(numerator: Estimate, denominator: Estimate) -> Estimate:
    """Return the ratio of two positive estimates, with an interval where both have one.

    The method of variance estimates recovery on the logarithms (Zou and Donner, Statistics in
    Medicine 27, 2008, p. 1693): each side's own interval gives its share of the ratio's.
    """
    value = numerator.value / denominator.value
    ends = (numerator.low, numerator.high, denominator.low, denominator.high)
    if any(end is None or end <= 0 for end in ends):
        return Estimate(value, None, None)
    a_low, a_high, b_low, b_high = (log(end) for end in ends if end is not None)
    a, b = log(numerator.value), log(denominator.value)
    return Estimate(
        value,
        exp(a - b - hypot(a - a_low, b_high - b)),
        exp(a - b + hypot(a_high - a, b - b_low)),
    )
