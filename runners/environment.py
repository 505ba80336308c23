"""Each framework's own environment: built by uv from its hash-locked file, kept while that holds.

An environment's folder is named by a digest of lock, Python version and what changes a build from
source, so a changed lock gets a new one; a folder counts only once its last file, the stamp, is
written. A strategy that needs more than the others has an environment of its own.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import msgspec

from results.errors import InputError
from runners.implementations import every_manifest
from runners.interpreter import find_python
from runners.lock_file import in_turn
from runners.machine import usable_cores
from runners.manifest import Manifest
from runners.patched_source import patched_source

_STAMP = "dlscale-complete"
_DIGITS = 12  # of the digest, in a folder's name


def environment_folder(manifest: Manifest, home: Path) -> Path:
    """Return where the environment of an implementation lies, whether or not it is built."""
    digest = hashlib.sha256(manifest.lock_text.encode())
    digest.update(manifest.about.python.encode())
    if manifest.built:
        digest.update(msgspec.json.encode(manifest.about.build))
        there = [tool for tool in manifest.about.build.optional_tools if shutil.which(tool)]
        digest.update(" ".join(there).encode())
        digest.update(b"".join(patch.read_bytes() for patch in manifest.patches.values()))
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
    Python of that version, a hash that does not fit, no network, no space, or none to be had.
    """
    _require_lock(manifest)
    folder = environment_folder(manifest, home)
    if named_python:
        find_python(manifest.about.python, lock=manifest.lock, named=named_python)
    if _whole(folder):
        return folder
    try:
        with in_turn(home / manifest.about.framework):
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


def _require_lock(manifest: Manifest) -> None:
    about, elsewhere = manifest.about, manifest.elsewhere
    if elsewhere:
        why = f"cannot be installed any more ({elsewhere.gone})"
        if elsewhere.container:
            why = f"is in the container {elsewhere.container}"
        raise InputError(
            f"{about.name} needs {about.framework} {elsewhere.version}, which {why}: name a Python "
            "that has it with INTERPRETER=PATH."
        )


def _whole(folder: Path) -> bool:
    # Without the Python that it was built on, an environment's own is a link to nowhere.
    return (folder / _STAMP).exists() and python_of(folder).exists()


def _build(manifest: Manifest, folder: Path, named_python: str | None) -> None:
    about, built = manifest.about, manifest.built
    python = find_python(about.python, lock=manifest.lock, named=named_python)
    print(
        f"Building the environment of {manifest.environment_name} in {folder}; it can be gigabytes "
        "...",
        file=sys.stderr,
    )
    for tool in [*about.build.tools, *(["patch"] if manifest.patches else [])]:
        if built and not shutil.which(tool):
            raise InputError(
                f"{', '.join(built)} is built from source for {about.name}, which "
                f"needs {tool}, and it is not on PATH: install it (Debian: apt install {tool})."
            )
    shutil.rmtree(folder, ignore_errors=True)
    _uv(manifest, "venv", "--quiet", "--no-project", "--python", python, str(folder))
    _install(manifest, folder, [name for name in manifest.pins if name not in built])
    if built:
        _build_from_source(manifest, folder)
    (folder / _STAMP).write_text(about.name)


def _build_from_source(manifest: Manifest, folder: Path) -> None:
    # Their builds find the environment's own programs first, and its packages.
    path = f"{folder / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    variables = {
        "MAKEFLAGS": f"-j{usable_cores()}",
        **manifest.about.build.environment,
        "PATH": path,
    }
    # uv's cache does not ask for which variables a package was built, and one build waits there
    # for another's end.
    options = ("--no-build-isolation", "--no-cache")
    patches = manifest.patches
    unchanged = [name for name in manifest.built if name not in patches]
    if unchanged:
        _install(manifest, folder, unchanged, *options, **variables)
    for name, patch in patches.items():
        lock = manifest.locked({name}.__contains__)
        source = patched_source(lock, patch, python_of(folder), variables, folder / "source")
        _uv_install(manifest, folder, *options, str(source), **variables)
        shutil.rmtree(source.parent)


def _install(
    manifest: Manifest, folder: Path, names: Collection[str], *options: str, **variables: str
) -> None:
    """Install what is locked of these names."""
    lock = folder / "requirements.lock"
    lock.write_text(manifest.locked(lambda name: name in names))
    hashed = ("--require-hashes", "--requirements", str(lock))
    _uv_install(manifest, folder, *options, *hashed, **variables)


def _uv_install(manifest: Manifest, folder: Path, *options: str, **variables: str) -> None:
    install = ("pip", "install", "--no-deps", "--compile-bytecode")
    _uv(manifest, *install, "--python", str(python_of(folder)), *options, **variables)


def _uv(manifest: Manifest, *arguments: str, **variables: str) -> None:
    uv = Path(sys.executable).with_name("uv")
    kept = {k: v for k, v in os.environ.items() if k not in {"VIRTUAL_ENV", "PYTHONPATH"}}
    environment = {**kept, **variables}
    done = subprocess.run([str(uv), *arguments], env=environment, check=False)
    if done.returncode:
        raise InputError(
            f"The environment of {manifest.environment_name} (Python {manifest.about.python}, "
            f"{manifest.lock}) could not be built: `uv {arguments[0]}` failed as shown above. "
            "Mend what it names (network, disk, hash, Python) and try again."
        )


def _remove_older(manifest: Manifest, folder: Path) -> None:
    """Remove the environments of earlier locks of the same implementation: they are gigabytes."""
    known = [manifest, *every_manifest()]
    every = [environment for one in known for environment in one.environments]
    used = {environment_folder(one, folder.parent) for one in every}
    for other in folder.parent.glob(f"{manifest.about.framework}-{'[0-9a-f]' * _DIGITS}"):
        stamp = other / _STAMP
        built_for = stamp.read_text() if stamp.exists() else ""  # an earlier version's is empty
        if (
            other not in used
            and built_for in {"", manifest.about.name}
            and (other / "pyvenv.cfg").exists()
        ):
            shutil.rmtree(other, ignore_errors=True)
