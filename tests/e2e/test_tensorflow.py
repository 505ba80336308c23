"""TensorFlow as it is: its launcher, tf.data, the collectives. Minutes; not in `test-quick`."""

import json
import shutil
import signal
import socket
import subprocess
import time
from functools import partial
from pathlib import Path

import harness
import msgspec
import pytest
from harness import NETWORK, QUICK, damaged_tree, environment, living, the_run

from results.store import read_stored_run
from results.summary import summarise
from runners.convert import convert
from runners.forms.form import Picture
from runners.forms.registry import FORMS
from runners.implementations import load_manifest
from runners.input_data import SAMPLE
from runners.machine import this_machine
from runners.repeat import free_port

pytestmark = pytest.mark.slow
START = load_manifest("tensorflow").folder / "start.py"
bench = partial(harness.bench, "tensorflow")
plan_case = partial(harness.plan_case, "tensorflow")
run_script = partial(harness.run_script, "tensorflow")
WORKERS, MIRRORED, CENTRAL, SERVED = (
    {"strategy": [name]}
    for name in ("multi_worker_mirrored", "mirrored", "central_storage", "parameter_server")
)
HOROVOD = {"strategy": ["horovod"]}
with_mpi = pytest.mark.skipif(
    not shutil.which("mpicc"), reason="Horovod is built with MPI where Open MPI is (.ci/run)"
)


@pytest.fixture(scope="session")
def python():
    return environment("tensorflow")


def test_one_device_and_two_nodes(tmp_path, python):
    del python
    done = bench(tmp_path, "--cases=1n1g,2n1g", "--repeats=1", *QUICK)
    assert done.returncode == 0, done.stdout + done.stderr
    run = summarise(read_stored_run(the_run(tmp_path)))
    assert [case.case.label for case in run.cases] == ["1n1g", "2n1g"]
    assert all(case.throughput.value > 0 for case in run.cases)


@pytest.mark.parametrize(
    "request_",
    [
        {"precision": "amp", "loader": "dali-cpu"},
        {"data": "synthetic", "compile": True},
        {**MIRRORED, "loader": "dali-cpu"},
        {**HOROVOD, "cases": ["2n1g"], "devices": 1},
        pytest.param(
            {**HOROVOD, "backend": ["mpi"], "data": "synthetic", "compile": True}, marks=with_mpi
        ),
    ],
)
def test_two_ranks_with_each_kind_of_input_and_arithmetic(tmp_path, request_):
    case = plan_case(**request_)
    python = environment("tensorflow", case.strategy)
    result, record = run_script(python, None, tmp_path / "repeat", case)
    assert result.reason == "", record.tail
    assert result.throughput > 0


@pytest.mark.parametrize(
    ("script", "reason", "request_"),
    [
        ("no_sync.py", "weights of ranks 0 and 1 differ", {"cases": ["2n1g"], "devices": 1}),
        ("no_sync.py", "weights of ranks 0 and 1 differ", MIRRORED),
        ("no_sync.py", "weights of ranks 0 and 1 differ", HOROVOD),
        ("no_sync.py", "no update of rank 1 has reached the weights", SERVED),
        ("nan_loss.py", "the loss of step 2 is nan", {"cases": ["1n1g"]}),
        ("wrong_network.py", "parameters, not 25557032", {"cases": ["1n1g"]}),
        ("crash.py", "rank1: ValueError: rank 1 was told to crash", {}),
        ("crash.py", "ValueError: rank 1 was told to crash", HOROVOD),
        ("killed.py", "SIGKILL", {}),
        ("no_start.py", "ImportError: rank 1 was told not to start", {}),
        ("no_start.py", "ImportError: rank 1 was told not to start", SERVED),
    ],
)
def test_a_run_that_is_not_good_is_caught(tmp_path, script, reason, request_):
    case = plan_case(data="synthetic", **request_)
    python = environment("tensorflow", case.strategy)
    result, record = run_script(python, script, tmp_path / "repeat", case)
    assert result.throughput is None
    assert record.outcome == "failed"
    assert reason in result.reason
    assert not living(record.commands[0].environment["DLSCALE_TOKEN"])


@pytest.mark.parametrize(
    ("threads", "strategies"),
    # One process with two devices has the threads of both, and threads make other sums.
    [(1, [WORKERS, HOROVOD]), (2, [MIRRORED, CENTRAL])],
)
def test_gradients_are_averaged_and_not_added(tmp_path, threads, strategies):
    python = environment("tensorflow", "horovod")  # where the others are to be had too
    alone = plan_case(data="synthetic", cases=["1n1g"])
    cases = [msgspec.structs.replace(alone, threads=threads)]
    cases += [plan_case(data="synthetic", **strategy) for strategy in strategies]
    losses = harness.losses_of_cases_on_equal_data("tensorflow", python, tmp_path, cases)
    assert all(other == pytest.approx(losses[0], rel=1e-6) for other in losses[1:]), losses


def test_every_workers_updates_reach_the_servers(tmp_path, python):
    case = plan_case(data="synthetic", **SERVED)
    result, record = run_script(python, "same_gradients.py", tmp_path / "repeat", case)
    assert result.reason == "", record.tail


