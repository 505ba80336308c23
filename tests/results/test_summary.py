import pytest
from conftest import CASE, case_like

from results.store import read_stored_run
from results.summary import find_base, summarise

TWO = case_like(devices=2)
FOUR = case_like(nodes=2, devices=2, emulated=True)


def test_medians_speedups_and_efficiency(make_run):
    run = make_run([CASE, TWO], repeats=7)
    for repeat in range(1, 8):
        run.add(CASE, repeat, 0.5 + repeat / 100)
        run.add(TWO, repeat, 0.6 + repeat / 100)
    one, two = summarise(read_stored_run(run.folder)).cases
    assert one.throughput.value == pytest.approx(8 / 0.54)
    assert (one.throughput.low, one.throughput.high) == pytest.approx((8 / 0.57, 8 / 0.51))
    assert (one.speedup.value, one.base) == (1.0, CASE)
    assert two.speedup.value == pytest.approx((16 / 0.64) / (8 / 0.54))
    assert two.efficiency.value == pytest.approx(two.speedup.value / 2)
    assert two.speedup.low < two.speedup.value < two.speedup.high
    assert two.data_share == pytest.approx(0.1)


def test_a_failed_repeat_is_shown_and_not_counted(make_run):
    run = make_run([CASE], repeats=2)
    run.add(CASE, 1, 0.5)
    run.add(CASE, 2, 0.1, outcome="out of memory", reason="DefaultCPUAllocator")
    (one,) = summarise(read_stored_run(run.folder)).cases
    assert one.throughput.value == pytest.approx(16.0)
    assert [repeat.reason for repeat in one.failed] == ["DefaultCPUAllocator"]


def test_a_case_alone_on_several_devices_has_no_base():
    assert find_base(TWO, [TWO]) == (None, "no base case")


def test_the_base_has_the_fewest_devices_and_the_same_settings():
    other_batch = case_like(batch_size=4)
    assert find_base(FOUR, [other_batch, FOUR, TWO]) == (TWO, "")
    assert find_base(FOUR, [other_batch, FOUR, TWO, CASE]) == (CASE, "")
    assert find_base(TWO, [other_batch, TWO]) == (None, "no base case")


def test_a_base_that_failed_leaves_no_speedup(make_run):
    run = make_run([CASE, TWO], repeats=1)
    run.add(CASE, 1, 0.5, outcome="failed", reason="crash")
    run.add(TWO, 1, 0.5)
    _, two = summarise(read_stored_run(run.folder)).cases
    assert two.speedup is None
    assert two.no_base == "base 1n1g has no valid repeat"


def test_of_two_cases_of_one_size_neither_is_the_others_base():
    emulated = case_like(nodes=2, emulated=True)
    for order in ([TWO, emulated], [emulated, TWO]):
        assert find_base(TWO, order)[0] is None
        assert find_base(emulated, order)[0] is None


def test_a_run_is_complete_only_with_every_repeat(make_run):
    run = make_run([CASE], repeats=2)
    run.add(CASE, 1, 0.5)
    assert not summarise(read_stored_run(run.folder)).complete
    run.add(CASE, 2, 0.5)
    assert summarise(read_stored_run(run.folder)).complete
