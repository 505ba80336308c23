"""Medians of the repeats that DLPerf prints, and their intervals."""

import pytest

from results.published_figures import load_resnet50, load_resnet50_repeats
from results.published_medians import check_medians
from results.published_speedups import check_speedups, has_own_base


def test_every_published_median_is_that_of_its_repeats():
    checks = check_medians()
    assert len(checks) == 45
    assert all(check.agrees for check in checks)


def test_a_wrong_median_is_found():
    repeats = list(load_resnet50_repeats())[1:]
    wrong = [check.case for check in check_medians(load_resnet50(), repeats) if not check.agrees]
    assert wrong == ["mindspore fp32, batch 128, 1n1g"]


def test_repeats_give_intervals_from_six_on():
    checks = check_medians()
    assert {len(check.values) >= 6 for check in checks if check.median.low is not None} == {True}
    (mxnet,) = [c for c in checks if c.case == "ngc-mxnet fp32, batch 128, DALI, 4n8g"]
    assert mxnet.median.value == pytest.approx(11331.93)
    assert mxnet.median.low < mxnet.median.value < mxnet.median.high


def test_163_speedups_have_their_base_in_their_own_table():
    checks = check_speedups()
    assert (len(checks), sum(map(has_own_base, checks))) == (182, 163)
    assert sum(not check.agrees for check in checks) == 3
