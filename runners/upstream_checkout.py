"""A repository's own training script, fetched by git at one commit and run as it stands there.

A benchmark is reproduced only where commit, framework version and arguments all match (DLPerf's
lesson), so the commit is looked at again before each run, and a changed file is refused. Mirrors
are git's own: `git config --global url.MIRROR.insteadOf REPOSITORY`.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import msgspec

from results.errors import InputError
from runners.lock_file import in_turn
from runners.manifest import Manifest
from runners.upstream import Upstream, the_first_of

_FETCHED = "dlscale-fetched"  # in .git, once all is there
_DIGITS = 12
# Of git's own, these would lead it to another repository than the one that is named.
_FOREIGN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY")
_SETTINGS = ("-c", "core.autocrlf=false", "-c", "core.hooksPath=/dev/null")


def checkout_of(manifest: Manifest, home: Path) -> Path | None:
    """Return the verified checkout of an implementation's script; None where it has none."""
    upstream = manifest.about.upstream
    if upstream is None or upstream.package:
        return None
    return ensure_checkout(upstream, manifest.upstream_patch, home)


def checkout_folder(upstream: Upstream, patch: Path | None, home: Path) -> Path:
    """Return where a script's checkout lies in `home`, whether or not it is there."""
    digest = hashlib.sha256(msgspec.json.encode([upstream.repository, upstream.paths]))
    digest.update(patch.read_bytes() if patch else b"")
    name = upstream.repository.rstrip("/").removesuffix(".git").rpartition("/")[2]
    return home / f"{name}-{upstream.commit[:_DIGITS]}-{digest.hexdigest()[:_DIGITS]}"


def ensure_checkout(upstream: Upstream, patch: Path | None, home: Path) -> Path:
    """Return the checkout of a script, fetched where it is not there yet, and verified.

    Raises `InputError` where it cannot be fetched, is at another commit, or has a changed file.
    """
    folder = checkout_folder(upstream, patch, home)
    try:
        home.mkdir(parents=True, exist_ok=True)
        with in_turn(folder):
            if not (folder / ".git" / _FETCHED).exists():
                try:
                    _fetch(upstream, patch, folder)
                except BaseException:
                    shutil.rmtree(folder, ignore_errors=True)
                    raise
            _verify(upstream, patch, folder)
    except OSError as error:
        raise InputError(
            f"The checkout {folder} of {upstream.repository} cannot be made: "
            f"{error.strerror or error}."
        ) from error
    return folder


def _fetch(upstream: Upstream, patch: Path | None, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    _git(folder, "init", "--quiet")
    _git(folder, "remote", "add", "origin", upstream.repository)
    patterns = [f"/{path.strip('/')}" for path in upstream.paths]
    _git(folder, "sparse-checkout", "set", "--no-cone", *patterns)
    # The files of other folders are not even fetched, where the server can leave them out.
    fetch = ("fetch", "--quiet", "--depth=1", "--filter=blob:none", "--no-tags", "origin")
    try:
        _git(folder, *fetch, upstream.commit)
        _git(folder, "checkout", "--quiet", "--detach", upstream.commit)
    except _GitError as error:
        raise InputError(
            f"Commit {upstream.commit} of {upstream.repository} cannot be fetched: git says: "
            f"{error}. Connect to the network, or name a mirror that has it: git config --global "
            f"url.MIRROR.insteadOf {upstream.repository}"
        ) from error
    for path in upstream.paths:
        if not (folder / path).exists():
            raise InputError(
                f"{upstream.repository} has no {path} at commit {upstream.commit}: mend `paths`."
            )
    if patch:
        try:
            _git(folder, "apply", "--index", "--whitespace=nowarn", str(patch))
        except _GitError as error:
            raise InputError(
                f"{patch} does not fit commit {upstream.commit} of {upstream.repository}: git "
                f"says: {error}"
            ) from error
    (folder / ".git" / _FETCHED).touch()


def _verify(upstream: Upstream, patch: Path | None, folder: Path) -> None:
    """Refuse a checkout that is not the commit, with its patch and nothing else."""
    remedy = f"Remove {folder}, and it is fetched again."
    try:
        head = _git(folder, "rev-parse", "HEAD")
        found = _git(folder, "write-tree", "--missing-ok")
        wanted = _patched_tree(upstream, patch, folder)
        status = _git(folder, "status", "--porcelain", "--untracked-files=all", "--ignored", "-z")
        changed = [line[3:] for line in status.split("\0") if line[1:2] not in ("", " ")]
        changed = changed or _with_other_content(upstream, folder)
    except _GitError as error:
        raise InputError(f"{folder} is no checkout any more: git says: {error}. {remedy}") from None
    if head != upstream.commit:
        raise InputError(f"{folder} is at commit {head}, not {upstream.commit}. {remedy}")
    if changed or found != wanted:
        what = the_first_of(changed) or "its index"
        raise InputError(
            f"{what} in {folder} is not as in commit {upstream.commit} of "
            f"{upstream.repository}{', patched' if patch else ''}. {remedy}"
        )


def _with_other_content(upstream: Upstream, folder: Path) -> list[str]:
    """Return the files that git takes for unchanged by their size and time, and that are not."""
    listed = _git(folder, "ls-files", "--stage", "-z", "--", *upstream.paths)
    entries = [line.partition("\t") for line in listed.split("\0") if line.startswith("100")]
    names = [name for _, _, name in entries]
    hashes = _git(folder, "hash-object", "--stdin-paths", said="\n".join(names)).split()
    wanted = [about.split()[1] for about, _, _ in entries]
    return [name for name, one, other in zip(names, hashes, wanted, strict=True) if one != other]


def _patched_tree(upstream: Upstream, patch: Path | None, folder: Path) -> str:
    """Return the name that git has for the commit's tree with the patch applied."""
    with tempfile.TemporaryDirectory() as scratch:
        index = {"GIT_INDEX_FILE": str(Path(scratch) / "index")}
        _git(folder, "read-tree", upstream.commit, variables=index)
        if patch:
            _git(folder, "apply", "--cached", "--whitespace=nowarn", str(patch), variables=index)
        return _git(folder, "write-tree", "--missing-ok", variables=index)


class _GitError(Exception):
    """What git said when it failed."""


def _git(
    folder: Path,
    *arguments: str,
    variables: dict[str, str] | None = None,
    said: str = "",
) -> str:
    """Return what a git command prints, run in a folder; `said` is its standard input."""
    environment = {key: value for key, value in os.environ.items() if key not in _FOREIGN}
    environment |= {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **(variables or {})}
    try:
        done = subprocess.run(
            ["git", *_SETTINGS, *arguments],  # noqa: S607 - the user's own git
            cwd=folder,
            env=environment,
            input=said,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError as error:
        raise InputError("git is not on PATH: install it (Debian: apt install git).") from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
        raise _GitError((fatal or lines or [f"exit code {done.returncode}"])[-1].strip())
    return done.stdout.strip("\n")
