"""Runs the real training script after something was done to it."""

import runpy
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


def run(implementation="pytorch"):
    script = BENCHMARKS / implementation / "train.py"
    sys.path.insert(0, str(script.parent))
    sys.path.insert(0, str(BENCHMARKS))
    sys.argv[0] = str(script)
    runpy.run_path(str(script), run_name="__main__")
