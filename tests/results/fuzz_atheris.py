"""Fuzzes the log reader with coverage as its guide: needs `pip install atheris`.

python tests/results/fuzz_atheris.py [libFuzzer's options, such as -max_total_time=60]
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["results.logs", "results.formats"]):
    from test_log_hostile import LOGS, sane


def main() -> None:
    with tempfile.TemporaryDirectory() as corpus:
        for form, log in LOGS.items():
            Path(corpus, form).write_bytes(log[:4000])
        options = ["-max_len=8000", "-timeout=20", *sys.argv[1:], corpus]
        atheris.Setup([sys.argv[0], *options], sane)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
