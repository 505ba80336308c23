"""The `uniform` rule on the log of any implementation (docs/measuring.md)."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from results.logs.track import Interval, Track, left_out

# Where the running means are off by more than this share of the time, a sample is better.
MOST_ERROR = 0.01


@dataclass(frozen=True)
class LogWindow:
    """What was measured on one rank: the steps after `first` up to `last`, in `cost`.

    `steps` is how many of them count, without those `without` at the beginning of an epoch or
    after a pause. `whole` tells whether they are as many as the rule wants. `cost` as in
    `Interval`; `samples`: part of it is one step's time standing for several.
    """

    first: int
    last: int
    steps: int
    cost: float
    whole: bool
    without: int = 0
    sampled: bool = False
    intervals: tuple[Interval, ...] = ()


def window_of(track: Track, warmup: int, steps: int) -> LogWindow | None:
    """Return the window of a rank: the first `warmup` steps dropped, the next `steps` timed.

    Where a log does not print each step, the window begins with the first entry at or after the
    end of the warm-up and ends with the first at or after its end. A log that is too short gives
    the window that it has; one of fewer than twice the warm-up drops its first half. None where
    that leaves no step with a time.
    """
    done = track.done
    if not done:
        return None
    if done[-1] < warmup + steps:
        warmup = min(warmup, max(1, done[-1] // 2))
    if warmup == 0 and not track.anchored:
        begin = 0
    else:
        begin = next((k + 1 for k, count in enumerate(done) if count >= warmup), len(done))
    for first in dict.fromkeys((begin, min(begin, 1))):  # the first entry holds the start
        for all_of_it in (False, True):
            found = _window_from(track, first, steps, all_of_it=all_of_it)
            if found:
                return found
    return None


def _window_from(track: Track, begin: int, steps: int, *, all_of_it: bool) -> LogWindow | None:
    """Return the window whose first interval has a number; None where none of it has a time.

    With `all_of_it` nothing is left out, for logs that print once in an epoch.
    """
    done = track.done
    usual = _usual(track.intervals[begin:])
    chosen: list[Interval] = []
    counted = without = 0
    first = last = done[begin - 1] if begin else 0
    for interval, count in zip(track.intervals[begin:], done[begin:], strict=True):
        if interval.cost is None or interval.steps == 0:
            if chosen:
                break  # a hole in the window
            first = count
            continue
        last = count
        if not (all_of_it or track.only_training) and left_out(interval, usual):
            without += interval.steps
            continue
        chosen.append(interval)
        counted += interval.steps
        if counted >= steps:
            break
    if not chosen:
        return None
    cost, sampled = _time_of(chosen)
    return LogWindow(
        first=first,
        last=last,
        steps=counted,
        cost=cost,
        whole=counted >= steps,
        without=without,
        sampled=sampled,
        intervals=tuple(chosen),
    )


def _time_of(intervals: Sequence[Interval]) -> tuple[float, bool]:
    """Return the time of intervals, and whether part of it is one step's standing for several.

    Where steps are not printed, running means tell the time between those that are: what they are
    off by cancels but for both ends.
    """
    by_means = [i.by_means if i.sampled else i.cost for i in intervals]
    if any(i.sampled for i in intervals):
        known = [seconds for seconds in by_means if seconds is not None]
        error = intervals[0].means_error + intervals[-1].means_error
        if len(known) == len(intervals) and error <= MOST_ERROR * sum(known):
            return sum(known), False
    return sum(i.cost for i in intervals if i.cost), any(i.sampled for i in intervals)


def _usual(intervals: Sequence[Interval]) -> float:
    """Return the median cost of a step."""
    costs = [i.cost / i.steps for i in intervals if i.cost and i.steps and not i.begins]
    return statistics.median(costs) if costs else float("inf")
