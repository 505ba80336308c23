import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.statistics import Estimate, median_estimate, ratio_estimate


def test_seven_values_are_enclosed_by_the_smallest_and_the_largest():
    assert median_estimate([5, 1, 4, 2, 3, 7, 6]) == Estimate(4.0, 1, 7)


def test_twenty_values_leave_out_five_at_each_end():
    # Conover's table: for n = 20 the 6th and the 15th value enclose the median at 95.9 %.
    assert median_estimate(list(range(1, 21))) == Estimate(10.5, 6, 15)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_fewer_than_six_values_have_no_interval(count):
    estimate = median_estimate([3.0] * count)
    assert (estimate.value, estimate.low, estimate.high) == (3.0, None, None)


def test_a_ratio_has_no_interval_where_one_side_has_none():
    assert ratio_estimate(Estimate(4, 3, 5), Estimate(2, None, None)) == Estimate(2, None, None)


def test_a_ratio_of_exact_values_is_exact():
    ratio = ratio_estimate(Estimate(8, 8, 8), Estimate(2, 2, 2))
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((4, 4, 4))


@given(st.lists(st.floats(1e-3, 1e6), min_size=6, max_size=40))
def test_an_interval_encloses_its_median(values):
    estimate = median_estimate(values)
    assert estimate.low <= estimate.value <= estimate.high


@pytest.mark.parametrize(("count", "skewed"), [(7, False), (7, True), (15, True)])
def test_intervals_cover_the_truth_as_often_as_they_say(count, skewed):
    rng = np.random.default_rng(1)
    trials, inside, ratio_inside = 2000, 0, 0
    for _ in range(trials):
        noise = rng.lognormal(0, 0.05, (2, count)) if skewed else rng.normal(1, 0.01, (2, count))
        base, more = median_estimate(100 * noise[0]), median_estimate(190 * noise[1])
        inside += base.low <= 100 <= base.high
        ratio = ratio_estimate(more, base)
        ratio_inside += ratio.low <= 1.9 <= ratio.high
    assert inside / trials >= 0.94
    assert ratio_inside / trials >= 0.94


def test_each_end_of_a_ratio_comes_from_the_ends_that_make_it():
    # Only the numerator's low end and the denominator's high end can make the ratio smaller.
    ratio = ratio_estimate(Estimate(8, 4, 8), Estimate(2, 2, 2))
    assert (ratio.low, ratio.high) == pytest.approx((2, 4))
    ratio = ratio_estimate(Estimate(8, 8, 8), Estimate(2, 2, 4))
    assert (ratio.low, ratio.high) == pytest.approx((2, 4))
    ratio = ratio_estimate(Estimate(8, 8, 8), Estimate(2, 1, 2))
    assert (ratio.low, ratio.high) == pytest.approx((4, 8))
