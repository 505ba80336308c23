"""The entries of a block: one for each line that says that steps are done."""

import re
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from results.logs.columns import entries_of_lines
from results.logs.entry import Entry, seconds_of
from results.logs.format import GROUPS, Format
from results.logs.ranks import LONGEST, rank_of

LINE_FEED = 10
# How many lines a terminal may have made of one.
MOST_PARTS = 4


@dataclass(frozen=True)
class Parts:
    """A block taken apart: its entries, and the runs of lines between them.

    Each of these comes with the number of its first line. `key` is the last that was seen.
    """

    entries: list[Entry]
    others: list[tuple[int, bytes]]
    key: "Key | None" = None


class Key(NamedTuple):
    """The step, and its loss, that a line before the entry names."""

    epoch: int
    step: int
    loss: float | None


def take_apart(block: bytes, form: Format, first_line: int = 1, key: Key | None = None) -> Parts:
    """Return the entries of a cleaned block, whose first line has a number, and its other lines.

    `key` is what the block before ended with.
    """
    if whole := entries_of_lines(block, form, first_line):
        return Parts(whole, [], key)
    entries: list[Entry] = []
    others: list[tuple[int, bytes]] = []
    line, seen = first_line, 0
    paused = False
    for match in form.step.finditer(block):
        start = match.start()
        lines = block.count(b"\n", seen, start)
        if lines > 1 or (lines and not entries):
            begin = block.find(b"\n", seen) + 1 if entries else 0
            end = block.rfind(b"\n", seen, start) + 1
            others.append((line + bool(entries), block[begin:end]))
            paused = form.pause is not None and form.pause.search(block, begin, end) is not None
            key = _last_key(form, block[begin:end]) or key
        line += lines
        entry = _entry(match, block, form, line, paused)
        if key and entry.step is None:
            entry = entry._replace(epoch=key.epoch, step=key.step, loss=key.loss)
        entries.append(entry)
        seen, paused = match.end(), False
        line += block.count(b"\n", start, seen)
    rest = block.find(b"\n", seen) + 1 if entries else 0
    if rest < len(block) and (rest or not entries):
        others.append((line + bool(entries), block[rest:]))
        key = _last_key(form, block[rest:]) or key
    return Parts(entries, others, key)


def _last_key(form: Format, text: bytes) -> Key | None:
    found = list(form.key.finditer(text)) if form.key else []
    if not found:
        return None
    loss = found[-1]["loss"]
    return Key(int(found[-1]["epoch"]), int(found[-1]["index"]), _float(loss))


def entry_of(text: bytes, form: Format) -> Entry | None:
    """Return the first entry in a cleaned piece of a log, its line numbered from the piece's."""
    match = form.step.search(text)
    return None if match is None else _entry(match, text, form, 1, paused=False)


def _entry(match: re.Match[bytes], block: bytes, form: Format, line: int, paused: bool) -> Entry:
    at = _places(form)
    groups = (*match.groups(), None)  # the last stands for groups that the format has not
    start = match.start()
    rank = _int(groups[at.rank])
    if rank is None and start and block[start - 1] != LINE_FEED:
        nearest = max(0, start - LONGEST)
        begin = block.rfind(b"\n", nearest, start) + 1
        rank = rank_of(block[max(begin, nearest) : start])
    milliseconds = groups[at.ms]
    seconds = _float(groups[at.seconds]) if milliseconds is None else float(milliseconds) / 1000
    step, covered = _int(groups[at.number]), None
    until = groups[at.until]
    if until is not None:
        step = int(until)
        covered = step - (_int(groups[at.since]) or 0)
    per_step = _float(groups[at.step_ms])
    if per_step and seconds:
        covered = round(min(seconds * 1000 / per_step, 1e9))
    stamp, clock = _float(groups[at.stamp]), groups[at.clock]
    return Entry(
        line,
        _int(groups[at.epoch]) or 0,
        step,
        covered,
        seconds,
        _float(groups[at.mean]),
        _float(groups[at.rate]),
        seconds_of(clock) if stamp is None and clock else stamp,
        _float(groups[at.loss]),
        _float(groups[at.accuracy]),
        _float(groups[at.wait]),
        rank,
        paused,
    )


class _Places(NamedTuple):
    """Where a pattern's groups stand in `match.groups()`, -1 where it has none; as in `GROUPS`."""

    epoch: int
    number: int
    since: int
    until: int
    seconds: int
    ms: int
    step_ms: int
    mean: int
    rate: int
    stamp: int
    clock: int
    loss: int
    accuracy: int
    wait: int
    rank: int


@cache
def _places(form: Format) -> _Places:
    groups = form.step.groupindex
    return _Places(*(groups.get(name, 0) - 1 for name in GROUPS))


def _int(text: bytes | None) -> int | None:
    return None if text is None else int(text)


def _float(text: bytes | None) -> float | None:
    return None if text is None else float(text)


def join_wrapped(block: bytes, form: Format) -> bytes:
    """Return a block with those lines joined that a terminal had broken in the middle of an entry.

    Only lines are joined that have no entry themselves and have one together. The line feeds are
    kept, behind the joined line, so that numbers of lines remain.
    """
    lines = block.split(b"\n")
    at = 0
    while at < len(lines):
        if not _could_begin(lines[at], form):
            at += 1
            continue
        for parts in range(2, MOST_PARTS + 1):
            joined = b"".join(lines[at : at + parts])
            if at + parts > len(lines) or _could_begin(lines[at + parts - 1], form, whole=True):
                break
            if form.step.search(joined):
                lines[at : at + parts] = [joined, *[b""] * (parts - 1)]
                break
        at += 1
    return b"\n".join(lines)


def _could_begin(line: bytes, form: Format, *, whole: bool = False) -> bool:
    has = form.step.search(line) is not None
    return has if whole else bool(line) and not has
