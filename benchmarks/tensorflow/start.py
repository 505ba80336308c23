"""Starts the processes of one node, each with its TF_CONFIG: a worker for each device.

With --parameter-servers each node also has a server, which holds a part of the weights, and node 0
the coordinator of all workers, whose end is that of the job. One worker alone needs neither.

TF_CONFIG names the address of every process of the job. Each node chooses free ports for its own
and tells them to node 0, which listens on the master's port and answers with all of them.

    python start.py --nodes 1 --node-rank 0 --devices 2 train.py --batch-size 8
"""

import argparse
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time

MEETING_SECONDS = 300.0  # how long nodes wait for each other
# A worker whose peer has gone ignores SIGTERM; this long after it comes SIGKILL.
PATIENCE_SECONDS = 3.0
POLL_SECONDS = 0.05
OVER = b"over"  # what node 0 says to the others at the end


def parse_arguments():
    """Return the node's place in the job, and the script with its arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--node-rank", type=int, default=0)
    parser.add_argument("--devices", type=int, default=1, help="workers of this node")
    parser.add_argument("--master-address", default="127.0.0.1", help="address of node 0")
    parser.add_argument("--master-port", type=int, default=0, help="where the nodes meet")
    parser.add_argument("--parameter-servers", action="store_true")
    parser.add_argument("script", nargs=argparse.REMAINDER)
    return parser.parse_args()


def tasks_here(args):
    """Return how many processes of each kind this node has."""
    served = args.parameter_servers and args.nodes * args.devices > 1
    tasks = {"worker": args.devices}
    if served:
        tasks["ps"] = 1
    if served and args.node_rank == 0:
        tasks["chief"] = 1
    return tasks


def reserve_port():
    """Return a socket that keeps a free port for a process, which may listen on it all the same."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    held.bind(("", 0))
    return held


def at(address, ports):
    """Return the addresses of a node's processes, from their ports."""
    return {task: ["%s:%d" % (address, port) for port in some] for task, some in ports.items()}


def gather(args, ports):
    """As node 0: hear each node's ports, and tell all nodes every process's address.

    Return these addresses, and connections to the other nodes.
    """
    found = {0: at(args.master_address, ports)}
    nodes = []
    if args.nodes > 1:
        with socket.create_server(("", args.master_port)) as server:
            server.settimeout(MEETING_SECONDS)
            while len(found) < args.nodes:
                node, (address, _) = server.accept()
                node.settimeout(MEETING_SECONDS)
                try:
                    said = json.loads(node.makefile().readline())
                    found[said["node"]] = at(address, said["ports"])
                except (ValueError, LookupError, TypeError, AttributeError, OSError):
                    node.close()  # no node of ours, such as a scan
                    continue
                nodes.append(node)
    cluster = {}
    for node in sorted(found):
        for task, addresses in found[node].items():
            cluster.setdefault(task, []).extend(addresses)
    for node in nodes:
        node.sendall(json.dumps(cluster).encode() + b"\n")
    return cluster, nodes


def report(args, ports):
    """As another node: tell node 0 our ports; return every process's address, and a connection."""
    deadline = time.monotonic() + MEETING_SECONDS
    while True:
        try:
            master = socket.create_connection((args.master_address, args.master_port), 10)
            break
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_SECONDS)  # node 0 may start later
    master.settimeout(MEETING_SECONDS)
    said = {"node": args.node_rank, "ports": ports}
    master.sendall(json.dumps(said).encode() + b"\n")
    return json.loads(master.makefile().readline()), [master]


def start(args, cluster, task, number):
    """Start process `number` of its kind on this node; its output is ours."""
    index = args.node_rank * tasks_here(args)[task] + number
    config = {"cluster": cluster, "task": {"type": task, "index": index}}
    everyone = [address for addresses in cluster.values() for address in addresses]
    environment = dict(
        os.environ,
        TF_CONFIG=json.dumps(config),
        LOCAL_RANK=str(number),
        TF_GRPC_REUSE_PORT="1",  # the port is one that we hold
        # gRPC would look for the others behind the user's proxy.
        no_grpc_proxy=",".join(sorted({address.rpartition(":")[0] for address in everyone})),
    )
    return subprocess.Popen([sys.executable, *args.script], env=environment)


def job_is_over(tasks, nodes):
    """Whether the job has ended well, as far as this node can know."""
    if "chief" in tasks:
        return tasks["chief"][0].poll() == 0
    if "ps" not in tasks:
        return all(worker.poll() == 0 for worker in tasks["worker"])
    readable, _, _ = select.select(nodes, [], [], 0)
    if readable and nodes[0].recv(len(OVER)) != OVER:
        raise SystemExit("start.py: node 0 has failed")
    return bool(readable)


def wait(tasks, nodes):
    """Wait until the job is over, or a process of this node has failed; return 0 or 1."""
    everyone = {(task, n): one for task, some in tasks.items() for n, one in enumerate(some)}
    while not job_is_over(tasks, nodes):
        if any(process.poll() for process in everyone.values()):
            break
        time.sleep(POLL_SECONDS)
    for (task, number), process in everyone.items():
        code = process.poll()
        if code:
            how = "exited with %d" % code
            if code < 0:
                how = "was ended by Signal %d (%s)" % (-code, signal.Signals(-code).name)
            print("start.py: %s %d of this node %s" % (task, number, how), file=sys.stderr)
    return 1 if any(process.poll() for process in everyone.values()) else 0


def end(processes, number):
    """Send a signal to the processes that are left, and kill those that outlive it."""
    for process in processes:
        process.send_signal(number)
    deadline = time.monotonic() + PATIENCE_SECONDS
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, deadline - time.monotonic()))
        process.kill()
        process.wait()


def main():
    """Start the processes, wait for them, and leave none behind."""
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
    held = {
        task: [reserve_port() for _ in range(count)] for task, count in tasks_here(args).items()
    }
    ports = {task: [one.getsockname()[1] for one in some] for task, some in held.items()}
    running = {task: [] for task in held}
    try:
        cluster, nodes = report(args, ports) if args.node_rank else gather(args, ports)
        for task, some in held.items():
            for number in range(len(some)):
                running[task].append(start(args, cluster, task, number))
        code = wait(running, nodes)
        for node in nodes if code == 0 and args.node_rank == 0 else ():
            with contextlib.suppress(OSError):  # it has gone already
                node.sendall(OVER)
        return code
    finally:
        processes = [process for some in running.values() for process in some]
        end(processes, heard[0] if heard else signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
