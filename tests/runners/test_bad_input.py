"""What a user can get wrong: one sentence, exit code 2, and nothing is made."""

import io
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image
from toy_bench import TOY, Bench, needs_two_cores, processes_with

from runners.cli import main
from runners.interpreter import version_of
from runners.machine import usable_cores
from runners.repeat import token_of


@pytest.fixture
def refusal(tmp_path, capfd, monkeypatch):
    """Run `dlscale bench`, check that it is refused properly, and return the sentence."""
    monkeypatch.chdir(tmp_path)

    def refuse(*words, framework=TOY, results=tmp_path / "results"):
        before = sorted(tmp_path.rglob("*"))
        places = (f"--results={results}", f"--reports={tmp_path / 'reports'}")
        sizes = ("--data=synthetic", "--warmup=2", "--steps=5", "--repeats=1")
        code = main(["bench", str(framework), *sizes, *places, *words])
        out, err = capfd.readouterr()
        assert (code, out) == (2, "")
        assert err.startswith("dlscale: ")
        assert err.endswith(".\n")
        assert err.count("\n") == 1
        assert sorted(tmp_path.rglob("*")) == before
        return err

    return refuse


def test_an_unknown_framework(refusal):
    said = refusal(framework="tensorfolw")
    assert "'tensorfolw'" in said
    assert "pytorch" in said


def test_a_folder_without_a_manifest(refusal, tmp_path):
    assert "benchmark.toml" in refusal(framework=f"{tmp_path}/")


def test_a_broken_manifest(refusal, tmp_path):
    broken = tmp_path / "broken"
    shutil.copytree(TOY, broken)
    (broken / "benchmark.toml").write_text('name = "toy\n')
    assert f"{broken}/benchmark.toml is not a valid manifest" in refusal(framework=broken)


def test_no_framework(capsys):
    assert main(["bench"]) == 2
    assert "Name a framework" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "choices"),
    [
        ("--precision", "fp64", "fp32, amp"),
        ("--precision", "tf32", "fp32, amp"),
        ("--layout", "diagonal", "channels_last, channels_first"),
        ("--strategy", "horovod", "ddp"),
        ("--device", "tpu", "cpu"),
    ],
)
def test_a_value_that_is_not_among_the_choices(refusal, option, value, choices):
    said = refusal(option, value)
    assert f"{option[2:].upper()}='{value}'" in said
    assert said.endswith(f"choose one of {choices}.\n")


def test_an_unknown_loader(refusal, tmp_path):
    image(tmp_path / "data/a/1.jpg")
    said = refusal("--loader=nvjpeg", f"--data={tmp_path}/data")
    assert "LOADER='nvjpeg'" in said
    assert "choose one of torchvision." in said


def test_a_loader_for_synthetic_data(refusal):
    assert "LOADER=torchvision reads images" in refusal("--loader=torchvision")


def test_a_16_bit_type_without_amp(refusal):
    assert "goes with PRECISION=amp" in refusal("--amp-dtype=bf16")


@pytest.mark.parametrize("text", ["0", "-1", "x", "1.5", "", "1e3", "²", "9" * 30])
@pytest.mark.parametrize("option", ["--nodes", "--devices", "--batch", "--steps", "--repeats"])
def test_a_number_that_is_none(refusal, option, text):
    assert f"{option}: {text!r} is not a whole number" in refusal(f"{option}={text}")


@pytest.mark.parametrize(
    "word", ["--timeout=0", "--timeout=nan", "--timeout=inf", "--timeout=x", "--seed=-1"]
)
def test_a_number_out_of_bounds(refusal, word):
    assert repr(word.partition("=")[2]) in refusal(word)


def test_an_image_smaller_than_the_network_takes(refusal):
    assert "from 32 to" in refusal("--image-size=31")


def test_more_nodes_than_one_machine_can_stand_for(refusal):
    assert "1000000 ranks are too many" in refusal("--nodes=1000000", "--devices=1")


def test_more_devices_than_there_are(refusal):
    cores = usable_cores()
    said = refusal(f"--devices={cores + 1}")
    assert f"DEVICES={cores + 1}: this machine has {cores} cores" in said


