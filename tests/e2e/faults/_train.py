"""Runs the real training script after something was done to it."""

import runpy
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "pytorch" / "train.py"


def run():
    sys.path.insert(0, str(SCRIPT.parent))
    sys.path.insert(0, str(SCRIPT.parents[1]))
    sys.argv[0] = str(SCRIPT)
    runpy.run_path(str(SCRIPT), run_name="__main__")
