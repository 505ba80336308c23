"""The real command `dlscale bench`, run on the toy implementation (tests/toy) by the tests."""

import io
import os
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from results.record import read_repeat, read_run
from runners.cli import main
from runners.machine import usable_cores

ROOT = Path(__file__).resolve().parents[2]
TOY = ROOT / "tests" / "toy"
SIZES = ("--data=synthetic", "--warmup=2", "--steps=5", "--repeats=2")
PATIENCE = 120.0  # seconds, for what takes one or two on a machine with nothing else to do

needs_two_cores = pytest.mark.skipif(
    usable_cores() < 2, reason="a CPU device needs a core of its own, and this machine has one core"
)


class Bench:
    """`dlscale` with its results and reports in one folder; `faults` are those of tests/toy."""

    def __init__(self, home, *options, faults="", sizes=SIZES):
        self.home = home
        self.results = home / "results"
        self.reports = home / "reports"
        self.faults = faults
        self.places = (f"--results={self.results}", f"--reports={self.reports}")
        self.options = (*sizes, *self.places, *options)

    def start(self, *words):
        """Start `dlscale` with these words."""
        plain = {name: text for name, text in os.environ.items() if name != "FORCE_COLOR"}
        return subprocess.Popen(
            [sys.executable, "-m", "runners.cli", *map(str, words)],
            env={**plain, "COLUMNS": "200", "NO_COLOR": "1", "TOY_FAULTS": self.faults},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def start_run(self):
        return self.start("bench", TOY, *self.options)

    def run(self):
        return finished(self.start_run())

    def resume(self, *options, faults=""):
        """Go on with the latest run, now with these faults."""
        self.faults = faults
        return finished(self.start("bench", "--resume", *self.places, *options))

    def here(self, name, *options):
        """Run a command that starts nothing, in this process: that is quicker."""
        places = self.places if name == "bench" else self.places[:1]
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err), pytest.MonkeyPatch.context() as patch:
            patch.setenv("COLUMNS", "200")
            patch.setenv("NO_COLOR", "1")
            patch.delenv("FORCE_COLOR", raising=False)
            code = main([name, *places, *options])
        return subprocess.CompletedProcess(name, code, out.getvalue(), err.getvalue())

    @property
    def folder(self):
        """The folder of the one run."""
        (record,) = self.results.glob("*/record.json")
        return record.parent

    @property
    def record(self):
        return read_run(self.folder)

    def place(self, label, repeat):
        """Where a repeat of a case lies."""
        case = next(case for case in self.record.cases if case.label == label)
        return self.folder / f"{case.folder}_{repeat}"

    def repeat(self, label, repeat):
        return read_repeat(self.place(label, repeat))

    def await_log(self, name, text):
        """Wait until a log below the run's folder, named by a pattern, holds a text."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if any(text in path.read_text() for path in self.results.glob(f"*/*/{name}")):
                return
            time.sleep(0.02)
        raise TimeoutError(f"{text!r} does not come in {name}")


def finished(process):
    """Wait for a process; returns it with its output, and ends it if it does not end."""
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def snapshot(folder):
    """Return every file below a folder with its content and the time of its last change."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in files
    }


def processes_with(token):
    """Return the ids of the living processes that carry a token, as the kernel shows them."""
    mark = f"DLSCALE_TOKEN={token}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if mark in variables:
            found.append(int(path.parent.name))
    return found
