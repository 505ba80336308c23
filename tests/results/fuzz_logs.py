"""Mutates logs until so many lines were read: python tests/results/fuzz_logs.py [LINES] [SEED]."""

import random
import sys
import time

from test_log_hostile import LOGS, mutated, sane


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    source, lines, logs, slowest = random.Random(seed), 0, 0, 0.0
    statuses: dict[str, int] = {}
    while lines < wanted:
        log = mutated(LOGS[source.choice(sorted(LOGS))], source)
        begin = time.perf_counter()
        try:
            status = sane(log).status
        except Exception:
            sys.stdout.buffer.write(log)
            raise
        slowest = max(slowest, time.perf_counter() - begin)
        statuses[status] = statuses.get(status, 0) + 1
        lines, logs = lines + log.count(b"\n") + 1, logs + 1
    print(f"{lines:,} lines of {logs:,} logs, the slowest {slowest:.2f} s: {statuses}")


if __name__ == "__main__":
    main()
