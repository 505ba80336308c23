"""From the bytes of a log to its entries, facts and failures."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from results.logs.blocks import blocks, clean
from results.logs.entries import Key, join_wrapped, take_apart
from results.logs.entry import Entry
from results.logs.facts import find_facts
from results.logs.failures import ENDED, Failure, failures_of
from results.logs.format import Format
from results.logs.keeper import Keeper

# Where this much of a file has no line of a known format, it is no log.
MOST_UNKNOWN = 64 << 20
# What cannot be skipped is divided down to this, so that little around a gap is taken apart.
SMALLEST_PART = 4 << 10
# The beginning of a log, in lines as they were printed, which some published extractors count.
MOST_OF_BEGINNING = 20_000
MOST_OF_HEAD = 8 << 10


@dataclass
class LogReading:
    """What stands in one log.

    `entries`, in the order of their lines, are those of each beginning and the last one, while
    `unread` counts those that were passed over; `beginning` are the first of the log, whatever
    follows. `begins` are the lines with which a run says that it begins, `rank_begins` those with
    which a rank does, each with its number; `others` counts those that are no training, and `cut`
    is the last line where it is not whole. `key` as in `Parts`. `ends_as` names the format of the
    last steps, if it is another one. `ended` is the line with which dlscale ended what printed it:
    no failure behind it is kept.
    """

    format: Format | None = None
    entries: list[Entry] = field(default_factory=list)
    beginning: list[Entry] = field(default_factory=list)
    said: dict[str, Any] = field(default_factory=dict)
    head: bytes = b""
    failures: list[Failure] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    rank_begins: list[tuple[int, int]] = field(default_factory=list)
    lines: int = 0
    others: int = 0
    unread: int = 0
    cut: int = 0
    key: Key | None = None
    ends_as: str = ""
    ended: int = 0


def read(stream: IO[bytes], formats: Sequence[Format], *, keep: int) -> LogReading:
    """Read a log in whichever of the formats its content shows.

    `keep` is how many steps of a run are wanted. What lies further on is counted and not taken
    apart where its lines are steps without a gap: so memory does not grow with a log's length.
    """
    reading = LogReading()
    keeper = Keeper(keep)
    size, line, tail = 0, 1, b""
    for raw in blocks(stream):
        parts, tail = [raw], raw[-MOST_OF_HEAD:]
        while parts:
            part = parts.pop()
            if reading.format and keeper.enough:
                if passed := keeper.skip(part, reading.format):
                    line += passed
                    continue
                if middle := _middle(part):
                    parts += [part[middle:], part[:middle]]
                    continue
            block = clean(part)
            if reading.format is None:
                size += len(block)
                reading.format = recognise(block, formats)
            _read_block(reading, keeper, block, line)
            line += block.count(b"\n")
        if reading.format is None and size > MOST_UNKNOWN:
            break
    reading.lines = line - 1
    reading.entries, reading.unread = keeper.entries, keeper.unread
    if reading.ended:
        reading.failures = [one for one in reading.failures if one.line < reading.ended]
    reading.ends_as = _other_format(clean(tail), reading.format, formats)
    return reading


def _other_format(tail: bytes, form: Format | None, formats: Sequence[Format]) -> str:
    """Return the format of a log's last steps, if that is not the one it was read in."""
    if form is None or form.step.search(tail):
        return ""
    found = _trained(tail, _having(tail, formats))
    return found[0].name if found and form.name not in found[0].yields_to else ""


def _middle(part: bytes) -> int:
    """Return where to divide what cannot be skipped as a whole; 0 where it is small enough."""
    if len(part) <= SMALLEST_PART:
        return 0
    middle = part.find(b"\n", len(part) // 2) + 1
    return middle if middle < len(part) else 0


def recognise(block: bytes, formats: Sequence[Format]) -> Format | None:
    """Return the format of which a cleaned block has a line, or None."""
    head = block[:MOST_OF_HEAD].rpartition(b"\n")[0]
    if trained := _trained(head, _having(head, formats)):
        return trained[0]
    found = _having(block, formats)
    trained = _trained(block, found) or [form for form in formats if _has_wrapped(head, form)]
    return next(iter(trained or found), None)


def _trained(text: bytes, forms: Sequence[Format]) -> list[Format]:
    """Return those formats of which a text has a step."""
    return [form for form in forms if form.step.search(text)]


def _has_wrapped(head: bytes, form: Format) -> bool:
    """Tell whether a terminal broke the format's lines in two, all of them."""
    return form.hints[0] in head and form.step.search(join_wrapped(head, form)) is not None


def _having(block: bytes, formats: Sequence[Format]) -> list[Format]:
    found = {form.name: form for form in formats if form.recognises(block)}
    for name, form in list(found.items()):
        if any(other in found for other in form.yields_to):
            del found[name]
    return list(found.values())


def _read_block(reading: LogReading, keeper: Keeper, block: bytes, line: int) -> None:
    if len(reading.head) < MOST_OF_HEAD:
        reading.head += block[: MOST_OF_HEAD - len(reading.head)]
    form = reading.format
    if form is None:
        reading.failures += failures_of(block, line)
        return
    parts = take_apart(block, form, line, reading.key)
    if block.count(form.hints[0]) > len(parts.entries):
        joined = join_wrapped(block, form)
        if joined != block:
            parts = take_apart(joined, form, line, reading.key)
    reading.key = parts.key
    entries = parts.entries
    if entries and not block.endswith((b"\n", b"\v")) and _ends_with_entry(block, form):
        entries.pop()  # cut in the middle, perhaps of a number
        reading.cut = line + block.count(b"\n")
    if len(reading.beginning) < MOST_OF_BEGINNING:
        reading.beginning += entries[: MOST_OF_BEGINNING - len(reading.beginning)]
    for number, text in parts.others:
        _read_others(reading, form, text, number)
    keeper.add(entries, block.count(b"\n"))


def _read_others(reading: LogReading, form: Format, text: bytes, line: int) -> None:
    """Read the lines that are no entries."""
    if not reading.ended and (place := text.find(ENDED)) >= 0:
        reading.ended = line + text.count(b"\n", 0, place)
    reading.failures += failures_of(text, line)
    reading.said |= find_facts(text, form)
    if form.begin:
        reading.begins += [_line_of(found, line) for found in form.begin.finditer(text)]
    if form.rank_begin:
        begins = form.rank_begin.finditer(text)
        reading.rank_begins += [(_line_of(found, line), int(found[1])) for found in begins]
    if form.other:
        reading.others += len(form.other.findall(text))
    if form.void and (match := form.void.search(text)):
        said = match[0].decode("utf-8", "replace")
        said += " (is the warm-up as long as the run?)"
        reading.failures.append(Failure(_line_of(match, line), "nothing measured", said))


def _ends_with_entry(block: bytes, form: Format) -> bool:
    tail = block[block.rfind(b"\n") + 1 :]
    ends = [match.end() for match in form.step.finditer(tail)]
    return bool(ends) and ends[-1] == len(tail)


def _line_of(match: re.Match[bytes], first_line: int) -> int:
    return first_line + match.string.count(b"\n", 0, match.start())
