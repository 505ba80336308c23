"""Entries of a block whose lines are all entries, taken apart by columns: most of most logs."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import repeat
from typing import TypeVar

from results.logs.entry import Entry, seconds_of
from results.logs.format import Format

# What is computed from several groups is left to the way that goes line by line.
_LINE_BY_LINE = {"since", "until", "step_ms"}
_FEWEST_GROUPS = 2
N = TypeVar("N", int, float)


def entries_of_lines(block: bytes, form: Format, first_line: int) -> list[Entry]:
    """Return the entries of a cleaned block, if each of its lines begins with one and has no other.

    Empty where that is not so, or cannot be told in this way.
    """
    pattern = _whole_line(form)
    if pattern is None or pattern.match(block) is None or not block.endswith(b"\n"):
        return []
    rows: list[tuple[bytes, ...]] = pattern.findall(block)
    number = len(rows)
    if block.count(b"\n") != number or block.count(form.hints[0]) != number:
        return []
    columns = dict(zip(form.step.groupindex, zip(*rows, strict=True), strict=True))
    clocks = columns.get("clock")
    stamps = _floats(columns.get("stamp"))
    if clocks and "stamp" not in columns:
        stamps = [seconds_of(clock) if clock else None for clock in clocks]
    seconds = _floats(columns.get("seconds"))
    if "ms" in columns:
        seconds = [None if ms is None else ms / 1000 for ms in _floats(columns["ms"])]
    return list(
        map(
            Entry,
            range(first_line, first_line + number),
            [epoch or 0 for epoch in _ints(columns["epoch"])] if "epoch" in columns else repeat(0),
            _ints(columns.get("index")),
            repeat(None),
            seconds,
            _floats(columns.get("mean")),
            _floats(columns.get("rate")),
            stamps,
            _floats(columns.get("loss")),
            _floats(columns.get("accuracy")),
            _floats(columns.get("wait")),
            _ints(columns.get("rank")),
            repeat(False),
        )
    )


@cache
def _whole_line(form: Format) -> re.Pattern[bytes] | None:
    """Return a pattern for a line that begins with an entry."""
    names = form.step.groupindex
    plain = len(names) == form.step.groups and len(names) >= _FEWEST_GROUPS
    both = {"ms", "seconds"} <= set(names) or {"stamp", "clock"} <= set(names)
    if not plain or both or form.key or _LINE_BY_LINE & set(names):
        return None
    flags = (form.step.flags & ~re.UNICODE) | re.MULTILINE
    return re.compile(rb"^(?:" + form.step.pattern + rb")[^\n]*\n", flags)


def _floats(column: Sequence[bytes] | None) -> Iterable[float | None]:
    return _numbers(column, float)


def _ints(column: Sequence[bytes] | None) -> Iterable[int | None]:
    return _numbers(column, int)


def _numbers(column: Sequence[bytes] | None, number: Callable[[bytes], N]) -> Iterable[N | None]:
    """Return a column as numbers; a group that did not take part is empty."""
    if column is None:
        return repeat(None)
    if b"" in column:
        return [number(text) if text else None for text in column]
    return map(number, column)
