"""Runs of a real implementation in its built environment, as a user or the driver starts them."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
from rich.console import Console

from results.formats import mllog
from results.verdict import judge
from runners import paths
from runners.bench import Place, run_one
from runners.environment import ensure_environment, python_of
from runners.input_data import SAMPLE, ensure_sample
from runners.machine import this_machine
from runners.manifest import load_manifest
from runners.matrix import make_plan
from runners.request import Request

ROOT = Path(__file__).parents[2]
FAULTS = Path(__file__).parent / "faults"


def environment_of(implementation):
    """Build what an implementation's runs need, and return the interpreter of its environment."""
    ensure_sample(SAMPLE, Console(stderr=True))
    return python_of(ensure_environment(load_manifest(implementation), paths.ENVIRONMENTS))


class Quiet:
    """A progress display that shows nothing."""

    def phase(self, name):
        pass


def bench(implementation, tmp_path, *options):
    command = [sys.executable, "-m", "runners.cli", "bench", implementation, *options]
    folders = [f"--results={tmp_path / 'runs'}", f"--reports={tmp_path / 'reports'}"]
    return subprocess.run(
        [*command, *folders], cwd=ROOT, capture_output=True, text=True, check=False
    )


def the_run(tmp_path):
    (record,) = (tmp_path / "runs").glob("*/record.json")
    return record.parent


def living(token):
    """Return the pids whose environment holds the token, by reading /proc ourselves."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if token.encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def plan_case(implementation, **request):
    fields = {"image_size": 64, "batch_size": 4, "warmup": 1, "steps": 3, "devices": 2}
    fields = {"cases": ["1n2g"], **fields, **request}
    asked = Request(framework=implementation, device="cpu", **fields)
    manifest = load_manifest(implementation)
    return make_plan(asked, manifest.about, this_machine(), None).cases[0]


def run_script(implementation, python, script, folder, case, **place):
    """Run one repeat with another script in place of train.py, as the driver would."""
    manifest = load_manifest(implementation)
    if script:
        about = msgspec.structs.replace(manifest.about, script=str(FAULTS / script))
        manifest = replace(manifest, about=about)
    where = {
        "data": str(SAMPLE / "train"),
        "hosts": ["here"] * case.nodes,
        "gpus": [],
        "seed": 0,
        "timeout": 300.0,
    }
    place = Place(manifest=manifest, python=python, **{**where, **place})
    record = run_one(case, 1, place, folder, Quiet())
    logs = [mllog.read(path.read_bytes()) for path in sorted(folder.glob("rank*.log"))]
    return judge(record, logs), record
