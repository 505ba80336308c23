"""The entries of one rank as intervals: so many steps, in so much time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from results.logs.entry import SECONDS_PER_DAY, Entry
from results.logs.format import Format, Source

# Half of the last digit of a running mean, which is printed to a thousandth of a second.
MEAN_DIGIT = 0.0005
# So many steps have the mean of `mean of the last 20`.
LAST_STEPS = 20
# Two readings of one log that lie closer than this need no decision.
DOUBT = 0.005
# An epoch's first step is left out where it takes longer than this times a usual one.
SLOW_START = 1.5


class Interval(NamedTuple):
    """The steps up to an entry from the one before: `steps` of them in `cost`.

    `cost` is in seconds, or, where `Track.source` is a rate, in seconds per image of a step; None
    where nothing says it. `begins`: an epoch begins with it, or training was halted before it, so
    that its time may hold more than training. `sampled`: the time of one step stands for all, and
    `by_means` is what the running means give for them, good to `means_error`, both in seconds.
    """

    entry: Entry
    steps: int
    cost: float | None
    begins: bool = False
    sampled: bool = False
    by_means: float | None = None
    means_error: float = 0.0


@dataclass(frozen=True)
class Track:
    """One rank's intervals, in order. `anchored`: the log begins in the middle of the run.

    `only_training` as in `Format`; `unsure`: the times are means of which the log does not show
    over which steps, and it makes a difference.
    """

    source: Source
    intervals: tuple[Interval, ...]
    anchored: bool
    only_training: bool = False
    unsure: bool = False

    @cached_property
    def done(self) -> list[int]:
        """Steps since the log's first entry (the run's beginning, where it shows) at each entry."""
        total, done = 0, []
        for interval in self.intervals:
            total += interval.steps
            done.append(total)
        return done


def track_of(entries: Sequence[Entry], form: Format) -> Track | None:
    """Return the intervals of one rank's entries; None where they have no time at all."""
    if form.covers == "mean of the last 20":
        entries = _every_twentieth(entries)
    first = first_index(entries, form)
    unprinted = _unprinted(entries, form, first)
    counts, begins, anchored = _counts(entries, first, unprinted)
    for source in form.sources:
        costs, unsure = _costs(entries, counts, begins, form, source, first)
        known = sum(cost is not None for cost in costs)
        if known and known * 2 >= len(entries) - 1:
            one_step = form.covers == "one step"
            before = [Interval(entries[0], unprinted, None, begins=True)] if unprinted else []
            intervals = (
                _interval(entries, k, counts[k], costs[k], begins[k], one_step, first)
                for k in range(len(entries))
            )
            return Track(source, (*before, *intervals), anchored, form.only_training, unsure)
    return None


def _unprinted(entries: Sequence[Entry], form: Format, first: int) -> int:
    """Return how many steps lie before the first entry, where the script prints none of them.

    Which number the first that it prints has can depend on whether it counts itself yet.
    """
    before = (entries[0].step or 0) - first
    return form.unprinted if before in {form.unprinted, form.unprinted + 1} else 0


def _interval(
    entries: Sequence[Entry],
    k: int,
    count: int,
    cost: float | None,
    begins: bool,
    one_step: bool,
    first: int,
) -> Interval:
    entry = entries[k]
    if not one_step or count <= 1 or cost is None:
        return Interval(entry, count, cost, begins)
    before = entries[k - 1] if k and not begins else None
    place = (entry.step or 0) - first + 1
    return Interval(
        entry,
        count,
        count * cost,
        begins,
        sampled=True,
        by_means=_difference_of_means(before, entry, first),
        means_error=MEAN_DIGIT * place,
    )


def left_out(interval: Interval, usual: float) -> bool:
    """Tell whether an interval is no training: what an epoch's beginning or a pause added to it.

    `usual` is the median cost of a step. An interval of several steps cannot be told apart and is
    left out whenever something else falls into it.
    """
    if not interval.begins or interval.cost is None:
        return False
    return interval.steps > 1 or interval.cost > SLOW_START * usual


def _every_twentieth(entries: Sequence[Entry]) -> list[Entry]:
    """Return those entries whose means do not overlap, the first of each epoch with them."""
    kept: list[Entry] = []
    for entry in entries:
        last = kept[-1] if kept else None
        if (
            last is None
            or entry.epoch != last.epoch
            or (entry.step or 0) - (last.step or 0) >= LAST_STEPS
        ):
            kept.append(entry)
    return kept


def first_index(entries: Sequence[Entry], form: Format) -> int:
    """Return the index of an epoch's first step: releases of one script differ in that.

    It is 1 where the log begins with 1, or prints at multiples of its first index.
    """
    steps = [entry.step for entry in entries[:20] if entry.epoch == entries[0].epoch]
    first = steps[0] or 0
    multiples = first > 1 and len(steps) > 1 and all(s and s % first == 0 for s in steps)
    return 1 if first == 1 or multiples else form.first


