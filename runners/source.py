"""Which dlscale this is: its version and, in a checkout, its commit."""

import subprocess
from importlib.metadata import version
from pathlib import Path


def source_facts(root: Path) -> dict[str, str]:
    """Return version and commit; the commit says where files differ from it, or is `unknown`."""
    commit = _git(root, "rev-parse", "HEAD")
    if commit and _git(root, "status", "--porcelain", "--untracked-files=no"):
        commit += " with changes"
    return {"version": version("dlscale"), "commit": commit or "unknown"}


def _git(root: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],  # noqa: S607 - the user's own git
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
