"""PaddlePaddle's form: a list with a line for each image, its path, a space and its label.

The images stay where they are, and the paths are absolute, so that the list can lie anywhere.
"""

from collections.abc import Iterator
from typing import BinaryIO

from results.errors import InputError
from runners.forms.form import Form, Picture


def record(picture: Picture) -> bytes:
    """Return the line of an image."""
    if any(sign.isspace() for sign in picture.path):
        raise InputError(
            f"{picture.path} holds a blank, which ends a path in a file list: rename it."
        )
    return f"{picture.path} {picture.label}\n".encode(errors="surrogateescape")


def walk(file: BinaryIO, start: int, end: int) -> Iterator[int]:
    """Yield where each line begins."""
    file.seek(start)
    place = start
    while place < end:
        line = file.readline()
        if not line.endswith(b"\n"):
            raise ValueError(f"the line at byte {place:,} has no end")
        yield place
        place += len(line)


FILELIST = Form("filelist", "train_list.txt", record, walk, single=True, lists=True)
