"""A Python that the user names, with its framework in it: a vendor's build, or another version.

No environment is built then, and what it holds is asked of it and recorded.
"""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from results.errors import InputError

# Runs on any Python 3: before 3.8 it has no importlib.metadata.
QUESTION = """
import json, platform, sysconfig
try:
    from importlib.metadata import distributions
    found = [(one.metadata["Name"], one.version) for one in distributions()]
except ImportError:
    import pkg_resources
    found = [(one.project_name, one.version) for one in pkg_resources.working_set]
print(json.dumps([platform.python_version(), sysconfig.get_paths()["purelib"], found]))
"""
_PATIENCE = 60.0  # seconds


@dataclass(frozen=True)
class Interpreter:
    """A Python, its version, where its packages lie, and their names (normalised) and versions."""

    python: Path
    version: str
    site_packages: Path
    packages: dict[str, str]

    def version_of(self, framework: str) -> str:
        """Return a framework's version without its local part; empty where it is not there.

        Its builds for CPUs or a CUDA go by names of their own: tensorflow-cpu, mxnet-cu102.
        """
        base = re.escape(re.sub(r"-(cpu|gpu)$", "", framework))
        builds = re.compile(rf"{base}(-cpu|-gpu|-cu\d+\w*)?")
        found = [version for name, version in self.packages.items() if builds.fullmatch(name)]
        return found[0].partition("+")[0] if found else ""


def look_at(named: str) -> Interpreter:
    """Return what a Python says of itself, or `InputError` where it does not run."""
    path = shutil.which(named)
    if path is None:
        raise InputError(
            f"INTERPRETER={named!r} is no program that can be run: name a Python that has the "
            "framework, such as /usr/bin/python3."
        )
    # Not resolved: a link into a virtual environment is that environment's own Python.
    python = Path(path).absolute()
    try:
        asked = subprocess.run(
            [str(python), "-c", QUESTION],
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE,
        )
    except (OSError, subprocess.TimeoutExpired):
        found = None
    else:
        found = interpreter_of(python, asked.stdout)
    if found is None:
        raise InputError(
            f"INTERPRETER={named!r} does not say as a Python would what it holds: name a Python "
            "that has the framework."
        )
    return found


def interpreter_of(python: Path, said: str) -> Interpreter | None:
    """Return what a Python answered to `QUESTION`; None where that is no answer."""
    try:
        version, folder, found = json.loads(said.splitlines()[-1])
        packages = {_normalised(name): str(pinned) for name, pinned in found if name}
    except (ValueError, TypeError, IndexError):
        return None
    return Interpreter(python, str(version), Path(str(folder)), dict(sorted(packages.items())))


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
