"""Starts one node's part of a job with MXNet's parameter servers.

Each node has a server and a worker per device; node 0 also has the scheduler, which listens on the
master's port and tells all of them where the others are. One worker alone needs neither.

    python start.py --nodes 1 --node-rank 0 --devices 2 train.py --batch-size 8
"""

import argparse
import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

# A worker whose peer has gone waits for it; this long after SIGTERM comes SIGKILL.
PATIENCE_SECONDS = 3.0
POLL_SECONDS = 0.05
LIBC = ctypes.CDLL(None)
FOLDER = Path(__file__).resolve().parent
# What an update on a server needs: its optimiser is ours.
IMPORTABLE = os.pathsep.join([str(FOLDER), str(FOLDER.parent)])


def parse_arguments():
    """Return the node's place in the job, and the script with its arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--node-rank", type=int, default=0)
    parser.add_argument("--devices", type=int, default=1, help="workers of this node")
    parser.add_argument("--master-address", default="127.0.0.1", help="address of node 0")
    parser.add_argument("--master-port", type=int, default=9091, help="the scheduler's")
    parser.add_argument("script", nargs=argparse.REMAINDER)
    return parser.parse_args()


def own_address(args):
    """Return the address of this machine that others of the job can reach."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((args.master_address, args.master_port))  # sends nothing
        return probe.getsockname()[0]


def die_with_launcher():
    """End this process also where the launcher is killed and cannot do so."""
    LIBC.prctl(1, signal.SIGKILL)  # 1: PR_SET_PDEATHSIG


def start(args, role, command, **variables):
    """Start a process of the job; its output is ours."""
    workers = args.nodes * args.devices
    environment = dict(
        os.environ,
        DMLC_ROLE=role,
        DMLC_PS_ROOT_URI=args.master_address,
        DMLC_PS_ROOT_PORT=str(args.master_port),
        DMLC_NODE_HOST=own_address(args),
        DMLC_NUM_WORKER=str(workers),
        DMLC_NUM_SERVER=str(args.nodes),
        **variables,
    )
    environment.pop("PORT", None)  # MXNet would have every process listen on it
    if workers == 1:
        environment.pop("DMLC_ROLE")
    return subprocess.Popen(
        [sys.executable, *command],
        env=environment,
        preexec_fn=die_with_launcher,  # noqa: PLW1509 - there are no threads here
    )


def start_servers(args):
    """Start what serves the workers of this node: importing mxnet is all that these do."""
    roles = ["scheduler", "server"] if args.node_rank == 0 else ["server"]
    if args.nodes * args.devices == 1:
        roles = []
    return [start(args, role, ["-c", "import mxnet"], PYTHONPATH=IMPORTABLE) for role in roles]


def start_worker(args, local_rank):
    """Start one worker."""
    rank = args.node_rank * args.devices + local_rank
    place = {"KVSTORE_RANK": str(rank), "KVSTORE_SIZE": str(args.nodes * args.devices)}
    return start(args, "worker", args.script, **place)


def wait(servers, workers):
    """Wait until all workers have ended well, or anything has not; return 0 or 1."""
    everyone = [*servers, *workers]
    while any(worker.poll() is None for worker in workers):
        if any(process.poll() for process in everyone):
            break
        time.sleep(POLL_SECONDS)
    for number, process in enumerate(everyone):
        code = process.poll()
        if code:
            name = "a server" if number < len(servers) else "worker %d" % (number - len(servers))
            how = "exited with %d" % code
            if code < 0:
                how = "was ended by Signal %d (%s)" % (-code, signal.Signals(-code).name)
            print("start.py: %s of this node %s" % (name, how), file=sys.stderr)
    return 1 if any(process.poll() for process in everyone) else 0


def end(processes, number):
    """Send a signal to what is left, and kill what outlives it."""
    for process in processes:
        process.send_signal(number)
    deadline = time.monotonic() + PATIENCE_SECONDS
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, deadline - time.monotonic()))
        process.kill()
        process.wait()


def main():
    """Start servers and workers, wait for the workers, and leave nothing behind."""
    args = parse_arguments()
    heard = []

    def stop(number, frame):
        del frame
        heard.append(number)
        for other in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(other, signal.SIG_IGN)
        sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    servers, workers = [], []
    try:
        servers += start_servers(args)
        for local_rank in range(args.devices):
            workers += [start_worker(args, local_rank)]
        return wait(servers, workers)
    finally:
        end([*workers, *servers], heard[0] if heard else signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
