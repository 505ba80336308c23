"""The bytes of a log, block by block: whole lines, without colours and control characters."""

import codecs
import re
from collections.abc import Iterator
from itertools import chain
from typing import IO

import msgspec

BLOCK = 1 << 18
# A longer line is cut here: no step line is, and a pattern must not be given more to look through.
LONGEST_LINE = 1 << 20

# Escape sequences of terminals (ECMA-48): CSI, OSC, and two-byte ones.
_ESCAPES = re.compile(
    rb"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)|[@-Z\\^_])"
)
_DOCKER = b'{"log":"'
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class _DockerRecord(msgspec.Struct):
    """A line of docs.docker.com/engine/logging/drivers/json-file: `log` is what was printed."""

    log: str


def blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield a log in blocks that end at the end of a line, as they are.

    A line that is longer than `LONGEST_LINE` is cut. UTF-16, which shows by its mark and by many
    zeros, is turned into UTF-8, and what Docker keeps of a container into what it printed. Memory
    stays within a few blocks.
    """
    first = stream.read(BLOCK)
    pieces: Iterator[bytes] = chain([first], iter(lambda: stream.read(BLOCK), b""))
    if first[:2] in _UTF16 and first[2:66].count(0) * 4 >= len(first[2:66]):
        pieces = _from_utf16(pieces, first[:2])
    lines = _whole_lines(pieces)
    yield from map(_printed, lines) if first.startswith(_DOCKER) else lines


def _printed(block: bytes) -> bytes:
    """Return what a container printed, a line for each of Docker's `json-file` records."""
    return b"".join(map(_record, block.splitlines(keepends=True)))


def _record(line: bytes) -> bytes:
    try:
        return msgspec.json.decode(line, type=_DockerRecord).log.encode("utf-8", "replace")
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return line  # cut, or no record


def _whole_lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        end = piece.rfind(b"\n") + 1
        if not end and len(rest) + len(piece) < LONGEST_LINE:
            rest += piece
            continue
        end = end or len(piece)
        yield b"".join((rest, memoryview(piece)[:end]))  # one copy: this is most of a long log
        rest = piece[end:]
    if rest:
        yield rest


def _from_utf16(pieces: Iterator[bytes], mark: bytes) -> Iterator[bytes]:
    order = "utf-16-le" if mark == codecs.BOM_UTF16_LE else "utf-16-be"
    decoder = codecs.getincrementaldecoder(order)("replace")
    for piece in pieces:
        yield decoder.decode(piece).encode("utf-8", "replace")


def clean(block: bytes) -> bytes:
    """Return a block without escape sequences, with its lines (those that end in LF) unchanged.

    What a carriage return wrote over stays in the line, before a vertical tab: so a progress bar
    and the line behind it are told apart, and line numbers remain those of an editor.
    """
    if b"\x1b" in block:
        block = _ESCAPES.sub(b"", block)
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\v")
    return block.replace(b"\0", b"") if b"\0" in block else block
