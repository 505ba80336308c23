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
