"""Ranks in containers: the words that runtimes are given, and real ones where a runtime works."""

import shutil
import subprocess
import uuid
from pathlib import Path

import pytest
from container_image import make_image, settings_within_limits
from toy_bench import TOY, Bench, finished

from results.errors import InputError
from runners.container import RUNTIMES, Container, find_runtime
from runners.given_interpreter import Interpreter
from runners.manifest import COMMON

RUNTIME = find_runtime()
needs_runtime = pytest.mark.skipif(
    not RUNTIME, reason=f"neither {' nor '.join(RUNTIMES)} works on this machine (.ci/run)"
)
WORDS = {
    "docker": "docker run --rm --network=host --ipc=host --user=0:0 --name=dlscale-1-0"
    " --workdir=/tmp --gpus=all --volume=/data:/data:ro --volume=/logs:/logs"
    " --env=NCCL_DEBUG --env=HOME=/tmp --env=A=b c nvcr.io/x:1 python main.py",
    "podman": "podman run --rm --network=host --ipc=host --name=dlscale-1-0 --workdir=/tmp"
    " --device=nvidia.com/gpu=all --volume=/data:/data:ro --volume=/logs:/logs"
    " --env=NCCL_DEBUG --env=HOME=/tmp --env=A=b c nvcr.io/x:1 python main.py",
}


def started(runtime, device="cuda", readable=("/data", "/data")):
    return Container(runtime, "nvcr.io/x:1").started(
        "dlscale-1-0",
        ["python", "main.py"],
        {"A": "b c"},
        device=device,
        readable=[Path(folder) for folder in readable],
        writable=[Path("/logs")],
        inherited=["NCCL_DEBUG"],
    )


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_what_each_runtime_is_told(runtime, monkeypatch):
    monkeypatch.setattr("os.getuid", lambda: 0)
    monkeypatch.setattr("os.getgid", lambda: 0)
    assert " ".join(started(runtime)) == WORDS[runtime]
    assert not any("gpu" in word for word in started(runtime, device="cpu"))


def test_a_folder_that_no_runtime_could_mount_is_refused():
    with pytest.raises(InputError, match="/da:ta cannot be seen in a container"):
        started("docker", readable=["/da:ta"])


def test_a_client_without_its_engine_is_no_runtime(tmp_path, monkeypatch):
    client = tmp_path / "docker"
    client.write_text("#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2\nexit 1\n")
    client.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_runtime() == ""
    with pytest.raises(InputError, match="x:1 needs docker or podman, and neither works here"):
        Container("docker", "x:1").fetched()


@pytest.fixture(scope="module", autouse=True)
def settings(tmp_path_factory):
    path = tmp_path_factory.mktemp("settings") / "containers.conf"
    path.write_text(settings_within_limits())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONTAINERS_CONF", str(path))
        yield


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """An image of this test's own, with a Python that says it holds toy 3.2."""
    name = f"localhost/dlscale-test-{uuid.uuid4().hex[:8]}:1"
    make_image(RUNTIME, name, tmp_path_factory.mktemp("image"), {"toy": "3.2"})
    yield name
    subprocess.run([RUNTIME, "rmi", "--force", name], check=True, capture_output=True)


@pytest.fixture
def contained(image, tmp_path):
    """The toy, whose environment is in the image."""
    folder = shutil.copytree(TOY, tmp_path / "theirs")
    text = (folder / "benchmark.toml").read_text()
    lock = 'python = "3.11"\nrequirements = "requirements.lock"\n'
    assert lock in text
    elsewhere = f'elsewhere = {{ version = "3.2", container = "{image}" }}\n'
    ours = f'PYTHONPATH = "{COMMON.parent}"\n'  # the toy looks for it two folders up
    (folder / "benchmark.toml").write_text(text.replace(lock, elsewhere) + ours)
    return folder


def names_of_containers():
    listed = [RUNTIME, "ps", "--all", "--format={{.Names}}"]
    said = subprocess.run(listed, capture_output=True, text=True, check=True).stdout
    return [name for name in said.split() if name.startswith("dlscale-")]


@needs_runtime
def test_an_image_says_what_its_python_holds(image):
    container = Container(RUNTIME, image).fetched()
    assert len(container.digest.removeprefix("sha256:")) == 64
    found = container.interpreter()
    assert isinstance(found, Interpreter)
    assert found.packages == {"toy": "3.2"}


@needs_runtime
def test_an_image_that_cannot_be_had_is_named():
    with pytest.raises(InputError, match="localhost/no-such:1 cannot be fetched"):
        Container(RUNTIME, "localhost/no-such:1").fetched()


@needs_runtime
def test_ranks_are_measured_in_a_container_and_it_goes_with_them(contained, image, tmp_path):
    bench = Bench(tmp_path / "home")
    done = finished(bench.start("bench", contained, *bench.options, "--devices=1"))
    assert done.returncode == 0, done.stderr + done.stdout
    facts = bench.record.environment["environments"]["toy"]
    assert (facts["image"], facts["packages"]) == (image, {"toy": "3.2"})
    assert facts["digest"]
    assert any(image in note and "toy 3.2" in note for note in bench.record.notes)
    assert bench.repeat("1n1g", 1).commands[0].arguments[:2] == [RUNTIME, "run"]
    assert names_of_containers() == []


@needs_runtime
def test_a_hung_container_is_removed(contained, tmp_path):
    with (contained / "benchmark.toml").open("a") as manifest:
        manifest.write('TOY_FAULTS = "hang@*"\n')
    bench = Bench(tmp_path / "home")
    options = [*bench.options, "--devices=1", "--repeats=1", "--timeout=5"]
    done = finished(bench.start("bench", contained, *options))
    assert done.returncode == 1, done.stderr
    assert bench.repeat("1n1g", 1).outcome == "hung"
    assert names_of_containers() == []
