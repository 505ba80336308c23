"""Which entries belong to which rank, and to which of several runs in one log."""

from bisect import bisect_left, insort
from collections import defaultdict, deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from results.logs.entry import Entry

Key = tuple[int, int]
# A run was hardly resumed more often than this; blocks that are more are ranks' lines, mixed.
MOST_RESUMED = 20


@dataclass
class Streams:
    """The entries of the last run in a log, one list for each rank that printed any.

    `runs` is how many runs the log holds; `doubles` how many lines repeat the one before. `stuck`:
    all lines name one step and have other figures, so that they cannot be put in order.
    """

    ranks: list[list[Entry]] = field(default_factory=list)
    runs: int = 1
    doubles: int = 0
    stuck: bool = False


def split(
    entries: Sequence[Entry],
    *,
    job_rate: bool,
    ranks: Collection[int],
    begins: Sequence[tuple[int, int]] = (),
) -> Streams:
    """Split the entries of a log, in the order of its lines, into ranks and runs.

    `ranks` are how many ranks may print into this log: all of the job's, or those of a node.
    `job_rate`: the figures are of the whole job, so that equal lines are one entry printed twice.
    `begins` are the lines on which a rank says that it begins, with the rank's number.
    """
    twice = job_rate or _all_twice(entries)
    kept, doubles = _without_doubles(entries) if twice else (list(entries), 0)
    if not kept:
        return Streams(doubles=doubles)
    if all(entry.rank is not None for entry in kept):
        found = _by_prefix(kept)
    else:
        found = _by_order(kept, ranks, begins)
    found.doubles = doubles
    return found


def keys_of(entries: Sequence[Entry]) -> list[Key]:
    """Return (epoch, index) of each entry; one without an index follows the one before."""
    keys: list[Key] = []
    for entry in entries:
        before = keys[-1] if keys else (entry.epoch, -1)
        if entry.step is not None:
            keys.append((entry.epoch, entry.step))
        elif entry.epoch != before[0]:
            keys.append((entry.epoch, 0))
        else:
            keys.append((before[0], before[1] + 1))
    return keys


def _all_twice(entries: Sequence[Entry]) -> bool:
    """Tell whether every line stands twice, as where one file took the same output two times."""
    if len(entries) < 2 or len(entries) % 2:
        return False
    pairs = zip(entries[:400:2], entries[1:400:2], strict=True)
    return all(one._replace(line=0) == two._replace(line=0) for one, two in pairs)


def _without_doubles(entries: Sequence[Entry]) -> tuple[list[Entry], int]:
    kept: list[Entry] = []
    for entry in entries:
        same = kept and kept[-1].rank == entry.rank and kept[-1].figures == entry.figures
        if not same or (entry.step is None and not entry.epoch):
            kept.append(entry)
    return kept, len(entries) - len(kept)


def _by_prefix(entries: Sequence[Entry]) -> Streams:
    """Split by the rank that each line names: what one rank prints is in order."""
    ranks: dict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        ranks[entry.rank or 0].append(entry)
    runs = {rank: _blocks(mine) for rank, mine in ranks.items()}
    most = max(len(mine) for mine in runs.values())
    # A rank with fewer runs than the others died, or its output did, before the last one.
    return Streams([mine[-1] for mine in runs.values() if len(mine) == most], runs=most)


def _blocks(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Cut where the step does not rise."""
    blocks: list[list[Entry]] = []
    last: Key | None = None
    for entry, key in zip(entries, keys_of(entries), strict=True):
        if last is None or key <= last:
            blocks.append([])
        blocks[-1].append(entry)
        last = key
    return blocks


def _by_order(
    entries: Sequence[Entry], ranks: Collection[int], begins: Sequence[tuple[int, int]]
) -> Streams:
    """Split lines that do not say which rank printed them."""
    keys = keys_of(entries)
    if len(entries) > 1 and len(set(keys)) == 1 and len(entries) not in ranks:
        return Streams([list(entries)], stuck=True)
    blocks = _blocks(entries)
    first_keys = [keys_of(block[:1])[0] for block in blocks]
    alone = sum(len(block) == 1 for block in blocks)
    # Runs start at the first step again, or go on from a checkpoint behind the last one; lines of
    # ranks that are mixed begin a block at nearly every step.
    again = all(key <= first for first, key in pairwise(first_keys))
    resumed = keys.count(keys[0]) == 1 and len(blocks) <= MOST_RESUMED
    if (again or resumed) and (len(blocks) == 1 or alone < len(blocks) / 2):
        if len(blocks) > 1 and again and (len(blocks) in ranks or _of_ranks(blocks, ranks, begins)):
            return Streams(blocks)
        return Streams([blocks[-1]], runs=len(blocks))
    return _interleaved(entries, keys, ranks)


def _of_ranks(
    blocks: Sequence[Sequence[Entry]], ranks: Collection[int], begins: Sequence[tuple[int, int]]
) -> bool:
    """Tell whether each block is a rank's own: one begins before it that began before no other.

    What the first one begins with may be cut.
    """
    if not ranks or len(blocks) > max(ranks):
        return False
    last = 0
    names: list[int] = []
    for place, block in enumerate(blocks):
        here = {rank for line, rank in begins if last < line < block[0].line}
        last = block[-1].line
        if len(here) == 1:
            names += here
        elif here or place:
            return False
    return len(set(names)) == len(names) and (len(names) == len(blocks) or 0 not in names)


def _interleaved(entries: Sequence[Entry], keys: Sequence[Key], ranks: Collection[int]) -> Streams:
    """Split lines of several ranks that are mixed: each goes to the rank that is nearest behind."""
    first = keys[0]
    starts = [place for place, key in enumerate(keys) if key == first]
    whole = [count for count in sorted(ranks, reverse=True) if count and len(starts) % count == 0]
    per_run = len(starts) if len(starts) in ranks or not whole else whole[0]
    runs = len(starts) // per_run
    begin = starts[(runs - 1) * per_run]
    lists: list[list[Entry]] = []
    waiting: dict[Key, deque[list[Entry]]] = {}  # the ranks by their last step
    steps: list[Key] = []  # the keys of `waiting`, rising
    for entry, key in zip(entries[begin:], keys[begin:], strict=True):
        behind = bisect_left(steps, key) - 1
        if behind < 0 or (key == first and len(lists) < per_run):
            rank: list[Entry] = []
            lists.append(rank)
        else:
            # The nearest in steps; of equal ones the one that has waited longest.
            nearest = steps[behind]
            rank = waiting[nearest].popleft()
            if not waiting[nearest]:
                del waiting[nearest], steps[behind]
        rank.append(entry)
        if key not in waiting:
            waiting[key] = deque()
            insort(steps, key)
        waiting[key].append(rank)
    longest = max(len(mine) for mine in lists)
    # A list of a line or two is what shuffled lines leave behind, and no rank.
    return Streams([mine for mine in lists if len(mine) * 4 >= longest], runs=runs)
