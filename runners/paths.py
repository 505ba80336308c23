"""Where a checkout keeps what it makes: environments, data, runs, reports."""

from pathlib import Path

import runners

ROOT = Path(next(iter(runners.__path__))).parent
ENVIRONMENTS = ROOT / ".envs"
DATA = ROOT / "data"
RUNS = ROOT / "results" / "runs"
REPORTS = ROOT / "reports" / "runs"
GALLERY = ROOT / "reports" / "gallery"
