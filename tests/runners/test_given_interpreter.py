"""A Python that the user names: what it holds is asked of it, and a script's pin is held to."""

import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
from made_up import machine
from toy_bench import TOY, Bench, finished

from results.errors import InputError
from runners.environment import ensure_environment
from runners.given_interpreter import look_at
from runners.implementations import load_manifest
from runners.request import Request
from runners.selection import select


def install(folder, name, version):
    """Make a virtual environment that says that it holds a package."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    about = packages / f"{name.replace('-', '_')}-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return folder / "bin" / "python"


def selected(python, name, **options):
    wanted = {"data": "synthetic", "interpreter": str(python), **options}
    return select(Request(framework=name, device="cpu", devices=1, **wanted), machine(), None)


def test_what_it_holds_is_asked_of_it(tmp_path):
    python = install(tmp_path / "theirs", "Tensor_Flow.Cpu", "2.3.0+cu101")
    found = look_at(str(python))
    assert found.python == python
    assert found.version == sys.version.split()[0]
    assert found.packages == {"tensor-flow-cpu": "2.3.0+cu101"}
    assert found.site_packages.parents[2] == tmp_path / "theirs"


@pytest.mark.parametrize(
    ("held", "wanted", "version"),
    [
        ({"torch": "1.6.0+cu101"}, "torch", "1.6.0"),
        ({"tensorflow-gpu": "2.3.0"}, "tensorflow-cpu", "2.3.0"),
        ({"tensorflow": "2.3.0", "tensorflow-hub": "0.9.0"}, "tensorflow-cpu", "2.3.0"),
        ({"mxnet-cu102": "1.6.0"}, "mxnet", "1.6.0"),
        ({"torchvision": "0.7.0"}, "torch", ""),
    ],
)
def test_builds_of_a_framework_go_by_several_names(held, wanted, version):
    found = replace(look_at(sys.executable), packages=held)
    assert found.version_of(wanted) == version


@pytest.mark.parametrize("named", ["/bin/ls", "/no/python", "no-such-python", "/etc/passwd"])
def test_what_is_no_python_is_refused_by_name(named):
    with pytest.raises(InputError, match="INTERPRETER=") as caught:
        look_at(named)
    assert repr(named) in str(caught.value)


def test_another_version_than_the_pin_is_refused_with_what_goes_wrong(tmp_path):
    python = install(tmp_path / "theirs", "torch", "2.14.1")
    with pytest.raises(InputError) as caught:
        selected(python, "pytorch-examples", edition="dlperf-v1.0", data=None)
    said = str(caught.value)
    assert "is pinned to torch 1.6.0" in said
    assert "has 2.14.1: under torch 2 it fails in its accuracy function" in said
    assert "ANY_VERSION=1" in said
    regardless = {"edition": "dlperf-v1.0", "data": None, "any_version": True}
    found = selected(python, "pytorch-examples", **regardless)
    assert found.manifests["pytorch-examples"].version == "2.14.1"


def test_the_pinned_version_is_taken_whatever_it_was_built_for(tmp_path):
    python = install(tmp_path / "theirs", "torch", "1.6.0+cu101")
    found = selected(python, "pytorch-examples", edition="dlperf-v1.0", data=None)
    assert found.manifests["pytorch-examples"].version == "1.6.0"


def test_a_build_that_is_named_by_a_post_release_is_the_pinned_version(tmp_path):
    python = install(tmp_path / "theirs", "mxnet-cu102", "1.6.0.post0")
    found = selected(python, "gluon-cv", edition="dlperf-v1.0", data=None)
    assert found.manifests["gluon-cv"].version == "1.6.0.post0"


def test_our_own_scripts_run_on_any_version(tmp_path):
    python = install(tmp_path / "theirs", "torch", "2.3.1")
    assert selected(python, "pytorch").manifests["pytorch"].version == "2.3.1"


def test_who_finds_no_framework_there_is_refused_or_left_out(tmp_path):
    python = install(tmp_path / "theirs", "torch", "2.14.1")
    with pytest.raises(InputError, match="has no tensorflow, which tensorflow needs"):
        selected(python, "tensorflow")
    found = selected(python, "all")
    assert list(found.manifests) == ["pytorch"]
    assert "has no mxnet" in found.left_out["mxnet"]


def test_a_run_on_it_builds_nothing_and_records_what_it_held(tmp_path):
    python = install(tmp_path / "theirs", "toy", "3.2")
    bench = Bench(tmp_path / "home")
    options = ["--devices=1", "--repeats=1", f"--interpreter={python}"]
    done = finished(bench.start("bench", TOY, *bench.options, *options))
    assert done.returncode == 0, done.stderr
    record = bench.record
    assert record.environment["frameworks"]["toy"]["version"] == "3.2"
    held = record.environment["environments"]["toy"]
    assert held == {"folder": str(python), "packages": {"toy": "3.2"}}
    assert any(f"toy runs on {python}, with toy 3.2" in note for note in record.notes)
    assert bench.repeat("1n1g", 1).commands[0].arguments[0] == str(python)


def test_what_cannot_be_installed_says_so(tmp_path):
    folder = shutil.copytree(TOY, tmp_path / "theirs")
    text = (TOY / "benchmark.toml").read_text()
    text = text.replace('python = "3.11"\nrequirements = "requirements.lock"\n', "")
    for name, said in (
        ("gone", "cannot be installed any more (lost)"),
        ("container", "is in the container lost"),
    ):
        elsewhere = f'elsewhere = {{ version = "1.0", {name} = "lost" }}\nframework'
        (folder / "benchmark.toml").write_text(text.replace("framework", elsewhere, 1))
        manifest = load_manifest(str(folder))
        assert manifest.version == "1.0"
        with pytest.raises(InputError, match="INTERPRETER=PATH") as caught:
            ensure_environment(manifest, tmp_path / "environments")
        assert said in str(caught.value)


def test_a_script_whose_framework_is_elsewhere_is_not_fetched_for_nothing(tmp_path):
    theirs = load_manifest("ngc-pytorch", "dlperf-v1.0").folder
    folder = shutil.copytree(theirs, tmp_path / "theirs")
    text = (theirs / "benchmark.toml").read_text()
    text = text.replace("[on.cuda]", "[on.cpu]").replace("{ cuda =", "{ cpu =")
    text = text.replace("https://github.com/NVIDIA/DeepLearningExamples", "/no/repository")
    text = text.replace('container = "nvcr.io/nvidia/pytorch:20.03-py3"', 'gone = "lost"')
    (folder / "benchmark.toml").write_text(text)
    bench = Bench(tmp_path / "home")
    done = finished(bench.start("bench", folder, *bench.places, "--devices=1"))
    assert done.returncode == 2
    assert "cannot be installed any more (lost)" in done.stderr


def test_a_strategy_can_have_what_cannot_be_installed(tmp_path):
    folder = shutil.copytree(TOY, tmp_path / "theirs")
    text = (TOY / "benchmark.toml").read_text()
    text += '[strategy.far]\nstart = []\nbackends = { cpu = ["none"] }\n'
    text += '[strategy.far.elsewhere]\nversion = "2.0"\ngone = "lost"\n'
    (folder / "benchmark.toml").write_text(text)
    near, far = load_manifest(str(folder)).environments
    assert (near.elsewhere, near.environment_name) == (None, "toy")
    assert (far.pinned_version, far.environment_name) == ("2.0", "toy+far")
    with pytest.raises(InputError, match="INTERPRETER=PATH"):
        ensure_environment(far, tmp_path / "environments")
    assert load_manifest(str(folder)).for_strategy("ddp").elsewhere is None