@pytest.mark.parametrize("cases", ["nonsense", "1n", "0n1g", "1n0g", "1n1g,4x8", "1n1g;2n1g"])
def test_cases_that_are_none(refusal, cases):
    assert "is not a case: write nodes and devices as 4n8g" in refusal(f"--cases={cases}")


def test_an_empty_list_of_cases(refusal):
    assert "names nothing" in refusal("--cases=,")


def test_a_case_with_more_devices_than_there_are(refusal):
    assert "CASES with 999 devices per node: this machine has" in refusal("--cases=1n999g")


def test_an_unknown_option(refusal):
    assert "--batchsize" in refusal("--batchsize=3")


class TestHostFile:
    def refuse(self, refusal, text, *words):
        Path("hosts").write_bytes(text)  # in the folder of the test
        return refusal("--hostfile=hosts", *words)

    def test_missing(self, refusal):
        assert "missing cannot be read: No such file" in refusal("--hostfile=missing")

    def test_a_folder(self, refusal):
        assert "cannot be read: Is a directory" in refusal("--hostfile=.")

    @pytest.mark.parametrize("text", [b"", b"\n\n", b"# nobody\n"])
    def test_empty(self, refusal, text):
        assert "names no host" in self.refuse(refusal, text)

    def test_not_text(self, refusal):
        assert "not UTF-8 text" in self.refuse(refusal, b"\xff\xfeh")

    @pytest.mark.parametrize("name", ["$(touch x)", "`x`", "a;b", "-oProxyCommand=x", "a/b", "é"])
    def test_a_name_that_is_none(self, refusal, name):
        said = self.refuse(refusal, f"localhost slots=1\n{name}\n".encode())
        assert "hosts:2: " in said
        assert "is not a host name or address" in said
        assert not Path("x").exists()

    @pytest.mark.parametrize("option", ["slots=0", "slots=x", "slots", "cores=4", "slots = 4"])
    def test_a_line_that_is_not_understood(self, refusal, option):
        assert "is not understood; write slots=N" in self.refuse(refusal, f"a {option}\n".encode())

    def test_a_host_that_stands_there_twice(self, refusal):
        assert "hosts:2: 'a' stands there twice" in self.refuse(refusal, b"a\na\n")

    def test_too_few_hosts(self, refusal):
        said = self.refuse(refusal, b"localhost\n", "--nodes=2")
        assert "NODES=2 needs 2 hosts, and the host file names 1" in said

    @needs_two_cores
    def test_too_few_slots(self, refusal):
        said = self.refuse(refusal, b"localhost slots=1\n", "--devices=2")
        assert "DEVICES=2: host localhost has 1 slots" in said

    def test_two_names_of_one_machine(self, refusal):
        text = f"localhost\n{socket.gethostname()}\n".encode()
        said = self.refuse(refusal, text, "--nodes=2", "--devices=1")
        assert "both this machine" in said


