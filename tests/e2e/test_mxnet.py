"""MXNet for real: horovodrun, parameter servers, JPEGs, the built environment."""

import re
import shutil
import signal
import time
from functools import partial
from pathlib import Path

import harness
import pytest
from harness import (
    NETWORK,
    QUICK,
    damaged_records,
    damaged_tree,
    environment,
    images_to_look_at,
    living,
    records_to_look_at,
    run_here,
    the_run,
)

from results.store import read_stored_run
from results.summary import summarise
from runners import processes
from runners.command import Job, node_commands
from runners.implementations import load_manifest
from runners.input_data import SAMPLE
from runners.machine import this_machine
from runners.repeat import free_port

pytestmark = pytest.mark.slow
plan_case = partial(harness.plan_case, "mxnet")
run_script = partial(harness.run_script, "mxnet")
HOROVOD, STORE, SERVER = ({"strategy": [name]} for name in ("horovod", "kvstore", "kvstore_server"))
MPI = {**HOROVOD, "backend": ["mpi"]}
with_mpi = pytest.mark.skipif(
    not shutil.which("mpicc"), reason="Horovod is built with MPI where Open MPI is (.ci/run)"
)


@pytest.fixture(scope="module")
def python():
    return environment("mxnet")


def test_a_ladder_of_nodes_and_devices(tmp_path, python):
    del python
    ladder = ["--nodes=2", "--devices=1", "--repeats=1", "--strategy=horovod,kvstore"]
    done = harness.bench("mxnet", tmp_path, *ladder, *QUICK)
    assert done.returncode == 0, done.stderr
    run = summarise(read_stored_run(the_run(tmp_path)))
    assert [case.case.label for case in run.cases] == ["1n1g"] * 2 + ["2n1g"] * 2
    assert all(case.speedup.value > 0 for case in run.cases[2:])
    assert run.run.notices == ()


@pytest.mark.parametrize(
    "request_",
    [
        {**HOROVOD, "loader": "recordio"},
        pytest.param({**MPI, "data": "synthetic"}, marks=with_mpi),
        {**SERVER, "backend": ["dist_device_sync"], "loader": "dali-cpu"},
    ],
)
def test_two_ranks_by_each_strategy(tmp_path, python, request_):
    case = plan_case(**request_)
    result, record = run_script(python, None, tmp_path / "repeat", case)
    assert result.reason == "", record.tail
    assert result.throughput > 0


def test_amp_needs_avx512(tmp_path, python):
    case = plan_case(cases=["1n1g"], precision="amp", data="synthetic")
    result, record = run_script(python, None, tmp_path / "repeat", case)
    if " avx512bw " in Path("/proc/cpuinfo").read_text():
        assert result.reason == "", record.tail
    else:
        assert "need a processor with AVX-512" in result.reason


@pytest.mark.parametrize(
    ("strategy", "script", "reason"),
    [
        (HOROVOD, "no_sync.py", "weights of ranks 0 and 1 differ"),
        (STORE, "no_sync.py", "weights of ranks 0 and 1 differ"),
        (HOROVOD, "nan_loss.py", "the loss of step 2 is nan"),
        (HOROVOD, "wrong_network.py", "parameters, not 25557032"),
        (HOROVOD, "crash.py", "ValueError: rank 1 was told to crash"),
        (SERVER, "crash.py", "ValueError: rank 1 was told to crash"),
        (HOROVOD, "killed.py", "SIGKILL|rank1 broke off without a word"),
        (STORE, "killed.py", "SIGKILL"),
        (HOROVOD, "no_start.py", "ImportError: rank 1 was told not to start"),
        (STORE, "no_start.py", "ImportError: rank 1 was told not to start"),
    ],
)
def test_a_run_that_is_not_good_is_caught(tmp_path, python, strategy, script, reason):
    case = plan_case(data="synthetic", **strategy)
    result, record = run_script(python, script, tmp_path / "repeat", case)
    assert result.throughput is None
    assert record.outcome == "failed"
    assert re.search(reason, result.reason)
    assert record.tail
    assert not living(record.commands[0].environment["DLSCALE_TOKEN"])