def test_a_batch_that_does_not_fit_is_out_of_memory(tmp_path, python):
    batch = this_machine().memory // (3 * 64 * 64 * 4) * 2
    case = plan_case(cases=["1n1g"], batch_size=batch, data="synthetic")
    result, record = run_script(python, None, tmp_path / "repeat", case)
    assert record.outcome == "out of memory", record.tail
    assert result.throughput is None


@pytest.mark.parametrize("request_", [MIRRORED, SERVED, {**HOROVOD, "loader": "dali-cpu"}])
def test_a_damaged_image_is_named(tmp_path, request_):
    tree, cut = damaged_tree(tmp_path)
    case = plan_case(**request_)
    python = environment("tensorflow", case.strategy)
    result, _ = run_script(python, None, tmp_path / "repeat", case, data=str(tree))
    assert "damaged image" in result.reason
    assert str(cut) in result.reason


def test_two_nodes_of_parameter_servers_read_records(tmp_path, python):
    del python
    options = ["--strategy=parameter_server", "--loader=tfrecord", "--cases=2n1g", "--repeats=1"]
    done = bench(tmp_path, *options, *QUICK)
    assert done.returncode == 0, done.stdout + done.stderr
    run = summarise(read_stored_run(the_run(tmp_path)))
    (case,) = run.cases
    assert case.case.loader == "tfrecord"
    assert case.throughput.value > 0
    facts = run.run.record.environment["data"]
    assert facts["images"] == 512
    assert Path(facts["converted"]["tfrecord"], "form.json").exists()


def test_tensorflow_itself_reads_what_was_converted(tmp_path, python):
    images = tmp_path / "train"
    for number, image in enumerate(sorted((SAMPLE / "train").glob("*/*.JPEG"))[:60:2]):
        path = images / ("é b", "n2", "N1")[number % 3] / f"{number}.JPEG"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image.read_bytes())
    records = tmp_path / "records"
    convert(images, FORMS["tfrecord"], records, shards=5)
    script = NETWORK / "tensorflow_records.py"
    done = harness.run_here("tensorflow", python, script, records, images)
    assert done.returncode == 0, done.stderr


def test_a_damaged_image_in_a_record_is_named(tmp_path, python):
    tree, cut = damaged_tree(tmp_path)
    records = tmp_path / "records"
    records.mkdir()
    paths = sorted(tree.glob("*/*"))
    pictures = [Picture(n, str(tree), str(p.relative_to(tree)), 0) for n, p in enumerate(paths)]
    file = records / "train-00000-of-00001"
    file.write_bytes(b"".join(FORMS["tfrecord"].record(picture) for picture in pictures))
    case = plan_case(loader="tfrecord", cases=["1n1g"], devices=1)
    result, _ = run_script(python, None, tmp_path / "repeat", case, data=str(records))
    assert f"damaged image {cut.parent.name}/{cut.name}" in result.reason
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    result, _ = run_script(python, None, tmp_path / "again", case, data=str(records))
    assert f"damaged file {file}" in result.reason


def test_images_are_cropped_and_shared_out_as_torchvision_would(tmp_path, python):
    files = harness.images_to_look_at(tmp_path)
    done = harness.run_here("tensorflow", python, NETWORK / "tensorflow_loader.py", *files)
    assert done.returncode == 0, done.stderr


def test_the_launcher_ends_its_workers_when_it_is_told_to(tmp_path, python):
    script = tmp_path / "worker.py"
    script.write_text(
        "import os, pathlib, signal, time\n"
        # In one piece: two workers write into one pipe.
        "signal.signal(signal.SIGTERM, lambda *_: os.write(1, b'heard\\n'))\n"
        "pathlib.Path(os.environ['LOCAL_RANK']).touch()\n"
        "time.sleep(600)\n"
    )
    command = [python, START, "--devices=2", script]
    launcher = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    while not all((tmp_path / rank).exists() for rank in "01"):
        assert launcher.poll() is None
        time.sleep(0.02)
    launcher.send_signal(signal.SIGTERM)
    said, _ = launcher.communicate(timeout=30)
    assert launcher.returncode == 128 + signal.SIGTERM
    assert said.split() == ["heard", "heard"]
    assert not living(str(script))


def call(port):
    """Return a connection to a port that something will soon listen on."""
    for _ in range(600):
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise AssertionError(f"nothing listens on {port}")


def test_nodes_tell_each_other_their_workers(tmp_path, python):
    script = tmp_path / "worker.py"
    # In one piece: two workers write into one pipe.
    script.write_text("import os; os.write(1, (os.environ['TF_CONFIG'] + '\\n').encode())\n")
    port = free_port()
    place = ["--nodes=3", "--devices=2", f"--master-port={port}"]

    def start(node):
        command = [python, START, *place, f"--node-rank={node}", script]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    first = start(0)
    for said in (b"GET / HTTP/1.0\r\n", b"[1]\n", b""):
        stranger = call(port)
        stranger.sendall(said)
        stranger.close()
    nodes = [start(2), start(1), first]
    said = "".join(node.communicate(timeout=60)[0] for node in nodes)
    told = [json.loads(line) for line in said.splitlines()]
    assert [node.returncode for node in nodes] == [0, 0, 0]
    assert sorted(one["task"]["index"] for one in told) == [0, 1, 2, 3, 4, 5]
    (workers,) = {tuple(one["cluster"]["worker"]) for one in told}
    assert len(set(workers)) == 6
