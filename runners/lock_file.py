"""A file that one process at a time holds; the lock goes with the process, however that ends."""

import errno
import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from results.errors import InputError


@contextmanager
def held(path: Path, what: str) -> Iterator[None]:
    """Hold a file that exists; `InputError` says that `what` is going on in another process."""
    with path.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(
                f"{what} is going on in another process: wait for its end, or stop it."
            ) from error
        except OSError as error:  # a file system without locks, such as some Lustre mounts
            if error.errno not in {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP}:
                raise
        yield


@contextmanager
def in_turn(folder: Path) -> Iterator[None]:
    """Let one process at a time make a folder; others wait, and then find it made.

    Raises `InputError` where nothing can be made there.
    """
    path = folder.with_name(f".{folder.name}.lock")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab")
    except OSError as error:
        raise InputError(
            f"{folder} cannot be made ({error.strerror}): make {folder.parent} writable."
        ) from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