def _counts(
    entries: Sequence[Entry], first: int, unprinted: int
) -> tuple[list[int], list[bool], bool]:
    """Return how many steps each entry covers, whether it begins anew, and whether 0 is unknown."""
    places = [None if e.step is None else e.step - first + 1 for e in entries]
    counts, begins, anchored = [], [], False
    for k, (entry, place) in enumerate(zip(entries, places, strict=True)):
        before = places[k - 1] if k else None
        new_epoch = k > 0 and entry.epoch != entries[k - 1].epoch
        if entry.covered is not None:
            count = entry.covered
            new_epoch = False  # such formats count their steps through
        elif place is None:
            count = 1
        elif k == 0:
            count, anchored = (1, False) if unprinted else _first_count(entries, places)
        elif new_epoch or before is None:
            count = place
        else:
            count = place - before
        counts.append(max(count, 0))
        begins.append(new_epoch or entry.paused)
    return counts, begins, anchored


def _first_count(entries: Sequence[Entry], places: Sequence[int | None]) -> tuple[int, bool]:
    """Return the steps of the first entry: those since the run began, or 0 if it began earlier."""
    first = places[0] or 0
    if first == 1:
        return 1, False
    alike = [place for place, e in zip(places, entries, strict=True) if e.epoch == entries[0].epoch]
    known = [place for place in alike[:20] if place]
    regular = first > 1 and len(known) > 1 and all(place % first == 0 for place in known)
    return (first, False) if regular else (0, True)


def _costs(
    entries: Sequence[Entry],
    counts: Sequence[int],
    begins: Sequence[bool],
    form: Format,
    source: Source,
    first: int,
) -> tuple[list[float | None], bool]:
    """Return the cost of each entry's steps, and whether it is unsure what the figures cover."""
    if source == "stamp":
        return _from_stamps(entries), False
    if source == "rate":
        rates = [_positive(entry.rate) for entry in entries]
        per_step = [1 / rate if rate else None for rate in rates]
    else:
        per_step = [_positive(entry.seconds) for entry in entries]
    if form.covers == "one step" or (form.covers == "since the last" and source == "seconds"):
        return per_step, False
    since = [count * one if one else None for count, one in zip(counts, per_step, strict=True)]
    if form.covers in {"since the last", "mean since the last", "mean of the last 20"}:
        return since, False
    so_far = _from_running_means(entries, counts, begins, per_step, first + form.mean_from)
    if form.covers == "all so far":
        return so_far, False
    return _by_stamps(entries, since, so_far)


def _from_running_means(
    entries: Sequence[Entry],
    counts: Sequence[int],
    begins: Sequence[bool],
    means: Sequence[float | None],
    reset: int,
) -> list[float | None]:
    """Undo a mean over all steps of an epoch from index `reset` on.

    Their number times their mean is the time up to each entry.
    """
    costs: list[float | None] = []
    before: tuple[int, float] | None = None
    for k, mean in enumerate(means):
        number = (entries[k].step or 0) - reset + 1
        if number < 1:
            costs.append(None)
            continue
        total = number * mean if mean else None
        steps = number - before[0] if before and not begins[k] else number
        spent = before[1] if before and not begins[k] else 0.0
        whole = total is not None and steps == counts[k]
        costs.append(_positive(total - spent) if total is not None and whole else None)
        before = (number, total) if total is not None else None
    return costs


def _by_stamps(
    entries: Sequence[Entry], since: list[float | None], so_far: list[float | None]
) -> tuple[list[float | None], bool]:
    """Return those of two readings whose sum the stamps confirm, and whether they leave a doubt."""
    both = [
        k for k, (one, other) in enumerate(zip(since, so_far, strict=True)) if k and one and other
    ]
    one = sum(since[k] or 0 for k in both)
    other = sum(so_far[k] or 0 for k in both)
    if not both or abs(one - other) <= DOUBT * one:
        return since, False
    seconds = sum(_stamped(entries[k - 1], entries[k]) for k in both)
    per_unit = _seconds_per_cost(entries, both)
    if not seconds or not per_unit:
        return since, True
    closer = min(
        (since, so_far), key=lambda c: abs(sum(c[k] or 0 for k in both) * per_unit - seconds)
    )
    return closer, False


def _stamped(before: Entry, entry: Entry) -> float:
    return (entry.stamp or 0.0) - (before.stamp or 0.0)


def _seconds_per_cost(entries: Sequence[Entry], places: Sequence[int]) -> float:
    """Return what a rank's cost is to be multiplied with for seconds: its images per step."""
    images = [
        entries[k].rate * entries[k].seconds  # type: ignore[operator]
        for k in places
        if entries[k].rate and entries[k].seconds
    ]
    return sum(images) / len(images) if images else 0.0


def _from_stamps(entries: Sequence[Entry]) -> list[float | None]:
    costs: list[float | None] = [None]
    for before, entry in pairwise(entries):
        if before.stamp is None or entry.stamp is None:
            costs.append(None)
            continue
        seconds = entry.stamp - before.stamp
        if -SECONDS_PER_DAY < seconds < 0 and entry.stamp < SECONDS_PER_DAY:
            seconds += SECONDS_PER_DAY  # a time of day alone: it was midnight
        costs.append(_positive(seconds))
    return costs


def _difference_of_means(before: Entry | None, entry: Entry, first: int) -> float | None:
    """Return the seconds of the steps between two entries, from their running means."""
    if entry.mean is None or entry.step is None:
        return None
    total = entry.mean * (entry.step - first + 1)
    if before is not None:
        if before.mean is None or before.step is None:
            return None
        total -= before.mean * (before.step - first + 1)
    return total if math.isfinite(total) and total > 0 else None


def _positive(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) and value > 0 else None
