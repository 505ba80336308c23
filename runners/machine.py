"""What this machine is: its processors, memory, accelerators and software."""

import os
import platform
import resource
import shutil
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

import msgspec
import psutil


class Gpu(msgspec.Struct, frozen=True):
    """One accelerator as the driver's tool names it; `memory` in MiB.

    `id` is what CUDA_VISIBLE_DEVICES calls it.
    """

    name: str
    memory: int
    driver: str
    id: str


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """One host. `cores` and `memory`, in bytes, are what this process may use of it."""

    host: str
    processor: str
    cores: int
    memory: int
    gpus: list[Gpu]
    system: str
    kernel: str

    @property
    def summary(self) -> str:
        """The machine in a few words."""
        gpus = [gpu.name for gpu in self.gpus]
        parts = [f"{gpus.count(name)} x {name}" for name in sorted(set(gpus))]
        parts.append(f"{self.processor}, {self.cores} cores, {self.memory / 2**30:.0f} GiB")
        return ", ".join(parts)


def this_machine() -> Machine:
    """Describe the machine that this runs on."""
    return Machine(
        host=socket.gethostname(),
        processor=_processor(),
        cores=usable_cores(),
        memory=usable_memory(),
        gpus=_gpus(),
        system=_system(),
        kernel=platform.release(),
    )


def usable_cores(cgroup: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Return how many cores this process may use: its affinity, cut by a container's quota."""
    cores = len(os.sched_getaffinity(0))
    try:
        quota, period = cgroup.read_text().split()
    except (OSError, ValueError):
        return cores
    return cores if quota == "max" else max(1, min(cores, int(quota) // int(period)))


def usable_memory(cgroups: Path = Path("/sys/fs/cgroup")) -> int:
    """Return how many bytes this process may use: the machine's, cut by a container and ulimit.

    Control groups of both versions count, with those above this process's own.
    """
    limits = [psutil.virtual_memory().total]
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, own = line.split(":", 2)
        root, name = cgroups, "memory.max"
        if controllers:
            root, name = cgroups / "memory", "memory.limit_in_bytes"
        if controllers and "memory" not in controllers.split(","):
            continue
        inside = Path(own.lstrip("/"))
        for folder in (inside, *inside.parents):
            with suppress(OSError, ValueError):  # none, out of sight, or "max"
                limits.append(int((root / folder / name).read_text()))
    return min([*limits, *_ulimits()])


def memory_is_limited() -> bool:
    """Whether ulimit lets allocations fail, where else the kernel would end a process."""
    return bool(_ulimits())


def _ulimits() -> list[int]:
    soft = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return [limit for limit in soft if limit != resource.RLIM_INFINITY]


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return " ".join(line.partition(":")[2].split())
    return platform.machine()


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def _gpus() -> list[Gpu]:
    tool = shutil.which("nvidia-smi")
    if not tool:
        return []
    query = "--query-gpu=name,memory.total,driver_version,index,uuid"
    try:
        asked = subprocess.run(
            [tool, query, "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return parse_gpus(asked.stdout, os.environ.get("CUDA_VISIBLE_DEVICES"))


def parse_gpus(listing: str, visible: str | None) -> list[Gpu]:
    """Return the GPUs of nvidia-smi's listing, those that CUDA_VISIBLE_DEVICES leaves.

    A line is `name, memory in MiB, driver, index, UUID`; lines of another form are passed over.
    """
    rows = [[cell.strip() for cell in line.split(",")] for line in listing.splitlines()]
    rows = [row for row in rows if len(row) == 5 and row[3].isdigit()]
    if visible is None:
        return [
            Gpu(name, _mebibytes(memory), driver, index) for name, memory, driver, index, _ in rows
        ]
    found = []
    for one in (word.strip() for word in visible.split(",")):
        match = next(
            (row for row in rows if one and (one == row[3] or row[4].startswith(one))), None
        )
        if match is None:  # CUDA too leaves out what stands behind an id that is none
            break
        found.append(Gpu(match[0], _mebibytes(match[1]), match[2], one))
    return found


def _mebibytes(cell: str) -> int:
    """Return a memory size, 0 where the driver's tool does not know it, as for shared memory."""
    return int(cell) if cell.isdigit() else 0
