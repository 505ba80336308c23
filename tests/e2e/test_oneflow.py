"""OneFlow for real: oneflow.distributed.launch, JPEGs, the built environment."""

import re
import signal
import time

import pytest
from harness import (
    NETWORK,
    QUICK,
    bench,
    damaged_records,
    damaged_tree,
    environment,
    living,
    losses_on_equal_data,
    plan_case,
    records_to_look_at,
    run_here,
    run_script,
    the_run,
    torchvision_crops,
)

from results.formats import mllog
from results.store import read_stored_run
from results.summary import summarise
from runners import processes
from runners.command import Job, node_commands
from runners.implementations import load_manifest
from runners.input_data import SAMPLE
from runners.machine import this_machine
from runners.repeat import free_port

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def python():
    return environment("oneflow")


def test_a_ladder_of_nodes_and_devices(tmp_path, python):
    del python
    done = bench("oneflow", tmp_path, "--nodes=2", "--devices=1", "--repeats=1", *QUICK)
    assert done.returncode == 0, done.stderr
    run = summarise(read_stored_run(the_run(tmp_path)))
    assert [case.case.label for case in run.cases] == ["1n1g", "2n1g"]
    assert run.cases[1].speedup.value > 0
    assert run.run.notices == ()  # the launcher's own files went with the repeat


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"data": "synthetic", "strategy": ["ddp"]},
        {"loader": "ofrecord"},
        {"loader": "ofrecord", "strategy": ["ddp"]},
    ],
)
def test_two_ranks_with_each_kind_of_input(tmp_path, python, request_):
    case = plan_case("oneflow", **request_)
    result, record = run_script("oneflow", python, None, tmp_path / "repeat", case)
    assert result.reason == "", record.tail
    assert result.throughput > 0
    logs = [mllog.read((tmp_path / "repeat" / f"rank{rank}.log").read_bytes()) for rank in range(2)]
    own_losses = case.strategy == "ddp"  # global ones are the job's
    assert own_losses == (logs[0].losses[0] != logs[1].losses[0])  # of other images, equal weights


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("nan_loss.py", "the loss of step 2 is nan"),
        ("crash.py", "ValueError: rank 1 was told to crash"),
        ("killed.py", "SIGKILL|rank1 broke off without a word"),
        ("wrong_network.py", "parameters, not 25557032"),
        ("no_start.py", "ImportError: rank 1 was told not to start"),
    ],
)
def test_a_run_that_is_not_good_is_caught(tmp_path, python, script, reason):
    case = plan_case("oneflow", data="synthetic", strategy=["ddp"])  # no graph to build
    result, record = run_script("oneflow", python, script, tmp_path / "repeat", case)
    assert result.throughput is None
    assert record.outcome == "failed"
    assert re.search(reason, result.reason)
    assert record.tail
    assert not living(record.commands[0].environment["DLSCALE_TOKEN"])


@pytest.mark.parametrize("strategy", ["global", "ddp"])
def test_ranks_that_train_on_their_own_are_caught(tmp_path, python, strategy):
    case = plan_case("oneflow", data="synthetic", strategy=[strategy])
    result, _ = run_script("oneflow", python, "no_sync.py", tmp_path / "repeat", case)
    assert "weights of ranks 0 and 1 differ" in result.reason


@pytest.mark.parametrize("strategy", ["global", "ddp"])
def test_gradients_are_averaged_and_not_added(tmp_path, python, strategy):
    alone, beside = losses_on_equal_data("oneflow", python, tmp_path, strategy=[strategy])
    assert alone == pytest.approx(beside, rel=1e-6)  # sums are in another order


def test_a_batch_that_does_not_fit_is_out_of_memory(tmp_path, python):
    batch = this_machine().memory // (3 * 64 * 64 * 4) * 2
    case = plan_case("oneflow", cases=["1n1g"], batch_size=batch, data="synthetic")
    result, record = run_script("oneflow", python, None, tmp_path / "repeat", case)
    assert record.outcome == "out of memory", record.tail
    assert result.throughput is None


def test_a_damaged_image_is_named(tmp_path, python):
    tree, cut = damaged_tree(tmp_path)
    place = {"data": str(tree)}
    case = plan_case("oneflow")
    result, _ = run_script("oneflow", python, None, tmp_path / "repeat", case, **place)
    assert "damaged image" in result.reason
    assert str(cut) in result.reason


def test_a_damaged_image_in_a_record_is_noticed(tmp_path, python):
    records, _ = damaged_records(tmp_path, "ofrecord")
    case = plan_case("oneflow", loader="ofrecord", cases=["1n1g"], devices=1)
    folder, place = tmp_path / "repeat", {"data": str(records)}
    result, _ = run_script("oneflow", python, None, folder, case, **place)
    assert f"damaged image in {records}" in result.reason


def test_records_are_cropped_and_shared_out_as_torchvision_would(tmp_path, python):
    files = records_to_look_at(tmp_path, "ofrecord")
    done = run_here("oneflow", python, NETWORK / "oneflow_records.py", *files)
    assert done.returncode == 0, done.stderr


def test_images_are_cropped_and_shared_out_as_torchvision_would(tmp_path, python):
    crops = torchvision_crops(tmp_path)
    script = NETWORK / "oneflow_loader.py"
    done = run_here("oneflow", python, script, crops, SAMPLE / "train")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("number", "whose"),
    [(signal.SIGINT, "launcher"), (signal.SIGTERM, "launcher"), (signal.SIGKILL, "rank 1")],
)
def test_the_launcher_leaves_nothing_behind(tmp_path, python, number, whose):
    """Alone, without the driver, which looks for what is left by itself."""
    logs, token = tmp_path / "logs", str(tmp_path)
    place = {"data": str(SAMPLE / "train"), "hosts": ["here"], "gpus": [], "seed": 0}
    job = Job(python=python, logs=logs, port=free_port(), token=token, **place)
    case = plan_case("oneflow", steps=5000, strategy=["ddp"])
    (command,) = node_commands(case, load_manifest("oneflow"), job)
    launcher = processes.start(command, tmp_path / "launcher.log", token)
    try:
        while not all('"window"' in text for text in texts(logs)):
            assert launcher.poll() is None
            time.sleep(0.1)
        assert len(living(token)) == 5  # the launcher, two ranks, a loader process of each
        rank_1 = next(
            process
            for process in processes.with_token(token)
            if process.ppid() == launcher.pid and process.environ()["RANK"] == "1"
        )
        (rank_1 if whose == "rank 1" else launcher).send_signal(number)
        assert launcher.wait(60) != 0
        deadline = time.monotonic() + 20
        while living(token) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not living(token)
    finally:
        processes.end_all(token, grace=1.0)


def texts(logs):
    """Return the text of both ranks' logs, empty where there is none yet."""
    paths = [logs / f"rank{rank}.log" for rank in range(2)]
    return [path.read_text() if path.exists() else "" for path in paths]
