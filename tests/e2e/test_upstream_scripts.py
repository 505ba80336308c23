"""The real upstream scripts of every edition, measured once each on a CPU, where they can be had.

Gigabytes of environments and minutes each, and a repository is no part of this project: run by
`make test-upstream` alone, whose last outcome stands in docs/upstream.md.
"""

import subprocess

import pytest
from harness import bench, the_run

from results.store import read_stored_run
from runners import paths
from runners.implementations import editions, implementations, load_manifest
from runners.upstream_checkout import checkout_folder

pytestmark = [pytest.mark.slow, pytest.mark.upstream]
EVERY = [
    (edition, name)
    for edition in editions()
    for name in implementations(edition)
    if "cpu" in load_manifest(name, edition).about.on
]


def is_reachable(manifest):
    """Whether a script is here already, or git can ask its repository."""
    upstream = manifest.about.upstream
    if upstream.package:
        return True
    if checkout_folder(upstream, manifest.upstream_patch, paths.UPSTREAM).exists():
        return True
    asked = ["git", "ls-remote", "--quiet", upstream.repository, "HEAD"]
    return subprocess.run(asked, capture_output=True, check=False, timeout=60).returncode == 0


@pytest.mark.parametrize(("edition", "name"), EVERY)
def test_it_is_measured(tmp_path, edition, name):
    manifest = load_manifest(name, edition)
    if not is_reachable(manifest):
        pytest.skip(f"{manifest.about.upstream.repository} cannot be reached")
    given = [] if "jpeg" in manifest.about.upstream.data else ["--data=synthetic"]
    sizes = ["--batch=4", "--warmup=2", "--steps=3", "--repeats=1"]
    done = bench(name, tmp_path, f"--edition={edition}", "--device=cpu", *sizes, *given)
    assert done.returncode == 0, done.stderr
    (repeat,) = read_stored_run(the_run(tmp_path)).repeats
    assert repeat.throughput > 0
    assert len(repeat.step_seconds) == 3
