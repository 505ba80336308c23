import subprocess
import sys

import pytest

from runners.machine import parse_gpus, this_machine, usable_cores, usable_memory

LISTING = """Tesla V100-SXM2-16GB, 16160, 580.1, 0, GPU-aaaa-1
Tesla V100-SXM2-16GB, 16160, 580.1, 1, GPU-bbbb-2
Tesla V100-SXM2-16GB, [N/A], 580.1, 2, GPU-cccc-3
some warning of the driver
"""


@pytest.mark.parametrize(
    ("visible", "ids"),
    [
        (None, ["0", "1", "2"]),
        ("1", ["1"]),
        ("1,0", ["1", "0"]),
        ("GPU-bbbb", ["GPU-bbbb"]),
        ("", []),
        ("0,-1,1", ["0"]),
    ],
)
def test_gpus_that_are_visible(visible, ids):
    assert [gpu.id for gpu in parse_gpus(LISTING, visible)] == ids


def test_a_containers_quota_cuts_the_cores(tmp_path):
    quota = tmp_path / "cpu.max"
    quota.write_text("100000 100000\n")
    assert usable_cores(quota) == 1
    quota.write_text("max 100000\n")
    assert usable_cores(quota) == usable_cores(tmp_path / "none") >= 1


def test_this_machine_describes_itself():
    machine = this_machine()
    assert machine.cores >= 1
    assert machine.memory > 2**20
    assert f"{machine.cores} cores" in machine.summary


def test_containers_and_ulimit_cut_the_memory(tmp_path):
    whole = usable_memory(tmp_path)
    assert whole > 2**20
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory.max").write_text("4096\n")  # of control groups 2
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("4096\n")  # and 1
    assert usable_memory(tmp_path) == 4096
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text(f"{2**63 - 4096}\n")
    assert usable_memory(tmp_path) == whole
    command = f"from runners.machine import usable_memory as u; print(u() == {2**33})"
    limited = ["prlimit", f"--data={2**33}", sys.executable, "-c", command]
    done = subprocess.run(limited, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(whole >= 2**33)
