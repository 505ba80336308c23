"""The little of protobuf's wire format that records need: messages of bytes, text and numbers.

https://protobuf.dev/programming-guides/encoding: a field is its number and wire type, then its
content; lists of numbers are packed.
"""

from collections.abc import Mapping

_LENGTH_DELIMITED = 2


def varint(number: int) -> bytes:
    """Encode a whole number from 0, seven bits a byte, the low ones first."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def field(number: int, content: bytes) -> bytes:
    """Encode a field of bytes, text or a message."""
    return varint(number << 3 | _LENGTH_DELIMITED) + varint(len(content)) + content


def features(values: Mapping[str, bytes | int], *, bytes_kind: int, int_kind: int) -> bytes:
    """Encode a map of names to features, field 1 of its message, each a list of one value.

    TensorFlow and OneFlow call it the same and number the kinds of lists differently.
    """
    entries = []
    for name, value in values.items():
        one = (
            field(bytes_kind, field(1, value))
            if isinstance(value, bytes)
            else field(int_kind, field(1, varint(value)))
        )
        entries.append(field(1, field(1, name.encode()) + field(2, one)))
    return b"".join(entries)
