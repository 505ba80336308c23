"""Where logs lie: files, folders, compressed files and archives. Nothing is unpacked to disk."""

import bz2
import gzip
import io
import lzma
import os
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, cast

from results.errors import InputError

# An archive that unpacks to more is not read on: it is a bomb, or no archive of logs.
MOST_UNPACKED = 16 << 30
MOST_MEMBERS = 1_000_000
# What a log is called. A file with another name in a folder is one if its content shows it.
_LOG_NAME = re.compile(
    r"(?:\.(?:log|txt|out|err)|(?:^|/)(?:workerlog|worker_\d+|rank|stdout|stderr|log)[._]?"
    r"\d{0,6}(?:\.\w{1,8})?)(?:\.(?:gz|bz2|xz))?$",
    re.IGNORECASE,
)
_TAR_NAME = re.compile(r"\.(?:tar(?:\.(?:gz|bz2|xz))?|tgz|tbz2?|txz)$", re.IGNORECASE)
_ZIP_NAME = re.compile(r"\.zip$", re.IGNORECASE)
_UNPACKERS: dict[bytes, Callable[[IO[bytes]], object]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
_UNPACKING = (
    EOFError,
    gzip.BadGzipFile,
    lzma.LZMAError,
    zlib.error,
    tarfile.TarError,
    zipfile.BadZipFile,
)


class UnreadableError(Exception):
    """The bytes of a log cannot be had; the message says why."""


@dataclass(frozen=True)
class Source:
    """A log. `name` is shown; `labels` is the path that may tell its case; `sure` if asked for."""

    path: Path
    name: str
    labels: PurePosixPath
    sure: bool = True

    @property
    def is_archive(self) -> bool:
        """Whether it is a tar or zip archive, by its name."""
        return _is_archive(self.path.name)


def find_sources(paths: list[Path]) -> list[Source]:
    """Return the logs in files and folders, in the order of their names.

    Raises `InputError` for a path that is not there. Links to folders are not followed; pipes,
    sockets and devices are left alone.
    """
    found: list[Source] = []
    for path in paths:
        labels = PurePosixPath(path.absolute().as_posix())
        if path.is_dir():
            found += _in_folder(path, labels)
        elif path.is_file():
            found.append(Source(path, str(path), labels))
        else:
            what = "is neither a file nor a folder" if path.exists() else "is not there"
            raise InputError(f"{path} {what}: name a log, a folder of logs, or a run.")
    return found


def _in_folder(folder: Path, labels: PurePosixPath) -> Iterator[Source]:
    for here, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = Path(here, name)
            inside = path.relative_to(folder)
            try:
                regular = stat.S_ISREG(path.stat().st_mode)
            except OSError:
                regular = False
            if regular:
                named = _LOG_NAME.search(name) is not None or _is_archive(name)
                yield Source(path, str(path), labels / inside.as_posix(), named)


def _is_archive(name: str) -> bool:
    return any(kind.search(name) for kind in (_TAR_NAME, _ZIP_NAME))


@contextmanager
def opened(source: Source) -> Iterator[IO[bytes]]:
    """Open a log for reading, unpacked; raises `UnreadableError` where that cannot be done."""
    try:
        with source.path.open("rb") as file:
            unpacker = _unpacker(file.peek(6))
            if unpacker is None:
                yield file
            else:
                yield cast("IO[bytes]", Limited(cast("IO[bytes]", unpacker(file))))
    except _UNPACKING as error:
        raise UnreadableError(f"it cannot be unpacked: {error or type(error).__name__}") from error
    except OSError as error:
        raise UnreadableError(f"it cannot be read: {error.strerror or error}") from error


def members(source: Source) -> Iterator[tuple[Source, IO[bytes]]]:
    """Yield the files of an archive, each to be read before the next is asked for.

    Members are only read, never written anywhere; their names serve as labels alone.
    """
    left = [MOST_UNPACKED]
    open_members = _of_zip if _ZIP_NAME.search(source.path.name) else _of_tar
    try:
        for number, (name, stream) in enumerate(open_members(source.path)):
            if number >= MOST_MEMBERS:
                raise UnreadableError(f"it has more than {MOST_MEMBERS:,} members")
            inside = PurePosixPath(*(part for part in PurePosixPath(name).parts if part != ".."))
            inside = inside.relative_to("/") if inside.is_absolute() else inside
            one = Source(
                source.path,
                f"{source.name}:{name}",
                source.labels.parent / inside,
                _LOG_NAME.search(name) is not None,
            )
            yield one, _unpacked(cast("IO[bytes]", Limited(stream, left)))
    except _UNPACKING as error:
        raise UnreadableError(f"it cannot be unpacked: {error or type(error).__name__}") from error
    except OSError as error:
        raise UnreadableError(f"it cannot be read: {error.strerror or error}") from error


def _of_tar(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(path, "r|*") as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isreg() else None
            if stream is not None:
                yield member.name, stream


def _of_zip(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if member.is_dir():
                continue
            try:
                stream = archive.open(member)
            except (RuntimeError, NotImplementedError) as error:  # a password, an odd compression
                raise UnreadableError(f"{member.filename}: {error}") from error
            with stream:
                yield member.filename, stream


def _unpacked(stream: IO[bytes]) -> IO[bytes]:
    """Return a member unpacked once more where it is compressed itself."""
    head = stream.read(6)
    whole = cast("IO[bytes]", io.BufferedReader(_Joined(head, stream)))
    unpacker = _unpacker(head)
    if unpacker is None:
        return whole
    return cast("IO[bytes]", Limited(cast("IO[bytes]", unpacker(whole))))


def _unpacker(head: bytes) -> Callable[[IO[bytes]], object] | None:
    return next((opener for magic, opener in _UNPACKERS.items() if head.startswith(magic)), None)


class Limited:
    """Reads a stream up to a number of bytes that it may share with others."""

    def __init__(self, stream: IO[bytes], left: list[int] | None = None) -> None:
        """Read `stream`; `left` holds how many bytes are allowed yet."""
        self.stream = stream
        self.left = [MOST_UNPACKED] if left is None else left
        self.cut = False

    def read(self, size: int = -1) -> bytes:
        """Read; raises `UnreadableError` once more was read than is allowed.

        A compressed file that is cut, perhaps as it is still written, ends where it was cut.
        """
        # `read1` gives what there is before it comes to where the file is cut.
        read = getattr(self.stream, "read1", self.stream.read)
        try:
            data: bytes = read(min(size, 1 << 20) if size >= 0 else 1 << 20)
        except EOFError:
            self.cut = True
            return b""
        self.left[0] -= len(data)
        if self.left[0] < 0:
            raise UnreadableError(f"it unpacks to more than {MOST_UNPACKED >> 30} GiB")
        return data


class _Joined(io.RawIOBase):
    """The bytes that were looked at, then the rest of the stream."""

    def __init__(self, head: bytes, stream: IO[bytes]) -> None:
        self.head = head
        self.stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self.head[: len(view)] or self.stream.read(len(view))
        self.head = self.head[len(view) :]
        view[: len(data)] = data
        return len(data)
