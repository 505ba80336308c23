"""Times `dlscale parse` on 10,000 small logs and on one of 1 GB, beside a plain extractor.

    python scripts/benchmark_parse.py [FOLDER]

The plain extractor reads line by line, with one regular expression and the same window; both are
timed in turn, as whole processes, so that a drift of the machine falls on both.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

SMALL_LOGS, SMALL_STEPS = 10_000, 120
LARGE_BYTES = 1_000_000_000
EPOCH = 5005
ROUNDS = 3
PLAIN = r"""
import re, sys
from pathlib import Path
pattern = re.compile(
    r"Epoch: \[(\d+)\]\[ *(\d+)/\d+\]\tTime +(\d+\.\d+) \( *[\d.]+\).*\tLoss +(\S+) \("
)
for path in sorted(Path(sys.argv[1]).rglob("*.log")):
    steps = []
    with path.open() as file:
        for line in file:
            match = pattern.search(line)
            if match:
                steps.append((int(match[1]), int(match[2]), float(match[3]), float(match[4])))
    window = sum(seconds for _, _, seconds, _ in steps[20:120])
    print(path, len(steps), 128 * 100 / window if len(steps) >= 120 else None)
"""


def main() -> int:
    """Write the logs, time both, and print the ratios."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(scratch)
        small, large = folder / "small", folder / "large"
        _write_small(small)
        _write_large(large)
        commands = {
            "dlscale parse": lambda where: [sys.executable, "-m", "runners.cli", "parse", where],
            "line by line": lambda where: [sys.executable, "-c", PLAIN, where],
        }
        for name, where in (("10,000 logs of 120 steps", small), ("one log of 1 GB", large)):
            _compare(name, where, commands)
    return 0


def _compare(name: str, where: Path, commands: dict[str, Callable[[str], list[str]]]) -> None:
    lines = sum(_lines(path) for path in where.rglob("*.log"))
    seconds: dict[str, list[float]] = {one: [] for one in commands}
    memory: dict[str, float] = {}
    for _ in range(ROUNDS):
        for one, command in commands.items():
            begin = time.perf_counter()
            process = subprocess.Popen(command(str(where)), stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                raise SystemExit(f"{one} exited with {process.returncode}")
            seconds[one].append(time.perf_counter() - begin)
            memory[one] = usage.ru_maxrss / 1024
    ours, plain = (sorted(values)[ROUNDS // 2] for values in seconds.values())
    print(
        f"{name}, {lines:,} lines: dlscale parse {ours:.1f} s, line by line {plain:.1f} s: "
        f"{plain / ours:.1f} times the lines per second; "
        f"in memory {memory['dlscale parse']:.0f} and {memory['line by line']:.0f} MiB"
    )


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def _line(epoch: int, index: int, seconds: float, mean: float) -> str:
    return (
        f"Epoch: [{epoch}][{index:4d}/{EPOCH}]\tTime {seconds:6.3f} ({mean:6.3f})"
        f"\tData {0.011:6.3f} ({0.013:6.3f})\tLoss {6.9:.4e} ({6.91:.4e})"
        f"\tAcc@1 {0.39:6.2f} ({0.12:6.2f})\tAcc@5 {1.17:6.2f} ({0.55:6.2f})\n"
    )


def _write_small(folder: Path) -> None:
    source = random.Random(0)  # noqa: S311
    for number in range(SMALL_LOGS):
        label = ("1n1g", "1n8g", "2n8g", "4n8g")[number % 4]
        (folder / label).mkdir(parents=True, exist_ok=True)
        lines = [_line(0, k, 0.35 + 0.02 * source.random(), 0.36) for k in range(SMALL_STEPS)]
        (folder / label / f"r50_b128_fp32_{number}.log").write_text("".join(lines))


def _write_large(folder: Path) -> None:
    source = random.Random(1)  # noqa: S311
    (folder / "1n1g").mkdir(parents=True, exist_ok=True)
    written, step = 0, 0
    with (folder / "1n1g" / "r50_b128_fp32_1.log").open("w") as file:
        while written < LARGE_BYTES:
            epoch, index = divmod(step, EPOCH)
            written += file.write(_line(epoch, index, 0.35 + 0.02 * source.random(), 0.36))
            step += 1


if __name__ == "__main__":
    sys.exit(main())
