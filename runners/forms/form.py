"""What a form is to the converter, and an image on its way into one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from results.errors import InputError
from runners.data_check import JPEG, PNG, look


@dataclass(frozen=True)
class Picture:
    """An image: its place in the order of the form, its file below the class folders, its label."""

    number: int
    root: str
    name: str
    label: int

    @property
    def path(self) -> str:
        """The image's file."""
        return f"{self.root}/{self.name}"

    def check(self) -> None:
        """Raise `InputError` where the file is no whole JPEG.

        A PNG may go by that name: ImageNet's n02105855_2933.JPEG is one, and is decoded as one.
        """
        _, fault = look(self.path)
        if not fault:
            with Path(self.path).open("rb") as file:
                begins = file.read(len(PNG))
            if not begins.startswith((JPEG, PNG)):
                fault = f"is neither a JPEG nor a PNG (it begins with {begins!r})"
        if fault:
            raise InputError(f"{self.path} {fault}: replace or remove it, then convert again.")

    def read(self) -> bytes:
        """Return the bytes of the file; `InputError` where it cannot be read."""
        try:
            return Path(self.path).read_bytes()
        except OSError as error:
            raise InputError(f"{self.path} cannot be read ({error.strerror}).") from error


@dataclass(frozen=True)
class Form:
    """How a form's files are written and walked through.

    `file` names a shard's file, with places for `shard` and `shards`; where `single`, all shards
    are stretches of one file, which has that name; a form that `lists` names the images' files, and
    holds none. `record` is what stands in the file for an
    image. `walk` yields where each record of a stretch begins, and raises `ValueError` where they
    do not follow on each other to its end. `index` gives the line that a file beside it, named
    by `index_file`, has for each record.
    """

    name: str
    file: str
    record: Callable[[Picture], bytes]
    walk: Callable[[BinaryIO, int, int], Iterator[int]]
    single: bool = False
    lists: bool = False
    index_file: str = ""
    index_line: Callable[[int, int], str] | None = None


def walk_records(
    file: BinaryIO, start: int, end: int, header: int, length: Callable[[bytes], int]
) -> Iterator[int]:
    """Walk through records that begin with a header of so many bytes.

    `length` gives the bytes that come behind a header, from it.
    """
    place = start
    while place < end:
        file.seek(place)
        head = file.read(header)
        following = place + header + (length(head) if len(head) == header else 0)
        if len(head) < header or following > end:
            raise ValueError(f"the record at byte {place:,} goes beyond the end")
        yield place
        place = following
