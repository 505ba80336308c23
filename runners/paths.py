"""Where a checkout keeps what it makes: environments, upstream scripts, data, runs, reports."""

from pathlib import Path

import runners

ROOT = Path(next(iter(runners.__path__))).parent
ENVIRONMENTS = ROOT / ".envs"
UPSTREAM = ROOT / ".upstream"
DATA = ROOT / "data"
RUNS = ROOT / "results" / "runs"
REPORTS = ROOT / "reports" / "runs"
GALLERY = ROOT / "reports" / "gallery"
