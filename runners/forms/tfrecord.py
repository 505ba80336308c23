"""TensorFlow's form: TFRecord files of tf.train.Example, with the keys that ImageNet's have.

The files: https://www.tensorflow.org/tutorials/load_data/tfrecord, "TFRecords format details";
the message: tensorflow/core/example/{example,feature}.proto. The label counts from 0; that of
TensorFlow's own script for ImageNet counts from 1.
"""

import io
import struct
from collections.abc import Iterator
from typing import BinaryIO

import google_crc32c
from PIL import Image, UnidentifiedImageError

from results.errors import InputError
from runners.data_check import PNG
from runners.forms.form import Form, Picture, walk_records
from runners.forms.protobuf import features, field

_BYTES_LIST, _INT64_LIST = 1, 3
_COLOURS = {"L": (b"Grayscale", 1), "CMYK": (b"CMYK", 4)}


def record(picture: Picture) -> bytes:
    """Return length, its checksum, the example, its checksum."""
    data = example(picture)
    length = struct.pack("<Q", len(data))
    return length + _masked_crc(length) + data + _masked_crc(data)


def example(picture: Picture) -> bytes:
    """Return an image as a tf.train.Example, its JPEG as it is."""
    content = picture.read()
    try:
        with Image.open(io.BytesIO(content)) as image:  # its header alone
            (width, height), mode = image.size, image.mode
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError) as error:
        raise InputError(f"{picture.path} has no header that can be read ({error}).") from error
    colours, channels = _COLOURS.get(mode, (b"RGB", 3))
    name = picture.name.encode(errors="surrogateescape")
    values: dict[str, bytes | int] = {
        "image/encoded": content,
        "image/format": b"PNG" if content.startswith(PNG) else b"JPEG",
        "image/height": height,
        "image/width": width,
        "image/colorspace": colours,
        "image/channels": channels,
        "image/filename": name.rpartition(b"/")[2],
        "image/class/label": picture.label,
        "image/class/synset": name.rpartition(b"/")[0],
    }
    return field(1, features(values, bytes_kind=_BYTES_LIST, int_kind=_INT64_LIST))


def walk(file: BinaryIO, start: int, end: int) -> Iterator[int]:
    """Yield where each record begins."""
    return walk_records(file, start, end, 12, lambda head: int.from_bytes(head[:8], "little") + 4)


def _masked_crc(data: bytes) -> bytes:
    crc = google_crc32c.value(data)
    rotated = (crc >> 15 | crc << 17) + 0xA282EAD8
    return struct.pack("<I", rotated & 0xFFFFFFFF)


TFRECORD = Form("tfrecord", "train-{shard:05d}-of-{shards:05d}", record, walk)
