"""From the frameworks that are asked for to one plan."""

import re
import shutil
from dataclasses import replace

import pytest
from made_up import machine
from toy_bench import TOY

from results.errors import InputError
from runners import selection
from runners.implementations import implementations
from runners.prepare import require_launchers
from runners.request import Request
from runners.selection import select

SMALL = {"data": "synthetic", "devices": 1}


def chosen(framework, where=None, **options):
    return select(Request(framework=framework, **{**SMALL, **options}), where or machine(), None)


def test_all_are_all_that_come_with_dlscale():
    assert list(chosen("all").manifests) == implementations()


def test_cases_of_one_size_follow_each_other():
    found = chosen("pytorch,tensorflow", machine(cores=4), devices=2)
    named = [(case.label, case.implementation) for case in found.plan.cases]
    sizes = [
        ("1n1g", "pytorch"),
        ("1n1g", "tensorflow"),
        ("1n2g", "pytorch"),
        ("1n2g", "tensorflow"),
    ]
    assert named == sizes
    assert len(found.plan.notes) == len(set(found.plan.notes))


def test_of_all_who_cannot_is_left_out_and_the_reason_is_told():
    found = chosen("all", precision="amp")
    assert "amp" in found.left_out["paddlepaddle"]
    assert "auto_cast" in found.left_out["paddlepaddle"]
    assert not found.manifests.keys() & found.left_out.keys()
    assert "pytorch" in found.manifests


def test_who_was_named_and_cannot_is_refused():
    with pytest.raises(InputError, match="PRECISION='amp' is not possible on cpu"):
        chosen("pytorch,paddlepaddle", precision="amp")


def test_what_no_one_can_is_refused_by_one_sentence():
    with pytest.raises(InputError) as caught:
        chosen("all", devices=64)
    assert str(caught.value).count("DEVICES=64") == 1
    with pytest.raises(InputError) as caught:
        chosen("all", strategy=["telepathy"])
    for name in implementations():
        assert f"{name}: STRATEGY='telepathy'" in str(caught.value)


def test_several_are_compared_on_one_kind_of_device():
    where = machine(gpus=1)
    found = chosen("all", where)
    assert {case.device for case in found.plan.cases} == {"cuda"}
    assert "cuda" in found.left_out["paddlepaddle"]
    with pytest.raises(InputError, match="DEVICE='cuda' is not possible on paddlepaddle"):
        chosen("pytorch,paddlepaddle", where)
    assert chosen("paddlepaddle", where).plan.cases[0].device == "cpu"


def test_two_folders_of_one_name_are_refused(tmp_path):
    copy = shutil.copytree(TOY, tmp_path / "toy")
    assert list(chosen(f"{TOY},{TOY}").manifests) == ["toy"]
    with pytest.raises(InputError, match="both called 'toy'"):
        chosen(f"{TOY},{copy}")


def test_all_is_no_part_of_a_list():
    with pytest.raises(InputError, match="leave the other names out"):
        chosen("pytorch,all")


def test_in_a_list_a_refusal_says_whose_it_is():
    with pytest.raises(
        InputError, match=r"^mxnet: LOADER='tfrecord' .*leave mxnet out of the list"
    ):
        chosen("mxnet,tensorflow", data=None, loader="tfrecord")


def test_a_backend_whose_program_is_missing_is_refused(monkeypatch):
    monkeypatch.setattr(selection.shutil, "which", lambda _: None)
    with pytest.raises(InputError, match="BACKEND=mpi needs mpirun, which is not on PATH"):
        chosen("mxnet", backend=["mpi"])
    assert chosen("mxnet").manifests


def test_one_loader_name_for_two_kinds_of_files_is_refused(tmp_path):
    for name, form in (("one", ""), ("two", '[forms]\ntorchvision = "tfrecord"\n')):
        folder = shutil.copytree(TOY, tmp_path / name)
        manifest = folder / "benchmark.toml"
        text = manifest.read_text().replace('\nname = "toy"', f'\nname = "{name}"')
        manifest.write_text(text + form)
    found = chosen(f"{tmp_path}/one,{tmp_path}/two", data=None)
    with pytest.raises(InputError, match="LOADER=torchvision reads other files in two"):
        assert found.forms


def test_without_names_their_cases_are_gone():
    left = chosen("pytorch,tensorflow").without({"pytorch"})
    assert {case.implementation for case in left.plan.cases} == {"tensorflow"}
    assert list(left.manifests) == ["tensorflow"]


def test_a_compiler_that_is_missing_leaves_out_who_needs_it(monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(selection.shutil, "which", lambda _: None)
    found = chosen("all", compile=True)
    assert re.search("torch.compile needs a compiler, .* is not on PATH", found.left_out["pytorch"])
    assert "tensorflow" in found.manifests


def test_names_of_an_edition_stand_beside_our_own():
    found = chosen("pytorch,pytorch-examples", data=None, image_size=224, edition="dlperf-v1.0")
    assert list(found.manifests) == ["pytorch", "pytorch-examples"]
    assert found.manifests["pytorch-examples"].version == "1.6.0"
    assert chosen("pytorch-examples").manifests["pytorch-examples"].version != "1.6.0"


def test_all_of_an_edition_are_its_upstream_scripts():
    assert list(chosen("all", edition="today", data=None, image_size=224).manifests) == [
        name for name in implementations("today") if name != "oneflow-models"
    ]


def test_an_edition_that_is_none_is_named():
    with pytest.raises(InputError, match=r"EDITION='old' is none of dlperf-v1.0, today"):
        chosen("pytorch-examples", edition="old")


def test_two_that_would_not_do_the_same_are_refused():
    with pytest.raises(InputError, match="image size 96 and 224; say IMAGE_SIZE=N for both"):
        chosen("pytorch,pytorch-examples")
    with pytest.raises(InputError, match="threads 1 and 2; say DEVICES=N for both"):
        chosen("pytorch,pytorch-examples", image_size=224, devices=None)


def test_a_launcher_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setenv("PATH", "")
    request = Request(framework="ngc-tensorflow", edition="dlperf-v1.0")
    contained = select(request, machine(cores=16, gpus=8), None)
    require_launchers(contained)  # the image has it
    outside = replace(contained.manifests["ngc-tensorflow"], container=None)
    with pytest.raises(InputError, match="is started by mpiexec, which is not on PATH"):
        require_launchers(replace(contained, manifests={"ngc-tensorflow": outside}))
