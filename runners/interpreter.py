"""Finding the Python that a framework's environment is built on."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from results.errors import InputError


def find_python(version: str, *, lock: Path, named: str | None = None) -> str:
    """Return the path of a Python `version` (such as `3.11`), or the bare version for uv to fetch.

    `named` is one that the user chose: `InputError` where it does not run or is of another
    version, since the lock file was made for `version`.
    """
    if named:
        found = version_of(named)
        if found != version:
            what = f"is Python {found}" if found else "does not run"
            raise InputError(
                f"{lock} is locked for Python {version}, and {named} {what}: name a Python "
                f"{version}, or name none and let dlscale find one."
            )
        return named
    for candidate in _candidates(version):
        if version_of(candidate) == version:
            return candidate
    return version


def version_of(python: str) -> str:
    """Return `major.minor` of an interpreter, empty where it does not run.

    pyenv's shims are on PATH for versions that they then refuse to start, so each is tried.
    """
    program = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        asked = subprocess.run(
            [python, "-I", "-c", program], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""


def _candidates(version: str) -> list[str]:
    own = Path(sys.base_prefix) / "bin" / f"python{version}"
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path(os.environ.get("HOME", "/")) / ".pyenv")
    paths = [str(own), *map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}")))]
    on_path = shutil.which(f"python{version}")
    return [*paths, *([on_path] if on_path else [])]
