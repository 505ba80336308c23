"""MXNet's form: one RecordIO file and its index, as im2rec makes them.

The file: dmlc-core, include/dmlc/recordio.h; the header of an image: mxnet/recordio.py, IRHeader.
"""

import struct
from collections.abc import Iterator
from typing import BinaryIO

from results.errors import InputError
from runners.forms.form import Form, Picture, walk_records

MAGIC = struct.pack("<I", 0xCED7230A)
_WHOLE, _FIRST, _MIDDLE, _LAST = range(4)
_LENGTH_BITS = 29


def record(picture: Picture) -> bytes:
    """Return an image behind its header: no flag, the label, the image's number, nothing."""
    header = struct.pack("<IfQQ", 0, picture.label, picture.number, 0)
    data = header + picture.read()
    if len(data) >> _LENGTH_BITS:
        raise InputError(f"{picture.path} is too large for a record: 512 MiB is the most.")
    return frame(data)


def frame(data: bytes) -> bytes:
    """Return a record: magic number, kind and length, the data, padded to four bytes.

    A reader looks for the magic number at multiples of four bytes. Where the data hold one there,
    the record is cut in pieces and the number left out, for the reader to put in again.
    """
    pieces, start = [], 0
    found = data.find(MAGIC)
    while found >= 0:
        if found % 4 == 0:
            pieces.append(data[start:found])
            start = found + 4
        found = data.find(MAGIC, found + 4 if found % 4 == 0 else found + 1)
    pieces.append(data[start:])
    kinds = [_WHOLE] if len(pieces) == 1 else [_FIRST, *[_MIDDLE] * (len(pieces) - 2), _LAST]
    heads = [
        MAGIC + struct.pack("<I", kind << _LENGTH_BITS | len(piece))
        for kind, piece in zip(kinds, pieces, strict=True)
    ]
    written = b"".join(part for pair in zip(heads, pieces, strict=True) for part in pair)
    return written + bytes(-len(written) % 4)


def walk(file: BinaryIO, start: int, end: int) -> Iterator[int]:
    """Yield where each record begins, whatever the number of its pieces."""
    kind = _WHOLE

    def length(head: bytes) -> int:
        nonlocal kind
        number = int.from_bytes(head[4:], "little")
        if not head.startswith(MAGIC):
            raise ValueError("a record does not begin with the magic number")
        kind = number >> _LENGTH_BITS
        size = number & (1 << _LENGTH_BITS) - 1
        return size + -size % 4

    for place in walk_records(file, start, end, 8, length):
        if kind in {_WHOLE, _FIRST}:
            yield place


def index_line(number: int, place: int) -> str:
    """Return the index's line: an image's number, and where its record begins."""
    return f"{number}\t{place}\n"


RECORDIO = Form(
    "recordio",
    "train.rec",
    record,
    walk,
    single=True,
    index_file="train.idx",
    index_line=index_line,
)
