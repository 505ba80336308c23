"""Cases, logs and runs made from known step times, so that the truth is known."""

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import settings

from results.case import Case
from results.record import RepeatRecord, RunRecord, write_record
from results.verdict import PARAMETERS

# A loaded machine is slow, and that is no fault.
settings.register_profile("dlscale", deadline=None)
settings.load_profile("dlscale")

CASE = Case(
    implementation="pytorch",
    nodes=1,
    devices=1,
    device="cpu",
    batch_size=8,
    precision="fp32",
    image_size=128,
    data="jpeg",
    loader="torchvision",
    workers=1,
    threads=1,
    layout="channels_last",
    strategy="ddp",
    warmup=3,
    steps=10,
)


@pytest.fixture
def case():
    return CASE


def case_like(**changes):
    return msgspec.structs.replace(CASE, **changes)


def log_line(key, value, **metadata):
    line = {
        "namespace": "",
        "time_ms": 1_796_000_000_000,
        "event_type": "POINT_IN_TIME",
        "key": key,
        "value": value,
        "metadata": {**metadata, "file": "train.py", "lineno": 1},
    }
    return f":::MLLOG {json.dumps(line)}\n"


def rank_log(case, seconds, *, rank=0, losses=None, checksum="c0ffee", status="success", **other):
    """Return a rank's log; `seconds` are the durations of its steps, warm-up included."""
    text = log_line("rank", rank) + log_line("world_size", case.world_size)
    text += log_line("framework_version", "2.14.1")
    text += log_line("global_batch_size", other.get("global_batch", case.global_batch))
    text += log_line("parameter_count", other.get("parameters", PARAMETERS))
    end = 0.0
    for step, duration in enumerate(seconds, start=1):
        end += duration
        loss = losses[step - 1] if losses else 6.9
        text += log_line("step", end, step=step, loss=loss, data_seconds=duration / 10)
    if checksum:
        text += log_line("weights_checksum", checksum)
    if status:
        text += log_line("run_stop", None, status=status, reason=other.get("reason", ""))
    return text


def repeat_record(case, repeat, **changes):
    record = RepeatRecord(
        case=case,
        repeat=repeat,
        commands=[],
        started="2026-01-01T00:00:00+00:00",
        ended="2026-01-01T00:00:10+00:00",
        seconds=10.0,
        exit_codes=[0] * case.nodes,
        outcome="completed",
    )
    return msgspec.structs.replace(record, **changes)


class RunMaker:
    """Writes a run as `dlscale bench` leaves it."""

    def __init__(self, folder, cases, repeats, **record):
        self.folder = folder
        folder.mkdir(parents=True)
        machine = {
            "host": "host1",
            "processor": "Some CPU",
            "cores": 2,
            "memory": 2**34,
            "gpus": [],
        }
        framework = {
            "name": "pytorch",
            "title": "PyTorch",
            "version": "2.14.1",
            "published": ["pytorch", "ngc-pytorch"],
        }
        fields = {
            "id": folder.name,
            "created": "2026-01-01T00:00:00+00:00",
            "request": {"framework": "pytorch"},
            "repeats": repeats,
            "cases": cases,
            "notes": [],
            "environment": {"machine": machine, "frameworks": {"pytorch": framework}},
            **record,
        }
        write_record(folder, RunRecord(**fields))

    def add(self, case, repeat, step_seconds, **record):
        """Add a repeat whose ranks all take `step_seconds` for each step."""
        home = self.repeat_folder(case, repeat)
        home.mkdir(parents=True)
        for rank in range(case.world_size):
            durations = [step_seconds] * (case.warmup + case.steps)
            (home / f"rank{rank}.log").write_text(rank_log(case, durations, rank=rank))
        write_record(home, repeat_record(case, repeat, **record))
        return home

    def repeat_folder(self, case, repeat) -> Path:
        return self.folder / f"{case.folder}_{repeat}"


@pytest.fixture
def make_run(tmp_path):
    def make(cases, repeats=1, **record):
        return RunMaker(tmp_path / "runs" / "20260101-000000-pytorch", cases, repeats, **record)

    return make
