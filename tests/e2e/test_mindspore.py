"""MindSpore for real: msrun, its own collective library, JPEGs, the built environment."""

import re

import pytest
from harness import QUICK, bench, environment, living, plan_case, run_script, the_run

from results.formats import mllog
from results.store import read_stored_run
from results.summary import summarise

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
    losses = []
    for cases in ["1n1g"], ["1n2g"]:
        case = plan_case("mindspore", data="synthetic", cases=cases)
        folder = tmp_path / case.label
        result, record = run_script("mindspore", python, "same_data.py", folder, case)
        assert result.reason == "", record.tail
        losses.append(mllog.read((folder / "rank0.log").read_bytes()).losses.tolist())
    assert losses[0] == losses[1]
