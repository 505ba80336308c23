"""MindSpore for real: msrun, its own collective library, JPEGs, the built environment."""

import re
import signal
import time

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
    run_here,
    run_script,
    the_run,
    torchvision_crops,
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


@pytest.fixture(scope="module")
def python():
    return environment("mindspore")


def test_a_ladder_of_nodes_and_devices(tmp_path, python):
    del python
    done = bench("mindspore", tmp_path, "--nodes=2", "--devices=1", "--repeats=1", *QUICK)
    assert done.returncode == 0, done.stderr
    run = summarise(read_stored_run(the_run(tmp_path)))
    assert [case.case.label for case in run.cases] == ["1n1g", "2n1g"]
    assert run.cases[1].speedup.value > 0
    assert run.run.notices == ()  # the launcher's own files went with the repeat


def test_two_ranks_read_images(tmp_path, python):
    case = plan_case("mindspore")
    result, record = run_script("mindspore", python, None, tmp_path / "repeat", case)
    assert result.reason == "", record.tail
    assert result.throughput > 0


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
    case = plan_case("mindspore", data="synthetic")
    result, record = run_script("mindspore", python, script, tmp_path / "repeat", case)
    assert result.throughput is None
    assert record.outcome == "failed"
    assert re.search(reason, result.reason)
    assert record.tail
    assert not living(record.commands[0].environment["DLSCALE_TOKEN"])


def test_gradients_are_averaged_and_not_added(tmp_path, python):
    alone, beside = losses_on_equal_data("mindspore", python, tmp_path)
    assert alone == beside


def test_a_batch_that_does_not_fit_is_out_of_memory(tmp_path, python):
    batch = this_machine().memory // (3 * 64 * 64 * 4) * 2
    case = plan_case("mindspore", cases=["1n1g"], batch_size=batch, data="synthetic")
    result, record = run_script("mindspore", python, None, tmp_path / "repeat", case)
    assert record.outcome == "out of memory", record.tail
    assert result.throughput is None


def test_a_damaged_image_is_named(tmp_path, python):
    tree, cut = damaged_tree(tmp_path)
    case = plan_case("mindspore")
    result, _ = run_script("mindspore", python, None, tmp_path / "repeat", case, data=str(tree))
    assert f"damaged image {cut}" in result.reason


def test_images_are_cropped_as_torchvision_would(tmp_path, python):
    crops = torchvision_crops(tmp_path)
    done = run_here("mindspore", python, NETWORK / "mindspore_loader.py", crops)
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
    case = plan_case("mindspore", steps=5000)
    (command,) = node_commands(case, load_manifest("mindspore"), job)
    launcher = processes.start(command, tmp_path / "launcher.log", token)
    try:
        while not all('"window"' in text for text in texts(logs)):
            assert launcher.poll() is None
            time.sleep(0.1)
        assert len(living(token)) == 4  # the launcher, a scheduler, two ranks
        rank_1 = next(
            process
            for process in processes.with_token(token)
            if process.environ().get("RANK_ID") == "1"
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