def test_gradients_are_averaged_and_not_added(tmp_path, python):
    ladder = [("1n1g", HOROVOD), ("1n2g", HOROVOD), ("1n2g", STORE), ("1n2g", SERVER)]
    cases = [plan_case(data="synthetic", cases=[label], **by) for label, by in ladder]
    losses = harness.losses_of_cases_on_equal_data("mxnet", python, tmp_path, cases)
    assert losses[1:] == losses[:1] * 3


def test_a_batch_that_does_not_fit_is_out_of_memory(tmp_path, python):
    batch = this_machine().memory // (3 * 64 * 64 * 4) * 2
    case = plan_case(cases=["1n1g"], batch_size=batch, data="synthetic")
    result, record = run_script(python, None, tmp_path / "repeat", case)
    assert record.outcome == "out of memory", record.tail
    assert result.throughput is None


@pytest.mark.parametrize("loader", ["gluon", "dali-cpu"])
def test_a_damaged_image_is_named(tmp_path, python, loader):
    tree, cut = damaged_tree(tmp_path)
    case = plan_case(loader=loader)
    result, _ = run_script(python, None, tmp_path / "repeat", case, data=str(tree))
    assert f"damaged image {cut}" in result.reason


def test_a_damaged_image_in_a_record_is_noticed(tmp_path, python):
    records, _ = damaged_records(tmp_path, "recordio")
    case = plan_case(loader="recordio", cases=["1n1g"], devices=1)
    result, _ = run_script(python, None, tmp_path / "repeat", case, data=str(records))
    assert f"damaged image in {records}" in result.reason


def test_records_are_cropped_and_shared_out_as_torchvision_would(tmp_path, python):
    files = records_to_look_at(tmp_path, "recordio")
    done = run_here("mxnet", python, NETWORK / "mxnet_records.py", *files)
    assert done.returncode == 0, done.stderr


def test_images_are_cropped_and_shared_out_as_torchvision_would(tmp_path, python):
    files = images_to_look_at(tmp_path)
    done = run_here("mxnet", python, NETWORK / "mxnet_loader.py", *files)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("strategy", "number", "whose"),
    [
        (HOROVOD, signal.SIGINT, "launcher"),
        (HOROVOD, signal.SIGKILL, "launcher"),
        (HOROVOD, signal.SIGKILL, "rank 1"),
        (STORE, signal.SIGTERM, "launcher"),
        (STORE, signal.SIGKILL, "launcher"),
    ],
)
def test_the_launcher_leaves_nothing_behind(tmp_path, python, strategy, number, whose):
    """Alone, without the driver, which looks for what is left by itself."""
    logs, token = tmp_path / "logs", str(tmp_path)
    place = {"data": str(SAMPLE / "train"), "hosts": ["here"], "gpus": [], "seed": 0}
    job = Job(python=python, logs=logs, port=free_port(), token=token, **place)
    case = plan_case(steps=5000, **strategy)
    (command,) = node_commands(case, load_manifest("mxnet"), job)
    launcher = processes.start(command, tmp_path / "launcher.log", token)
    try:
        while not all('"window"' in text for text in texts(logs)):
            assert launcher.poll() is None, (tmp_path / "launcher.log").read_text()
            time.sleep(0.1)
        rank_1 = next(one for one in processes.with_token(token) if is_rank_1(one))
        (rank_1 if whose == "rank 1" else launcher).send_signal(number)
        assert launcher.wait(60) != 0
        deadline = time.monotonic() + 30
        while living(token) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not living(token)
    finally:
        processes.end_all(token, grace=1.0)


def is_rank_1(process):
    """Whether a process is the training script of rank 1, and not one of its loader's."""
    names = ("KVSTORE_RANK", "HOROVOD_RANK", "OMPI_COMM_WORLD_RANK")
    mine = any(process.environ().get(name) == "1" for name in names)
    parent = process.parent()
    return mine and not (parent and any(parent.environ().get(name) == "1" for name in names))


def texts(logs):
    """Return the text of both ranks' logs, empty where there is none yet."""
    paths = [logs / f"rank{rank}.log" for rank in range(2)]
    return [path.read_text() if path.exists() else "" for path in paths]
