"""Starts the workers of one node, one process per device, each with its TF_CONFIG.

TF_CONFIG names the address of every worker of the job. Each node chooses free ports for its own
workers and tells them to node 0, which listens on the master's port and answers with all of them.

    python start.py --nodes 1 --node-rank 0 --devices 2 train.py --batch-size 8
"""

import argparse
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time

MEETING_SECONDS = 300.0  # how long nodes wait for each other
# A worker whose peer has gone ignores SIGTERM; this long after it comes SIGKILL.
PATIENCE_SECONDS = 3.0
POLL_SECONDS = 0.05


def parse_arguments():
    """Return the node's place in the job, and the script with its arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--node-rank", type=int, default=0)
    parser.add_argument("--devices", type=int, default=1, help="workers of this node")
    parser.add_argument("--master-address", default="127.0.0.1", help="address of node 0")
    parser.add_argument("--master-port", type=int, default=0, help="where the nodes meet")
    parser.add_argument("script", nargs=argparse.REMAINDER)
    return parser.parse_args()


def reserve_port():
    """Return a socket that keeps a free port for a worker, which may listen on it all the same."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    held.bind(("", 0))
    return held


def gather(args, ports):
    """As node 0: hear each node's ports, and tell all nodes every worker's address."""
    found = {0: ["%s:%d" % (args.master_address, port) for port in ports]}
    if args.nodes == 1:
        return found[0]
    nodes = []
    with socket.create_server(("", args.master_port)) as server:
        server.settimeout(MEETING_SECONDS)
        while len(found) < args.nodes:
            node, (address, _) = server.accept()
            node.settimeout(MEETING_SECONDS)
            try:
                said = json.loads(node.makefile().readline())
                found[said["node"]] = ["%s:%d" % (address, port) for port in said["ports"]]
            except (ValueError, LookupError, TypeError, OSError):  # no node of ours, such as a scan
                node.close()
                continue
            nodes.append(node)
    workers = [worker for node in sorted(found) for worker in found[node]]
    for node in nodes:
        node.sendall(json.dumps(workers).encode() + b"\n")
        node.close()
    return workers


def report(args, ports):
    """As another node: tell node 0 our ports, and return every worker's address."""
    deadline = time.monotonic() + MEETING_SECONDS
    while True:
        try:
            master = socket.create_connection((args.master_address, args.master_port), 10)
            break
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_SECONDS)  # node 0 may start later
    with master:
        master.settimeout(MEETING_SECONDS)
        said = {"node": args.node_rank, "ports": ports}
        master.sendall(json.dumps(said).encode() + b"\n")
        return json.loads(master.makefile().readline())


def start_worker(args, workers, local_rank):
    """Start one worker; its output is ours."""
    task = {"type": "worker", "index": args.node_rank * args.devices + local_rank}
    config = {"cluster": {"worker": workers}, "task": task}
    environment = dict(
        os.environ,
        TF_CONFIG=json.dumps(config),
        LOCAL_RANK=str(local_rank),
        TF_GRPC_REUSE_PORT="1",  # the port is one that we hold
        # gRPC would look for the workers behind the user's proxy.
        no_grpc_proxy=",".join(sorted({worker.rpartition(":")[0] for worker in workers})),
    )
    return subprocess.Popen([sys.executable, *args.script], env=environment)


def wait(workers):
    """Wait until all have ended well, or one has not; return 0 or 1."""
    while any(worker.poll() is None for worker in workers):
        if any(worker.poll() for worker in workers):
            break
        time.sleep(POLL_SECONDS)
    for local_rank, worker in enumerate(workers):
        code = worker.poll()
        if code:
            how = "exited with %d" % code
            if code < 0:
                how = "was ended by Signal %d (%s)" % (-code, signal.Signals(-code).name)
            print("start.py: worker %d of this node %s" % (local_rank, how), file=sys.stderr)
    return 1 if any(worker.poll() for worker in workers) else 0


def end(workers, number):
    """Send a signal to the workers that are left, and kill those that outlive it."""
    for worker in workers:
        worker.send_signal(number)
    deadline = time.monotonic() + PATIENCE_SECONDS
    for worker in workers:
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.wait(max(0.0, deadline - time.monotonic()))
        worker.kill()
        worker.wait()


def main():
    """Start the workers, wait for them, and leave none behind."""
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
    held = [reserve_port() for _ in range(args.devices)]
    ports = [one.getsockname()[1] for one in held]
    running = []
    try:
        addresses = report(args, ports) if args.node_rank else gather(args, ports)
        for local_rank in range(args.devices):
            running += [start_worker(args, addresses, local_rank)]
        return wait(running)
    finally:
        end(running, heard[0] if heard else signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
