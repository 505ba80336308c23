"""Times our training script beside pytorch/examples' imagenet/main.py, in turn, on this machine.

    make compare-examples                    fetches its newest version by git
    make compare-examples EXAMPLES=DIR       takes the checkout in DIR
    make compare-examples BATCH=32           with another batch than 64

One process on all cores, the same environment, batch, image size and JPEGs; each figure is the
median of the rounds, each ratio the median of the rounds' own ratios, so that a drift of the
machine falls on all alike. Both logs are read by the same rule.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from results.errors import InputError
from results.logs.facts import Facts
from results.parse_logs import Wanted, parse_bytes
from runners import paths
from runners.environment import ensure_environment, python_of
from runners.input_data import SAMPLE, SAMPLE_IMAGES, ensure_sample
from runners.machine import this_machine
from runners.manifest import Manifest, load_manifest

REPOSITORY = "https://github.com/pytorch/examples"
# The largest power of two whose fp32 training fits 8 GiB: DLPerf's is 128, on GPUs of 16 GB.
BATCH, WARMUP = 64, 2
BASE = "pytorch/examples as it comes"
EXAMPLES = {BASE: [], "pytorch/examples, 1 loader worker": ["--workers=1"]}
OURS = {
    "ours: fp32": ["--precision=fp32", "--loader=torchvision"],
    "ours: amp (bf16) + DALI": ["--precision=amp", "--amp-dtype=bf16", "--loader=dali-cpu"],
}


def main() -> int:
    """Run the rounds and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=Path, help="a checkout of pytorch/examples")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch", type=int, default=BATCH, help="images per step")
    args = parser.parse_args()
    # main.py has no option for the number of steps: its one epoch of the sample is what there is.
    steps = SAMPLE_IMAGES // args.batch - WARMUP - 1
    if args.batch < 1 or steps < 1:
        raise InputError(
            f"A batch of {args.batch} leaves no step of {SAMPLE_IMAGES} images to time"
        )
    manifest = load_manifest("pytorch")
    console = Console(stderr=True)
    python = python_of(ensure_environment(manifest, paths.ENVIRONMENTS))
    ensure_sample(SAMPLE, console)
    with tempfile.TemporaryDirectory() as scratch:
        script = _script(args.examples, Path(scratch))
        rates: dict[str, list[float]] = {name: [] for name in (*EXAMPLES, *OURS)}
        for number in range(1, args.rounds + 1):
            for name, measured in rates.items():
                theirs = name in EXAMPLES
                arguments = (
                    _theirs(script, name, args.batch)
                    if theirs
                    else _ours(manifest, name, args.batch, steps)
                )
                environment = {} if theirs else _variables(manifest)
                log = _log_of([str(python), *arguments], environment, Path(scratch))
                measured.append(_rate(log, args.batch, steps))
                console.print(f"round {number}: {name}: {measured[-1]:.2f} images/s")
    _print(rates, args.batch)
    return 0


def _script(checkout: Path | None, scratch: Path) -> Path:
    if checkout is None:
        checkout = scratch / "examples"
        command = ["git", "clone", "--quiet", "--depth=1", REPOSITORY, str(checkout)]
        if subprocess.run(command, check=False).returncode:
            raise InputError(f"{REPOSITORY} cannot be fetched: name a checkout with EXAMPLES=DIR.")
    script = checkout.absolute() / "imagenet" / "main.py"
    if not script.is_file():
        raise InputError(f"{checkout} is no checkout of pytorch/examples: it has no {script.name}.")
    return script


def _theirs(script: Path, name: str, batch: int) -> list[str]:
    options = ["--arch=resnet50", "--epochs=1", f"--batch-size={batch}", "--print-freq=1"]
    return [str(script), *options, *EXAMPLES[name], str(SAMPLE)]


def _ours(manifest: Manifest, name: str, batch: int, steps: int) -> list[str]:
    sizes = [f"--batch-size={batch}", "--image-size=224", f"--warmup={WARMUP}", f"--steps={steps}"]
    threads = [f"--threads={this_machine().cores}", "--workers=1"]
    script = manifest.folder / manifest.about.script
    return [str(script), *sizes, *threads, f"--data={SAMPLE / 'train'}", *OURS[name]]


def _variables(manifest: Manifest) -> dict[str, str]:
    given = manifest.about.on["cpu"].environment
    return {key: text.format(threads=this_machine().cores) for key, text in given.items()}


def _log_of(command: list[str], environment: dict[str, str], scratch: Path) -> bytes:
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        cwd=scratch,  # main.py saves a checkpoint where it runs
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode:
        raise InputError(f"{command[1]} failed:\n{done.stdout.decode(errors='replace')[-2000:]}")
    return done.stdout


def _rate(log: bytes, batch: int, steps: int) -> float:
    alone = Facts(batch_size=batch, nodes=1, devices=1)
    result = parse_bytes(log, Wanted(WARMUP, steps, alone))
    if result.status != "ok" or result.throughput is None:
        raise InputError(f"A log cannot be used: {'; '.join(result.reasons)}.")
    return result.throughput


def _print(rates: dict[str, list[float]], batch: int) -> None:
    machine = this_machine()
    table = Table(title=f"batch {batch}, 224 px, JPEGs, one process on {machine.summary}")
    for heading in ("", "images/s (median)", "min to max", "times the first"):
        table.add_column(heading)
    base = rates[BASE]
    for name, measured in rates.items():
        ratio = statistics.median(m / b for m, b in zip(measured, base, strict=True))
        spread = f"{min(measured):.2f} to {max(measured):.2f}"
        table.add_row(name, f"{statistics.median(measured):.2f}", spread, f"{ratio:.2f}")
    Console().print(table)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except InputError as error:
        print(f"compare_with_examples: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
