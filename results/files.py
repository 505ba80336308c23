"""Writing files so that a reader never sees half of one."""

import os
import tempfile
from pathlib import Path

from results.errors import InputError


def nearest_existing(folder: Path) -> Path:
    """Return `folder` or, while it is not there, the nearest one above it that is."""
    while not folder.exists():
        folder = folder.parent
    return folder


def require_writable(folder: Path, kind: str) -> None:
    """Raise `InputError` where a folder of a kind, such as `results`, cannot be made or written."""
    there = nearest_existing(folder)
    if not (there.is_dir() and os.access(there, os.W_OK)):
        raise InputError(
            f"The {kind} folder {folder} cannot be written, as {there} cannot: make it writable, "
            f"or name another with --{kind}."
        )


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
