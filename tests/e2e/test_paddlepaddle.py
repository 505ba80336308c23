"""PaddlePaddle for real: paddle.distributed.launch, gloo, JPEGs, the built environment."""

import re
import signal
import time
from pathlib import Path

import pytest
from harness import (
    NETWORK,
    QUICK,
    bench,
    damaged_tree,
    environment,
    living,
    losses_on_equal_data,
    plan_case,
    records_to_look_at,
    run_here,
    run_script,
    the_run,
)

from results.store import read_stored_run
from results.summary import summarise
from runners import processes
from runners.command import Job, node_commands
from runners.convert import convert
from runners.forms.registry import FORMS
from runners.implementations import load_manifest
from runners.input_data import SAMPLE
from runners.machine import this_machine
from runners.repeat import free_port

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def python():
    return environment("paddlepaddle")


def test_a_ladder_of_nodes_and_devices(tmp_path, python):
    del python
    done = bench("paddlepaddle", tmp_path, "--nodes=2", "--devices=1", "--repeats=1", *QUICK)
    assert done.returncode == 0, done.stderr
    run = summarise(read_stored_run(the_run(tmp_path)))
    assert [case.case.label for case in run.cases] == ["1n1g", "2n1g"]
    assert run.cases[1].speedup.value > 0
    assert run.run.notices == ()  # the launcher's own files went with the repeat


@pytest.mark.parametrize(
    "request_",
    [{"loader": "filelist"}, {"loader": "dali-cpu"}, {"data": "synthetic", "compile": True}],
)
def test_two_ranks_with_each_kind_of_input(tmp_path, python, request_):
    case = plan_case("paddlepaddle", **request_)
    result, record = run_script("paddlepaddle", python, None, tmp_path / "repeat", case)
    assert result.reason == "", record.tail
    assert result.throughput > 0
    # MKL would take its oldest kernels on a processor of another maker than Intel.
    processor = Path("/proc/cpuinfo").read_text()
    kernels = "5" if "avx2" in processor and "GenuineIntel" not in processor else ""
    said = f'"key": "mkl_cpu_type", "value": "{kernels}"'
    assert all(said in (tmp_path / "repeat" / f"rank{r}.log").read_text() for r in range(2))


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("no_sync.py", "weights of ranks 0 and 1 differ"),
        ("nan_loss.py", "the loss of step 2 is nan"),
        ("crash.py", "ValueError: rank 1 was told to crash"),
        ("killed.py", "SIGKILL|rank1 broke off without a word"),
        ("wrong_network.py", "parameters, not 25557032"),
        ("no_start.py", "ImportError: rank 1 was told not to start"),
    ],
)
def test_a_run_that_is_not_good_is_caught(tmp_path, python, script, reason):
    case = plan_case("paddlepaddle", data="synthetic")
    result, record = run_script("paddlepaddle", python, script, tmp_path / "repeat", case)
    assert result.throughput is None
    assert record.outcome == "failed"
    assert re.search(reason, result.reason)
    assert record.tail
    assert not living(record.commands[0].environment["DLSCALE_TOKEN"])


def test_gradients_are_averaged_and_not_added(tmp_path, python):
    alone, beside = losses_on_equal_data("paddlepaddle", python, tmp_path)
    assert alone == beside


def test_a_batch_that_does_not_fit_is_out_of_memory(tmp_path, python):
    batch = this_machine().memory // (3 * 64 * 64 * 4) * 2
    case = plan_case("paddlepaddle", cases=["1n1g"], batch_size=batch, data="synthetic")
    result, record = run_script("paddlepaddle", python, None, tmp_path / "repeat", case)
    assert record.outcome == "out of memory", record.tail
    assert result.throughput is None


@pytest.mark.parametrize("loader", ["paddle.io", "filelist", "dali-cpu"])
def test_a_damaged_image_is_named(tmp_path, python, loader):
    tree, cut = damaged_tree(tmp_path)
    if loader == "filelist":
        whole = cut.read_bytes()
        cut.write_bytes(whole + b"\xff\xd9")  # conversion would refuse it as it is
        convert(tree, FORMS["filelist"], tmp_path / "list")
        cut.write_bytes(whole)
        tree = tmp_path / "list"
    place = {"data": str(tree)}
    case = plan_case("paddlepaddle", loader=loader)
    result, _ = run_script("paddlepaddle", python, None, tmp_path / "repeat", case, **place)
    assert "damaged image" in result.reason
    assert str(cut) in result.reason


def test_images_are_cropped_and_shared_out_as_torchvision_would(tmp_path, python):
    files = records_to_look_at(tmp_path, "filelist")
    done = run_here("paddlepaddle", python, NETWORK / "paddlepaddle_loader.py", *files)
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
    case = plan_case("paddlepaddle", steps=5000)
    (command,) = node_commands(case, load_manifest("paddlepaddle"), job)
    launcher = processes.start(command, tmp_path / "launcher.log", token)
    try:
        while not all('"window"' in text for text in texts(logs)):
            assert launcher.poll() is None
            time.sleep(0.1)
        assert len(living(token)) == 5  # the launcher, two ranks, a loader process of each
        rank_1 = next(
            process
            for process in processes.with_token(token)
            if process.ppid() == launcher.pid and process.environ()["PADDLE_TRAINER_ID"] == "1"
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
