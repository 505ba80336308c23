"""Which entries of a long log are kept, and which of its parts need not be taken apart."""

import math
from collections.abc import Sequence
from itertools import pairwise

from results.logs.blocks import clean
from results.logs.entries import entry_of
from results.logs.entry import Entry
from results.logs.format import Format

# Entries are kept from each beginning of a run on: enough for the windows of so many ranks.
FEWEST_RANKS = 8
# So many steps apart can the lines of two ranks be, through the buffers of their output.
MOST_DRIFT = 500
# Where an entry must be found at either end of what is skipped.
END = 2048
# What a part must not have, so as to be passed over: the signs of a failure.
_SIGNS = (b"nan", b"inf", b"NaN", b"rror", b"emory", b"Kill", b"abort", b"Abort", b"nterrupt")


class Keeper:
    """Keeps the entries of each beginning of a run, and the last one.

    `unread` counts those since the last beginning that were passed over.
    """

    def __init__(self, keep: int) -> None:
        """`keep` is how many steps of each rank are wanted."""
        self.keep = keep
        self.entries: list[Entry] = []
        self.unread = 0
        self._since_beginning = 0
        self._first: tuple[int, int] | None = None
        self._last = (0, 0)
        self._starts = 0  # how often the first step was printed: once by each rank
        self._kept_last = True
        self._lines_per_step = 0.0

    @property
    def enough(self) -> bool:
        """Whether the window of every rank is kept already."""
        return self._since_beginning > self._most

    def add(self, entries: Sequence[Entry], lines: int) -> None:
        """Take the entries of a part of so many lines."""
        steps = [entry.step for entry in entries if entry.step is not None]
        if steps and max(steps) > min(steps) and entries[0].epoch == entries[-1].epoch:
            self._lines_per_step = lines / (max(steps) - min(steps) + 1)
        self._add_one_by_one(entries[self._add_at_once(entries, steps) :])

    def _add_at_once(self, entries: Sequence[Entry], steps: Sequence[int]) -> int:
        """Take all but the first, if all are wanted and none can begin a run; return how many."""
        epoch = entries[0].epoch if entries else 0
        rising = len(steps) == len(entries) > 1 and all(one < two for one, two in pairwise(steps))
        if not rising or any(entry.epoch != epoch for entry in entries):
            return 0
        self._add_one_by_one(entries[:1])
        if self._since_beginning + len(entries) - 1 > self._most or not self._kept_last:
            return 1
        self.entries += entries[1:]
        self._since_beginning += len(entries) - 1
        self._last = (epoch, steps[-1])
        return len(entries)

    @property
    def _most(self) -> int:
        """Return how many entries are kept from a beginning on."""
        return self.keep * max(FEWEST_RANKS, 2 * self._starts)

    def _add_one_by_one(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            key = (entry.epoch, entry.step or 0)
            fell = entry.step is not None or entry.epoch < self._last[0]
            if self._fell_far(key):  # a run that goes on from a checkpoint
                self._begin()
            if self._first is None or (fell and key <= self._first):
                self._begin()
                self._starts = self._starts + 1 if key == self._first else 1
                self._first = key
            self._last = key
            self._since_beginning += 1
            needed = not self.enough or not math.isfinite(entry.loss or 0)
            self._append(entry, needed=needed)

    def _begin(self) -> None:
        """Count from here on; the entry before, the last of its run, is kept."""
        self._since_beginning = self.unread = 0
        self._kept_last = True

    def _fell_far(self, key: tuple[int, int]) -> bool:
        """Tell whether a step is further behind the one before than ranks of one run can be."""
        epoch, step = self._last
        return key[0] < epoch or (key[0] == epoch and step - key[1] > MOST_DRIFT)

    def skip(self, part: bytes, form: Format) -> int:
        """Pass over a part, if its lines are all steps and none is missing: return their number.

        Its first and last entry must be as many steps apart as it has lines, so that nothing else
        can stand there. Where a step has several lines, those of other ranks or other words, that
        holds but for a few lines at either end; then nothing in it may look like a failure.
        """
        last = self.entries[-1] if self.entries else None
        if last is None or last.step is None:
            return 0
        one = entry_of(clean(part[:END].rpartition(b"\n")[0]), form)
        tail = part[-END:].partition(b"\n")[2]
        last_line = tail[tail.rfind(b"\n", 0, -1) + 1 :]
        other = entry_of(clean(last_line), form) or entry_of(clean(tail), form)
        if one is None or other is None or one.step is None or other.step is None:
            return 0
        steps = other.step - one.step
        if one.epoch != last.epoch or other.epoch != last.epoch or steps <= 0:
            return 0
        lines = part.count(b"\n")
        each = one.step - last.step
        if each <= 0 or (lines - 1) * each != steps:
            spare = 3 * max(self._lines_per_step * max(each, 1), 1)
            if abs(lines - self._lines_per_step * steps) > spare or any(s in part for s in _SIGNS):
                return 0
        if b"nan" in part:  # a loss; looked for last, since it takes longest
            return 0
        self._append(other._replace(line=last.line + lines), needed=False)
        self.unread += lines - 1
        return lines

    def _append(self, entry: Entry, *, needed: bool) -> None:
        """Keep an entry for good, or only until another comes after it."""
        if not self._kept_last:
            self.entries.pop()
            self.unread += 1
        self.entries.append(entry)
        self._kept_last = needed
