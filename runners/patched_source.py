"""The source of a package as its lock has it, changed by a patch before it is built."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from results.errors import InputError


def patched_source(
    lock: str, patch: Path, python: Path, variables: Mapping[str, str], folder: Path
) -> Path:
    """Fetch a source into a new folder, unpack and patch it there; return its own folder.

    `lock` holds its package alone, with the hash that what is fetched must have. uv has no command
    that fetches; pip's also asks a source what it needs, which is answered with the environment
    that `python` is of, and the variables of its build.
    """
    folder.mkdir()
    requirements = folder / "requirements.lock"
    requirements.write_text(lock)
    fetch = [sys.executable, "-m", "pip", "--python", str(python), "download", "--quiet"]
    options = ["--disable-pip-version-check", "--no-deps", "--no-build-isolation"]
    what = ["--no-binary=:all:", "--require-hashes", f"--requirement={requirements}"]
    _run(
        [*fetch, *options, *what, f"--dest={folder}"],
        f"The source that {patch} is for could not be fetched: `pip download` failed as shown "
        "above. Mend what it names (network, disk, hash) and try again.",
        variables,
    )
    (archive,) = folder.glob("*.tar.gz")
    _run(
        ["tar", "--extract", f"--file={archive}", f"--directory={folder}"],
        f"{archive} could not be unpacked: `tar` failed as shown above.",
    )
    (source,) = (path for path in folder.iterdir() if path.is_dir())
    _run(
        ["patch", "--strip=1", "--fuzz=0", "--batch", f"--directory={source}", f"--input={patch}"],
        f"{patch} does not fit {archive.name}: `patch` failed as shown above. Make it again for "
        "this version, or lock the one that it was made for.",
    )
    return source


def _run(command: list[str], failure: str, variables: Mapping[str, str] | None = None) -> None:
    # What is shown goes where uv's progress goes.
    environment = {**os.environ, **(variables or {})}
    if subprocess.run(command, env=environment, stdout=sys.stderr, check=False).returncode:
        raise InputError(failure)
