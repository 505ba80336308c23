"""Which data a run reads: class folders or a form, the user's or the sample's."""

import shutil
import subprocess
import sys
from dataclasses import asdict

import pytest
from rich.console import Console
from test_data_check import JPEG, tree
from toy_bench import TOY, Bench

from results.errors import InputError
from runners import input_data
from runners.convert import UNFINISHED, convert
from runners.forms.registry import FORMS
from runners.input_data import find_data
from runners.sample import sample_is_whole

FOLDERS = {"plain": ""}
RECORDS = {"records": "tfrecord"}


@pytest.fixture
def images(tmp_path):
    names = [f"train/{one}/{number}.JPEG" for one in "abc" for number in range(4)]
    return tree(tmp_path / "images", dict.fromkeys(names, JPEG))


@pytest.fixture
def records(tmp_path, images):
    convert(images, FORMS["tfrecord"], tmp_path / "records")
    return tmp_path / "records"


def refusal(named, forms):
    with pytest.raises(InputError) as caught:
        find_data(str(named), forms)
    return str(caught.value)


def test_a_folder_in_the_form_that_the_loader_reads(images, records):
    data = find_data(str(records), RECORDS)
    assert data.folder == data.folder_for("tfrecord") == records
    assert data.ready(Console(quiet=True)) == records
    facts, plain = data.facts(), find_data(str(images), FOLDERS).facts()
    assert set(facts) == set(plain)
    same = ("images", "classes", "mean_bytes")
    assert [facts[key] for key in same] == [plain[key] for key in same] == [12, 3, len(JPEG)]
    assert (facts["form"], plain["form"]) == ("tfrecord", "")


def test_images_for_a_loader_of_records(images):
    assert refusal(images, RECORDS) == (
        f"LOADER=records reads tfrecord files, and {images} is a folder of images: make them with "
        f"`dlscale data convert {images} --form tfrecord --to DIR`, then give DATA=DIR."
    )


def test_records_for_a_loader_of_images_or_of_another_form(images, records):
    for forms, reads in ((FOLDERS, "folders of images"), ({"other": "ofrecord"}, "ofrecord files")):
        said = refusal(records, forms)
        assert (
            f"{records} holds tfrecord files, and LOADER={next(iter(forms))} reads {reads}" in said
        )
        assert f"{images}/train" in said


def test_nothing_that_can_be_read(tmp_path):
    assert "No such file" in refusal(tmp_path / "nowhere", RECORDS)
    assert "holds no folders" in refusal(tmp_path, RECORDS)


def test_an_unfinished_conversion(records):
    (records / UNFINISHED).mkdir()
    (records / UNFINISHED / "job.json").touch()
    (records / "form.json").unlink()
    assert "is not finished" in refusal(records, RECORDS)


def test_a_shard_that_has_gone(records):
    (records / "train-00002-of-00012").unlink()
    assert "train-00002-of-00012 cannot be read" in refusal(records, RECORDS)


@pytest.fixture
def sample(tmp_path, monkeypatch):
    """Make a small sample take the place of dlscale's own."""
    monkeypatch.setattr(input_data, "SAMPLE", tmp_path / "sample")
    small = {"images": 6, "classes": 2}
    make = input_data.ensure_sample
    monkeypatch.setattr(input_data, "ensure_sample", lambda *some: make(*some, **small))
    return tmp_path / "sample"


def test_the_sample_is_converted_once_and_again_when_it_changes(sample, monkeypatch):
    data = find_data(None, {**FOLDERS, **RECORDS})
    console = Console(quiet=True)
    assert data.ready(console) == data.folder_for("") == sample / "train"
    made = data.folder_for("tfrecord")
    assert made == sample.with_name("sample-tfrecord")
    assert data.facts()["converted"] == {"tfrecord": str(made)}
    calls, call = [], input_data.convert.convert
    monkeypatch.setattr(
        input_data.convert, "convert", lambda *some, **more: calls.append(1) or call(*some, **more)
    )
    data.ready(console)
    assert not calls
    (made / "train-00001-of-00006").write_bytes(b"cut")
    data.ready(console)
    assert len(calls) == 1
    next((sample / "train").glob("*/*")).touch()
    data.ready(console)
    assert len(calls) == 2
    find_data(str(made), RECORDS)


def test_synthetic_data_have_no_form():
    assert asdict(find_data("synthetic", {"": ""}))["folder"] is None


def test_a_bench_reads_the_form_of_its_loader(tmp_path, monkeypatch, records, images):
    toy = tmp_path / "toy"
    shutil.copytree(TOY, toy)
    manifest = (
        (toy / "benchmark.toml").read_text().replace('["torchvision"]', '["plain", "records"]')
    )
    manifest = manifest.replace("[on.cpu]\n", '[forms]\nrecords = "tfrecord"\n\n[on.cpu]\n')
    (toy / "benchmark.toml").write_text(manifest)
    monkeypatch.setattr("toy_bench.TOY", toy)

    def dry_run(*options):
        return Bench(tmp_path, "--cases=1n1g", "--dry-run", *options, sizes=()).run()

    assert (
        f"--loader=records --data={records}"
        in dry_run("--loader=records", f"--data={records}").stdout
    )
    sample = f"{input_data.SAMPLE}-tfrecord"
    assert f"--loader=records --data={sample} " in dry_run("--loader=records").stdout
    assert f"--loader=plain --data={input_data.SAMPLE}/train" in dry_run().stdout
    refused = dry_run("--loader=records", f"--data={images}")
    assert refused.returncode == 2
    assert "is a folder of images: make them with `dlscale data convert" in refused.stderr


def test_two_runs_at_once_make_one_sample(tmp_path):
    folder = tmp_path / "sample"
    make = (
        "from pathlib import Path; from rich.console import Console\n"
        "from runners.input_data import ensure_sample\n"
        f"ensure_sample(Path({str(folder)!r}), Console(), images=64, classes=2)"
    )
    makers = [subprocess.Popen([sys.executable, "-c", make]) for _ in range(3)]
    assert [maker.wait() for maker in makers] == [0, 0, 0]
    assert sample_is_whole(folder, images=64, classes=2, seed=0, contents=True)
