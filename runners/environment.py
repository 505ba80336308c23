"""Each framework's own environment: built by uv from its hash-locked file, kept while that holds.

An environment's folder is named by a digest of lock and Python version, so a changed lock gets a
new one; a folder counts only once its last file, the stamp, is written.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from results.errors import InputError
from runners.interpreter import find_python
from runners.machine import usable_cores
from runners.manifest import Manifest, implementations, load_manifest

_STAMP = "dlscale-complete"
_DIGITS = 12  # of the digest, in a folder's name


def environment_folder(manifest: Manifest, home: Path) -> Path:
    """Return where the environment of an implementation lies, whether or not it is built."""
    digest = hashlib.sha256(manifest.lock.read_bytes())
    digest.update(manifest.about.python.encode())
    if manifest.about.build.packages:
        digest.update(msgspec.json.encode(manifest.about.build))
        there = [tool for tool in manifest.about.build.optional_tools if shutil.which(tool)]
        digest.update(" ".join(there).encode())
    return home / f"{manifest.about.framework}-{digest.hexdigest()[:_DIGITS]}"


def python_of(folder: Path) -> Path:
    """Return the interpreter of an environment."""
    return folder / "bin" / "python"


def is_built(manifest: Manifest, home: Path) -> bool:
    """Whether the environment of an implementation is there, whole."""
    return _whole(environment_folder(manifest, home))


def ensure_environment(manifest: Manifest, home: Path, named_python: str | None = None) -> Path:
    """Return the implementation's environment, building it where it is not there yet.

    uv's own progress goes to standard error. Raises `InputError` where it cannot be built: no
    Python of that version, a hash that does not fit, no network, no space.
    """
    folder = environment_folder(manifest, home)
    if named_python:
        find_python(manifest.about.python, lock=manifest.lock, named=named_python)
    if _whole(folder):
        return folder
    try:
        home.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(home / f".{manifest.about.framework}.lock"):
            if not _whole(folder):
                try:
                    _build(manifest, folder, named_python)
                except BaseException:
                    shutil.rmtree(folder, ignore_errors=True)  # half of gigabytes
                    raise
                _remove_older(manifest, folder)
    except OSError as error:
        raise InputError(
            f"The environment {folder} cannot be built: {error.strerror or error}."
        ) from error
    return folder


def _whole(folder: Path) -> bool:
    # Without the Python that it was built on, an environment's own is a link to nowhere.
    return (folder / _STAMP).exists() and python_of(folder).exists()


def _build(manifest: Manifest, folder: Path, named_python: str | None) -> None:
    about = manifest.about
    python = find_python(about.python, lock=manifest.lock, named=named_python)
    print(
        f"Building the environment of {about.name} in {folder}; it can be gigabytes ...",
        file=sys.stderr,
    )
    for tool in about.build.tools:
        if not shutil.which(tool):
            raise InputError(
                f"{', '.join(about.build.packages)} is built from source for {about.name}, which "
                f"needs {tool}, and it is not on PATH: install it (Debian: apt install {tool})."
            )
    shutil.rmtree(folder, ignore_errors=True)
    _uv(manifest, "venv", "--quiet", "--no-project", "--python", python, str(folder))
    ready, built = folder / "ready.lock", folder / "built.lock"
    ready.write_text(manifest.locked(lambda name: name not in about.build.packages))
    built.write_text(manifest.locked(lambda name: name in about.build.packages))
    _install(manifest, folder, ready)
    if about.build.packages:
        # Their builds find the environment's own programs first, and its packages.
        path = f"{folder / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        variables = {"MAKEFLAGS": f"-j{usable_cores()}", **about.build.environment, "PATH": path}
        # uv's cache does not ask for which variables a package was built, and one build waits
        # there for another's end.
        _install(manifest, folder, built, "--no-build-isolation", "--no-cache", **variables)
    (folder / _STAMP).write_text(about.name)


def _install(manifest: Manifest, folder: Path, lock: Path, *options: str, **variables: str) -> None:
    install = ("pip", "install", "--require-hashes", "--no-deps", "--compile-bytecode", *options)
    python = str(python_of(folder))
    _uv(manifest, *install, "--python", python, "--requirements", str(lock), **variables)


def _uv(manifest: Manifest, *arguments: str, **variables: str) -> None:
    uv = Path(sys.executable).with_name("uv")
    kept = {k: v for k, v in os.environ.items() if k not in {"VIRTUAL_ENV", "PYTHONPATH"}}
    environment = {**kept, **variables}
    done = subprocess.run([str(uv), *arguments], env=environment, check=False)
    if done.returncode:
        raise InputError(
            f"The environment of {manifest.about.name} (Python {manifest.about.python}, "
            f"{manifest.lock}) could not be built: `uv {arguments[0]}` failed as shown above. "
            "Mend what it names (network, disk, hash, Python) and try again."
        )


def _remove_older(manifest: Manifest, folder: Path) -> None:
    """Remove the environments of earlier locks of the same implementation: they are gigabytes."""
    used = {environment_folder(load_manifest(name), folder.parent) for name in implementations()}
    for other in folder.parent.glob(f"{manifest.about.framework}-{'[0-9a-f]' * _DIGITS}"):
        stamp = other / _STAMP
        built_for = stamp.read_text() if stamp.exists() else ""  # an earlier version's is empty
        if (
            other not in {folder, *used}
            and built_for in {"", manifest.about.name}
            and (other / "pyvenv.cfg").exists()
        ):
            shutil.rmtree(other, ignore_errors=True)


@contextmanager
def _one_at_a_time(lock: Path) -> Iterator[None]:
    """Let one process at a time build a framework's; others wait and then find it built."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
