"""Writing files so that a reader never sees half of one."""

import os
import tempfile
from pathlib import Path


def what_forbids_writing(folder: Path) -> Path | None:
    """Return what keeps `folder` from being made or written, None where nothing does.

    That is the folder itself or, while it is not there, the nearest one above it that is.
    """
    there = folder
    while not there.exists():
        there = there.parent
    return None if there.is_dir() and os.access(there, os.W_OK) else there


def write_atomically(path: Path, content: bytes) -> None:
    """Write `content` under a temporary name beside `path`, then rename it. May raise OSError."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
