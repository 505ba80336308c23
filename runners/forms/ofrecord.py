"""OneFlow's form: OFRecord files, with what OFRecordReader and its image decoders ask for.

The message: oneflow/core/record/record.proto; before each one its length, in eight bytes.
"""

import struct
from collections.abc import Iterator
from typing import BinaryIO

from runners.forms.form import Form, Picture, walk_records
from runners.forms.protobuf import features

_BYTES_LIST, _INT32_LIST = 1, 4


def record(picture: Picture) -> bytes:
    """Return an image as an OFRecord, its JPEG as it is, behind its length."""
    values: dict[str, bytes | int] = {"encoded": picture.read(), "class/label": picture.label}
    data = features(values, bytes_kind=_BYTES_LIST, int_kind=_INT32_LIST)
    return struct.pack("<q", len(data)) + data


def walk(file: BinaryIO, start: int, end: int) -> Iterator[int]:
    """Yield where each record begins."""
    return walk_records(file, start, end, 8, lambda head: int.from_bytes(head, "little"))


OFRECORD = Form("ofrecord", "part-{shard:05d}", record, walk)
