"""The real thing: torchrun, gloo, JPEGs, the built environment. Minutes; not in `test-quick`."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from harness import (
    FAULTS,
    QUICK,
    ROOT,
    bench,
    damaged_tree,
    environment,
    living,
    losses_on_equal_data,
    plan_case,
    run_script,
    the_run,
)

from results.record import read_repeat
from results.store import read_stored_run
from results.summary import summarise
from runners.machine import this_machine

pytestmark = pytest.mark.slow


HOROVOD = {"strategy": ["horovod"]}
MPI = {**HOROVOD, "backend": ["mpi"], "data": "synthetic"}
with_mpi = pytest.mark.skipif(
    not shutil.which("mpicc"), reason="Horovod is built with MPI where Open MPI is (.ci/run)"
)


@pytest.fixture(scope="session")
def python():
    return environment("pytorch")


def test_a_ladder_of_nodes_and_devices(tmp_path, python):
    """Horovod's cases run in an environment of their own, between those of DDP."""
    assert python != environment("pytorch", "horovod")
    ladder = ["--nodes=2", "--devices=1", "--repeats=1", "--strategy=ddp,horovod"]
    done = bench("pytorch", tmp_path, *ladder, *QUICK)
    assert done.returncode == 0, done.stderr
    assert "emulated" in done.stdout
    run = summarise(read_stored_run(the_run(tmp_path)))
    assert [case.case.label for case in run.cases] == ["1n1g"] * 2 + ["2n1g"] * 2
    assert all(case.throughput.value > 0 for case in run.cases)
    assert all(case.speedup.value > 0 for case in run.cases[2:])
    facts = run.run.record.environment["environments"]
    assert facts.keys() == {"pytorch", "pytorch+horovod"}
    assert facts["pytorch+horovod"]["patches_sha256"].keys() == {"horovod"}
    again = subprocess.run(
        [sys.executable, "-m", "runners.cli", "parse", str(the_run(tmp_path)), "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    values = [case["throughput"]["value"] for case in json.loads(again.stdout)["cases"]]
    assert values == [case.throughput.value for case in run.cases]
    (report,) = (tmp_path / "reports").glob("*/report.md")
    assert "2n1g pytorch horovod (emulated)" in report.read_text()
    assert (report.parent / "speedup.svg").exists()


@pytest.mark.parametrize(
    "request_",
    [
        {"precision": "amp", "loader": "dali-cpu"},
        {"data": "synthetic", "layout": "channels_first"},
        pytest.param({**MPI, "precision": "amp"}, marks=with_mpi),
    ],
)
def test_two_ranks_with_each_kind_of_input(tmp_path, request_):
    case = plan_case("pytorch", **request_)
    python = environment("pytorch", case.strategy)
    result, record = run_script("pytorch", python, None, tmp_path / "repeat", case)
    assert result.reason == "", record.tail
    assert result.throughput > 0


@pytest.mark.parametrize(
    ("script", "strategy", "reason"),
    [
        ("no_sync.py", "ddp", "weights of ranks 0 and 1 differ"),
        ("no_sync.py", "horovod", "weights of ranks 0 and 1 differ"),
        ("nan_loss.py", "ddp", "the loss of step 2 is nan"),
        ("crash.py", "ddp", "ValueError: rank 1 was told to crash"),
        ("crash.py", "horovod", "ValueError: rank 1 was told to crash"),
        ("killed.py", "ddp", "SIGKILL"),
        ("wrong_network.py", "ddp", "parameters, not 25557032"),
    ],
)
def test_a_run_that_is_not_good_is_caught(tmp_path, script, strategy, reason):
    case = plan_case("pytorch", strategy=[strategy])
    python = environment("pytorch", strategy)
    result, record = run_script("pytorch", python, script, tmp_path / "repeat", case)
    assert result.throughput is None
    assert record.outcome == "failed"
    assert reason in result.reason
    assert record.tail
    assert not living(record.commands[0].environment["DLSCALE_TOKEN"])


def test_gradients_that_are_not_averaged_are_caught_on_synthetic_data_too(tmp_path, python):
    case = plan_case("pytorch", data="synthetic")
    result, _ = run_script("pytorch", python, "no_sync.py", tmp_path / "repeat", case)
    assert "weights of ranks 0 and 1 differ" in result.reason


@pytest.mark.parametrize("strategy", ["ddp", "fsdp", "horovod"])
def test_gradients_are_averaged_and_not_added(tmp_path, strategy):
    """Of FSDP's weights there is one copy, a part on each rank: none can differ from another."""
    python = environment("pytorch", strategy)
    alone, beside = losses_on_equal_data("pytorch", python, tmp_path, strategy=[strategy])
    assert alone == pytest.approx(beside, rel=1e-6)  # its optimiser works in another order


def test_a_batch_that_does_not_fit_is_out_of_memory(tmp_path, python):
    memory = this_machine().memory
    batch = memory // (3 * 64 * 64 * 4) * 2
    case = plan_case("pytorch", batch_size=batch, data="synthetic")
    result, record = run_script("pytorch", python, None, tmp_path / "repeat", case)
    assert record.outcome == "out of memory", record.tail
    assert result.throughput is None


def test_a_damaged_image_is_named(tmp_path, python):
    tree, cut = damaged_tree(tmp_path)
    case = plan_case("pytorch")
    result, _ = run_script("pytorch", python, None, tmp_path / "repeat", case, data=str(tree))
    assert "damaged image" in result.reason
    assert str(cut) in result.reason


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupting_the_second_case_and_resuming(tmp_path, python, number):
    del python
    options = ["--devices=2", "--repeats=1", "--image-size=64", "--batch=4", "--warmup=1"]
    folders = [f"--results={tmp_path / 'runs'}", f"--reports={tmp_path / 'reports'}"]
    command = [sys.executable, "-m", "runners.cli", "bench", "pytorch", *options, "--steps=40"]
    driver = subprocess.Popen([*command, *folders], cwd=ROOT, stderr=subprocess.PIPE, text=True)
    second = "*/pytorch/1n2g/*/rank1.log"
    while driver.poll() is None and not any((tmp_path / "runs").glob(second)):
        time.sleep(0.1)
    time.sleep(1)
    driver.send_signal(number)
    _, said = driver.communicate()
    assert driver.returncode == 130, said
    run = the_run(tmp_path)
    records = {path.parent: read_repeat(path.parent) for path in run.rglob("run.json")}
    assert sorted(r.outcome for r in records.values()) == ["completed", "interrupted"]
    for record in records.values():
        assert not living(record.commands[0].environment["DLSCALE_TOKEN"])
    first = next(folder for folder, r in records.items() if r.outcome == "completed")
    kept = (first / "run.json").read_bytes()
    resumed = subprocess.run(
        [sys.executable, "-m", "runners.cli", "bench", f"--resume={run.name}", *folders],
        cwd=ROOT,
        check=False,
    )
    assert resumed.returncode == 0
    assert (first / "run.json").read_bytes() == kept
    assert all(case.throughput for case in summarise(read_stored_run(run)).cases)


def test_a_rank_that_ignores_sigterm_is_ended_too(tmp_path, python):
    case = plan_case("pytorch", steps=2000)
    result, record = run_script(
        "pytorch", python, "stubborn.py", tmp_path / "repeat", case, timeout=20.0
    )
    assert record.outcome == "hung"
    assert result.throughput is None
    assert not living(record.commands[0].environment["DLSCALE_TOKEN"])


def test_the_instrumentation_costs_under_half_a_percent(tmp_path, python):
    """The clock's share of a step: many stamps are timed, against a real step's duration."""
    result, _ = run_script("pytorch", python, None, tmp_path / "repeat", plan_case("pytorch"))
    cost = subprocess.run(
        [python, FAULTS / "pytorch_instrumentation.py"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    per_step = float(re.search(r"seconds per step: (\S+)", cost.stdout)[1])
    assert per_step < 0.005 * float(min(result.step_seconds))


def test_the_largest_batch_is_found_under_a_limit_of_memory(tmp_path, python):
    del python
    options = [
        "--cases=1n1g",
        "--data=synthetic",
        "--batch=max",
        "--repeats=1",
        "--warmup=0",
        "--steps=1",
    ]
    done = bench(
        "pytorch", tmp_path, *options, "--image-size=224", under=["prlimit", "--data=2000000000"]
    )
    assert done.returncode == 0, done.stderr
    run = summarise(read_stored_run(the_run(tmp_path)))
    (answer,) = (tmp_path / "runs").glob("largest-batch/*/answer.json")
    trials = {one["batch_size"]: one["outcome"] for one in json.loads(answer.read_text())["trials"]}
    trained = [batch for batch, outcome in trials.items() if outcome == "completed"]
    assert run.cases[0].case.batch_size == max(trained) < min(set(trials) - set(trained))
    assert run.complete
