"""Starts one process per device of a node, each in a session of its own, as torchrun does.

When one fails, the others are ended, and the exit code is 1.
"""

import argparse
import os
import subprocess
import sys
import time

PATIENCE = 1.0  # seconds between asking a rank to end and killing it


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--node-rank", type=int, required=True)
    parser.add_argument("--devices", type=int, required=True)
    parser.add_argument("script", nargs=argparse.REMAINDER)
    return parser.parse_args()


def start_rank(args, local_rank):
    places = {
        "RANK": args.node_rank * args.devices + local_rank,
        "LOCAL_RANK": local_rank,
        "WORLD_SIZE": args.nodes * args.devices,
    }
    environment = {**os.environ, **{name: str(value) for name, value in places.items()}}
    command = [sys.executable, *args.script]
    return subprocess.Popen(command, env=environment, start_new_session=True)


def end(ranks):
    for rank in ranks:
        rank.terminate()
    for rank in ranks:
        try:
            rank.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            rank.kill()


def main():
    args = parse_arguments()
    ranks = [start_rank(args, local_rank) for local_rank in range(args.devices)]
    while any(rank.poll() is None for rank in ranks):
        if any(rank.poll() for rank in ranks):
            break
        time.sleep(0.01)
    failed = [place for place, rank in enumerate(ranks) if rank.poll()]
    if failed:
        print(f"toy launcher: local rank {failed[0]} has exitcode: {ranks[failed[0]].poll()}")
        end(ranks)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