def image(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    file = io.BytesIO()
    Image.effect_noise((40, 30), 60).save(file, "JPEG")
    path.write_bytes(file.getvalue())
    return path


class TestData:
    def test_missing(self, refusal, tmp_path):
        assert f"{tmp_path}/nothing cannot be read" in refusal("--data=nothing")

    def test_no_name(self, refusal):
        assert "--data: it names nothing" in refusal("--data=")

    def test_an_empty_folder(self, refusal, tmp_path):
        (tmp_path / "data").mkdir()
        assert f"{tmp_path}/data holds no folders" in refusal("--data=data")

    def test_a_folder_of_text_files(self, refusal, tmp_path):
        (tmp_path / "data/a").mkdir(parents=True)
        (tmp_path / "data/a/notes.txt").write_text("no image")
        assert f"{tmp_path}/data/a/notes.txt is not an image" in refusal("--data=data")

    def test_a_text_file_named_as_an_image(self, refusal, tmp_path):
        image(tmp_path / "data/a/1.jpg").write_text("no image")
        assert "data/a/1.jpg is not an image" in refusal("--data=data")

    def test_a_jpeg_cut_in_half(self, refusal, tmp_path):
        for number in range(3):
            path = image(tmp_path / f"data/train/a/{number}.jpg")
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
        assert f"{path} is cut off" in refusal("--data=data")


class TestResultsFolder:
    def test_below_a_file(self, refusal, tmp_path):
        (tmp_path / "file").touch()
        said = refusal(results=tmp_path / "file/results")
        assert f"{tmp_path}/file/results cannot be written" in said

    def test_a_file(self, refusal, tmp_path):
        (tmp_path / "file").touch()
        assert f"{tmp_path}/file cannot be written" in refusal(results=tmp_path / "file")

    @pytest.mark.skipif(os.getuid() == 0, reason="root can write to any folder")
    def test_read_only(self, refusal, tmp_path):
        (tmp_path / "locked").mkdir(mode=0o555)
        assert "cannot be written" in refusal(results=tmp_path / "locked/results")


@pytest.fixture
def small_disk(tmp_path):
    """Return a function that mounts a file system of so many MiB; all are unmounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = []

    def mount(size):
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}m", "dlscale-test", str(folder)]
        if os.getuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("only root can mount a small file system to fill, and not everywhere")
        mounted.append(folder)
        return folder

    yield mount
    for one in mounted:
        subprocess.run(["umount", "--lazy", str(one)], check=True)


def test_a_disk_that_is_full_from_the_start(refusal, small_disk):
    said = refusal(results=small_disk(4) / "results")
    assert "is full (4 MiB free, 16 needed): free some space" in said


@needs_two_cores
def test_a_disk_that_fills_up_in_mid_run(small_disk, tmp_path):
    options = ("--devices=2", "--cases=1n1g,1n2g", "--repeats=1")
    bench = Bench(small_disk(24), *options, faults="flood@1n2g_1/1")
    bench.places = (f"--results={bench.results}", f"--reports={tmp_path}/reports")
    done = bench.run()
    assert done.returncode == 2
    said = done.stderr.splitlines()[-1]
    assert said.startswith(f"dlscale: The results folder {bench.folder} is full: free some space")
    assert "Traceback" not in done.stderr
    assert bench.repeat("1n1g", 1).outcome == "completed"
    place = bench.place("1n2g", 1)
    assert not processes_with(token_of(place))
    assert sorted(path.name for path in place.iterdir() if path.suffix != ".log") == []
    (place / "rank1.log").unlink()
    resumed = bench.resume()
    assert resumed.returncode == 0, resumed.stderr
    assert bench.repeat("1n2g", 1).outcome == "completed"


class TestPython:
    def test_of_another_version(self, refusal):
        root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
        pythons = [*root.glob("3.*/bin/python"), *Path("/usr/bin").glob("python3.[0-9]*[0-9]")]
        versions = {str(path): version_of(str(path)) for path in pythons}
        others = [path for path, version in versions.items() if version not in {"", "3.11"}]
        if not others:
            pytest.skip("this machine has no Python of another version than 3.11")
        said = refusal(f"--python={others[0]}")
        assert f"{others[0]} is Python {versions[others[0]]}: name a Python 3.11" in said

    @pytest.mark.parametrize("python", ["/bin/false", "no-such-python", "."])
    def test_that_does_not_run(self, refusal, python):
        assert f"{python} does not run" in refusal(f"--python={python}")


class TestCompiler:
    WORDS = ("--compile", "--device=cpu", "--dry-run")

    @pytest.fixture(autouse=True)
    def no_tools(self, monkeypatch, tmp_path):
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("CXX", raising=False)

    def test_none_on_the_path(self, refusal):
        said = refusal(*self.WORDS, framework="pytorch")
        assert "torch.compile needs a compiler, and g++ is not on PATH" in said

    def test_the_named_one_is_not_there(self, refusal, monkeypatch):
        monkeypatch.setenv("CXX", "my-c++")
        assert "my-c++ (CXX) is not on PATH" in refusal(*self.WORDS, framework="pytorch")


def test_a_run_to_resume_that_does_not_exist(refusal, tmp_path):
    said = refusal("--resume=20200101-000000-toy")
    assert f"neither a run's folder nor a run in {tmp_path}/results" in said


def test_no_run_to_resume(refusal, tmp_path):
    assert f"There is no run in {tmp_path}/results yet" in refusal("--resume")


def test_the_process_itself_ends_with_2_and_one_line():
    command = [sys.executable, "-m", "runners.cli", "bench", "nonsense"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=TOY.parents[1])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("dlscale: Unknown framework 'nonsense'")
    assert done.stderr.count("\n") == 1
