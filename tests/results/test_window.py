import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.window import measure, step_seconds, window_seconds


def ends_of(durations):
    return np.cumsum(np.array(durations, dtype=float))


def test_throughput_is_work_over_time_not_a_mean_of_rates():
    # Steps of .2 s and .6 s in turn, batch 128: a mean of rates would say 426.7 (measuring rule 2).
    ends = ends_of([5.0] * 20 + [0.2, 0.6] * 50)
    window = measure([ends], warmup=20, steps=100, global_batch=128)
    assert window.seconds == pytest.approx(40.0)
    assert window.throughput == pytest.approx(320.0)


def test_the_slowest_rank_counts_and_clocks_are_not_compared():
    fast = ends_of([0.1] * 13) + 1_000_000  # another host's clock
    slow = ends_of([0.1] * 3 + [0.2] * 10)
    window = measure([fast, slow], warmup=3, steps=10, global_batch=16)
    assert window.seconds == pytest.approx(2.0)
    assert window.throughput == pytest.approx(80.0)


def test_the_window_starts_after_the_warm_up_and_ends_after_its_steps():
    ends = ends_of([9.0] * 3 + [0.5] * 10 + [9.0] * 5)
    assert window_seconds(ends, 3, 10) == pytest.approx(5.0)


def test_without_a_warm_up_the_first_step_counts():
    assert window_seconds(ends_of([2.0, 1.0]), 0, 2) == pytest.approx(3.0)


@given(
    st.lists(st.floats(1e-4, 100), min_size=1, max_size=50), st.integers(0, 10), st.integers(1, 512)
)
def test_steps_add_up_to_the_window(durations, warmup, batch):
    ends = ends_of([1.0] * warmup + durations)
    steps = len(durations)
    window = measure([ends], warmup=warmup, steps=steps, global_batch=batch)
    assert step_seconds(ends, warmup, steps).sum() == pytest.approx(window.seconds)
    assert window.throughput == pytest.approx(batch * steps / sum(durations), rel=1e-6)
