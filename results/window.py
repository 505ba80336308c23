"""The `uniform` rule: one window, one formula, for every implementation."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from results.rank_log import Floats


@dataclass(frozen=True)
class Window:
    """The measured window of a job.

    `seconds`: the largest of the ranks' times from the end of step W to the end of step W+M;
    `throughput`: images per second of the whole job.
    """

    seconds: float
    throughput: float


def window_seconds(ends: Floats, warmup: int, steps: int) -> float:
    """Return one rank's seconds from the end of step `warmup` to that of `warmup + steps`.

    `ends` has shape (at least warmup + steps,) and is in seconds on the rank's own clock. With no
    warm-up the time from the clock's zero counts, which is when the first step began.
    """
    begin = float(ends[warmup - 1]) if warmup else 0.0
    return float(ends[warmup + steps - 1]) - begin


def measure(ranks: Sequence[Floats], *, warmup: int, steps: int, global_batch: int) -> Window:
    """Return the job's window: global batch x steps over the slowest rank's time.

    Total work over total time, never a mean of rates. Clocks of different ranks are never
    compared: each rank's time is a difference of its own stamps.
    """
    seconds = max(window_seconds(ends, warmup, steps) for ends in ranks)
    return Window(seconds, global_batch * steps / seconds)


def step_seconds(ends: Floats, warmup: int, steps: int) -> Floats:
    """Return the duration of each step of the window in seconds, shape (steps,)."""
    before = np.concatenate(([0.0], ends))
    return np.diff(before[warmup : warmup + steps + 1])
