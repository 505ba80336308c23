"""Run MindSpore's launcher, msrun, on one node; it starts the ranks and, on the first, a scheduler.

    python start.py MSRUN-OPTIONS --log_dir=FOLDER train.py ...

What msrun lacks: it starts the `python` of PATH, whichever that is; of signals it ends its ranks
on SIGINT alone, and calls that success; and once a rank has failed, it waits for its scheduler,
which is ended here. What ranks say before they open their own logs is printed once one has failed.
"""

import os
import signal
import sys
from pathlib import Path


def say_what_ranks_said(folder):
    """Print the logs of this node's ranks, as msrun keeps them."""
    for file in sorted(folder.glob("worker_*.log")):
        print(file.read_text(errors="replace"), flush=True)


def end(number, _frame):
    """End as if by an error; ranks and scheduler end with this process (train.py)."""
    sys.exit(128 + number)


def main():
    """Return msrun's exit code, which is not 0 where a rank failed or msrun was told to end."""
    folder = next(a.partition("=")[2] for a in sys.argv if a.startswith("--log_dir="))
    bin_folder = str(Path(sys.executable).parent)
    os.environ["PATH"] = bin_folder + os.pathsep + os.environ.get("PATH", os.defpath)

    from mindspore.parallel.cluster import run
    from mindspore.parallel.cluster.process_entity import _ProcessManager

    kill_ranks = _ProcessManager.kill_worker_processes

    def kill_ranks_and_scheduler(manager):
        for local, process in manager.proc_rank_map.items():
            if (process.poll() or 0) < 0:
                died_of = signal.Signals(-process.returncode)
                print("local rank %d had Signal %d (%s)" % (local, died_of, died_of.name))
        kill_ranks(manager)
        if manager.msn_process:
            manager.msn_process.kill()

    _ProcessManager.kill_worker_processes = kill_ranks_and_scheduler
    signal.signal(signal.SIGTERM, end)
    try:
        run.main()
    except SystemExit as ended:
        return ended.code or 128 + signal.SIGINT  # msrun's own answer to SIGINT is 0
    except RuntimeError as error:
        say_what_ranks_said(Path(folder))
        print(error, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
