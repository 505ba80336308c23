"""Git repositories that the tests make."""

import subprocess


def git(folder, *arguments):
    """Return what a git command prints, run in a folder by an author of no name."""
    names = ("-c", "user.name=one", "-c", "user.email=one@example.org")
    done = subprocess.run(
        ["git", *names, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit_all(folder):
    """Make a folder a repository of one commit, and return that."""
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "one")
    return git(folder, "rev-parse", "HEAD")
