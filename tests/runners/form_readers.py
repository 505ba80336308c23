"""Readers of the forms, written after the formats' documents and not after the writers.

Each yields (JPEG bytes, label, what else the record says). CRC-32C is computed here from its
polynomial, and protobuf messages are taken apart field by field.
"""

import struct


def crc32c(data, table=[]):  # noqa: B006 - computed once
    if not table:
        for byte in range(256):
            value = byte
            for _ in range(8):
                value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
            table.append(value)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8) % 2**32


def number(data, place):
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place


def fields(message):
    """Return (number, content) of a message that holds length-delimited fields alone."""
    found, place = [], 0
    while place < len(message):
        key, place = number(message, place)
        assert key & 7 == 2
        length, place = number(message, place)
        found.append((key >> 3, message[place : place + length]))
        place += length
    assert place == len(message)
    return found


def features(message, bytes_list, int_list):
    values = {}
    for tag, entry in fields(message):
        assert tag == 1
        pair = dict(fields(entry))
        ((kind, values_of_kind),) = fields(pair[2])
        ((one, value),) = fields(values_of_kind)
        assert one == 1
        assert kind in {bytes_list, int_list}
        if kind == int_list:
            value, end = number(value, 0)
            assert end <= 5
        values[pair[1].decode()] = value
    return values


def read_tfrecord(folder):
    for path in sorted(folder.glob("train-*-of-*")):
        data, place = path.read_bytes(), 0
        while place < len(data):
            head = data[place : place + 8]
            (length,) = struct.unpack("<Q", head)
            body = data[place + 12 : place + 12 + length]
            assert struct.unpack_from("<I", data, place + 8) == (masked(head),)
            assert struct.unpack_from("<I", data, place + 12 + length) == (masked(body),)
            place += 16 + length
            ((tag, content),) = fields(body)
            assert tag == 1
            values = features(content, 1, 3)
            yield values["image/encoded"], values["image/class/label"], values
        assert place == len(data)


def read_ofrecord(folder):
    for path in sorted(folder.glob("part-*")):
        data, place = path.read_bytes(), 0
        while place < len(data):
            (length,) = struct.unpack_from("<q", data, place)
            values = features(data[place + 8 : place + 8 + length], 1, 4)
            place += 8 + length
            assert set(values) == {"encoded", "class/label"}
            yield values["encoded"], values["class/label"], values
        assert place == len(data)


def unframe(data, place):
    """Return the RecordIO record that begins at a place, and where the next one does."""
    pieces = []
    while True:
        magic, word = struct.unpack_from("<II", data, place)
        assert magic == 0xCED7230A
        kind, length = word >> 29, word & 2**29 - 1
        assert kind in ({0, 1} if not pieces else {2, 3})
        pieces.append(data[place + 8 : place + 8 + length])
        place += 8 + (length + 3) // 4 * 4
        if kind in {0, 3}:
            return struct.pack("<I", 0xCED7230A).join(pieces), place


def read_recordio(folder):
    data = (folder / "train.rec").read_bytes()
    end = 0
    for line in (folder / "train.idx").read_text().splitlines():
        key, place = map(int, line.split("\t"))
        assert place == end
        record, end = unframe(data, place)
        flag, label, name, more = struct.unpack_from("<IfQQ", record)
        assert (flag, name, more) == (0, key, 0)
        yield record[24:], label, {"id": name}
    assert end == len(data)


def read_filelist(folder):
    for line in (folder / "train_list.txt").read_text().splitlines():
        path, label = line.split(" ")
        with open(path, "rb") as file:  # noqa: PTH123
            yield file.read(), int(label), {"path": path}


READERS = {
    "tfrecord": read_tfrecord,
    "recordio": read_recordio,
    "ofrecord": read_ofrecord,
    "filelist": read_filelist,
}
