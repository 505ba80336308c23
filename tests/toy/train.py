"""Pretends to train: logs what a training script logs, from steps that sleep for a few ms.

TOY_FAULTS makes it misbehave. It is a list such as `crash@1n2g_1/0,hang@*_2/*`: each fault stands
before the case, repeat and rank that it strikes, in which `*` is any. The faults are the functions
and the names in `main`. TOY_MEMORY is the number of images that fit into the memory of all ranks.
"""

import contextlib
import fnmatch
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from common import arguments
from common.step_log import StepLog

STEP_SECONDS = 0.002
LONG = 600.0  # seconds: longer than any test waits

args = arguments.parse_arguments(__doc__)
rank = int(os.environ["RANK"])
world_size = int(os.environ["WORLD_SIZE"])
log = StepLog(args.log_dir, rank, world_size)


def struck():
    """Return the faults of this rank in this repeat."""
    folder = Path(args.log_dir)
    here = f"{folder.parent.name}_{folder.name.rpartition('_')[2]}/{rank}"
    faults = [word.partition("@") for word in os.environ.get("TOY_FAULTS", "").split(",") if word]
    return {name for name, _, place in faults if fnmatch.fnmatchcase(here, place)}


def crash():
    raise RuntimeError("the toy broke")


def memory():
    print("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    sys.exit(1)


def hang():
    print("the toy hangs", flush=True)
    time.sleep(LONG)


def deaf():
    signal.signal(signal.SIGTERM, lambda *_: print("the toy was asked to end", flush=True))
    print("the toy is deaf", flush=True)
    time.sleep(LONG)


def orphan():
    subprocess.Popen(["/bin/sleep", str(LONG)], start_new_session=True)


def census():
    mark = f"DLSCALE_TOKEN={os.environ['DLSCALE_TOKEN']}".encode()
    found = 0
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            found += mark in path.read_bytes().split(b"\0")
    print(f"processes of this repeat: {found}")


def flood():
    while True:  # until the disk is full
        print("x" * 2**16, flush=True)


def main():
    """Log, misbehave where asked to, check; return the exit code."""
    faults = struck()
    log.phase("build")
    log.event("framework_version", "1.0")
    log.event("global_batch_size", args.batch_size * world_size)
    log.event("parameter_count", arguments.PARAMETERS)

    log.phase("warm-up")
    ends, losses, waits = [], [], []
    start = time.perf_counter()
    for step in range(1, args.total_steps + 1):
        time.sleep(STEP_SECONDS)
        losses.append(float("nan") if "nan" in faults and step > args.warmup else 6.9)
        waits.append(0.0)
        if step == args.warmup:
            log.phase("window")
            if args.batch_size * world_size > int(os.environ.get("TOY_MEMORY", "1000000")):
                memory()
            for fault in (orphan, census, crash, memory, flood, deaf, hang):
                if fault.__name__ in faults:
                    fault()
        ends.append(time.perf_counter() - start)

    log.phase("check")
    if "short" in faults:
        del ends[-1], losses[-1], waits[-1]
    log.steps(ends, losses, waits)
    log.event("weights_checksum", "0dd" if "weights" in faults else "c0ffee")
    log.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
