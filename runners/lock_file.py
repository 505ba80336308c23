"""What one process at a time holds; the lock goes with the process, however that ends."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from results.errors import InputError


@contextmanager
def held(path: Path, busy: str) -> Iterator[None]:
    """Hold a file or a folder that exists; `InputError` where another process does.

    `busy` begins its sentence, up to the words "another process".
    """
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(f"{busy} another process: wait for its end, or stop it.") from error
        except OSError as error:  # a file system without locks, such as some Lustre mounts
            if error.errno not in {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP}:
                raise
        yield
    finally:
        os.close(handle)


@contextmanager
def in_turn(folder: Path) -> Iterator[None]:
    """Let one process at a time make a folder; others wait, and then find it made.

    Raises OSError where nothing can be made there.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f".{folder.name}.lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
