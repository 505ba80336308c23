import io
import os
import shutil
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, JpegImagePlugin

from results.errors import InputError
from runners import sample
from runners.sample import make_sample, sample_checksum, sample_is_whole

WHOLE = {"images": 300, "classes": 7, "seed": 11}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "sample"
    make_sample(folder, **WHOLE)
    return folder


@pytest.fixture
def small(tmp_path):
    folder = tmp_path / "sample"
    make_sample(folder, images=3, classes=2, seed=0)
    return folder


def is_whole(folder, **other):
    return sample_is_whole(folder, **{"images": 3, "classes": 2, "seed": 0} | other)


def test_layout(whole):
    names = [f"n0000000{number}" for number in range(1, 8)]
    assert sorted(path.name for path in whole.iterdir()) == ["sample.json", "train", "val"]
    for split, count in (("train", 300), ("val", 30)):
        assert sorted(path.name for path in (whole / split).iterdir()) == names
        files = list((whole / split).glob("*/*"))
        assert len(files) == count
        assert all(path.name.startswith(path.parent.name) for path in files)
    assert (whole / "train/n00000001/n00000001_000000.JPEG").is_file()


def test_each_class_is_in_both_splits(tmp_path):
    make_sample(tmp_path / "sample", images=5, classes=5, seed=0)
    for split in ("train", "val"):
        assert [len(list(name.iterdir())) for name in (tmp_path / "sample" / split).iterdir()] == (
            [1] * 5
        )


def test_sizes_and_settings_are_distributed_as_imagenets(whole):
    sizes, modes, samplings, lengths = [], [], [], []
    for path in (whole / "train").glob("*/*"):
        lengths.append(path.stat().st_size)
        with Image.open(path) as image:
            image.load()
            assert image.format == "JPEG"
            assert "progressive" not in image.info
            sizes.append(image.size)
            modes.append(image.mode)
            if image.mode == "RGB":
                samplings.append(JpegImagePlugin.get_sampling(image))
    width, height = np.array(sizes).T
    long = np.maximum(width, height)
    usual = {(500, 375), (375, 500), (500, 374), (500, 376), (374, 500), (376, 500)}
    assert 450 < width.mean() < 510
    assert 385 < height.mean() < 440
    assert 0.24 < np.mean([size in usual for size in sizes]) < 0.42
    assert 0.62 < (long == 500).mean() < 0.68
    assert 0.22 < (long < 500).mean() < 0.28
    assert 0.01 < (long > 1024).mean() < 0.03
    assert long.min() < 150
    assert 0.17 < (height > width).mean() < 0.29
    assert 0.6 < samplings.count(0) / len(samplings) < 0.8  # 4:4:4
    assert 0 < modes.count("L") / len(modes) < 0.05
    assert set(modes) == {"L", "RGB"}
    assert 90_000 < np.mean(lengths) < 130_000
    assert np.quantile(lengths, 0.05) < 25_000
    assert np.quantile(lengths, 0.95) > 180_000


@settings(max_examples=8)
@given(seed=st.integers(0, 2**128), index=st.integers(0, 2_000_000))
def test_any_seed_gives_an_image_that_decodes(seed, index):
    image = Image.open(io.BytesIO(sample._jpeg(seed, index)))
    image.load()
    assert 64 <= max(image.size) <= 3072
    assert min(image.size) > 16


def test_same_seed_same_bytes_whatever_the_workers(tmp_path):
    for name, workers in (("one", 1), ("two", 2)):
        make_sample(tmp_path / name, images=16, classes=3, seed=5, workers=workers)
    assert (tmp_path / "one/sample.json").read_bytes() == (
        tmp_path / "two/sample.json"
    ).read_bytes()
    assert sample_checksum(tmp_path / "one") == sample_checksum(tmp_path / "two")


def test_other_seed_other_images():
    assert sample._jpeg(0, 0) != sample._jpeg(1, 0)
    assert sample._jpeg(0, 0) != sample._jpeg(0, 1)


def test_progress_counts_to_all_files(tmp_path):
    calls = []
    make_sample(
        tmp_path / "sample", images=3, classes=2, seed=0, progress=lambda *call: calls.append(call)
    )
    assert calls == [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]


def test_folder_can_be_read_by_whom_any_new_one_can(small, tmp_path):
    (tmp_path / "other").mkdir()
    assert small.stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("workers", [1, 2])
def test_interruption_leaves_nothing(tmp_path, workers):
    def interrupt(done, _total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_sample(
            tmp_path / "sample", images=40, classes=2, seed=0, workers=workers, progress=interrupt
        )
    assert list(tmp_path.iterdir()) == []


def test_interrupt_from_the_keyboard_leaves_nothing(tmp_path):
    code = (
        "import sys, pathlib, runners.sample as s; s.make_sample(pathlib.Path(sys.argv[1]), "
        "images=1500, classes=2, seed=0, workers=2, progress=lambda *c: print(c, flush=True))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path / "sample"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that the signal reaches the processes as from a terminal
    ) as process:
        assert process.stdout.readline() == "(1, 1650)\n"
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    assert process.returncode != 0
    assert errors.count("KeyboardInterrupt") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"classes": 0}, "classes is 0: give 1 to 1000."),
        ({"classes": 1001, "images": 2000}, "classes is 1001: give 1 to 1000."),
        ({"images": 1}, "images is 1: give at least one for each of 2 classes."),
        ({"seed": -1}, "seed is -1: give 0 or more."),
    ],
)
def test_numbers_that_make_no_sense(tmp_path, numbers, message):
    with pytest.raises(InputError) as caught:
        make_sample(tmp_path / "sample", **{"images": 3, "classes": 2, "seed": 0} | numbers)
    assert str(caught.value) == message
    assert list(tmp_path.iterdir()) == []


def test_what_exists_is_not_overwritten(tmp_path, small):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    for folder in (small, tmp_path / "file", tmp_path / "link", tmp_path / "empty"):
        with pytest.raises(InputError, match=f"{folder} exists already: remove it"):
            make_sample(folder, images=3, classes=2, seed=0)
    assert is_whole(small, contents=True)


def test_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"file/sample cannot be made \(.*\): name a folder"):
        make_sample(tmp_path / "file/sample", images=3, classes=2, seed=0)


def test_no_room(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=400_000))
    with pytest.raises(InputError, match="has no room for 5 images of 1 MB in all: ask for fewer"):
        make_sample(tmp_path / "sample", images=3, classes=2, seed=0)
    assert list(tmp_path.iterdir()) == []


def test_whole(whole, small, tmp_path):
    assert sample_is_whole(whole, **WHOLE)
    assert is_whole(small, contents=True)
    for other in ({"images": 4}, {"classes": 1}, {"seed": 1}):
        assert not is_whole(small, **other)
    assert not is_whole(tmp_path / "nowhere")


def test_not_whole_with_a_file_less_more_or_shorter(small):
    path = small / "train/n00000001/n00000001_000000.JPEG"
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    assert not is_whole(small)
    path.write_bytes(content[:-1] + b"\0")
    assert is_whole(small)
    assert not is_whole(small, contents=True)
    path.unlink()
    assert not is_whole(small)
    path.write_bytes(content)
    assert is_whole(small, contents=True)
    path.with_name("more.JPEG").touch()
    assert not is_whole(small)


def test_not_whole_if_another_generator_made_it(small, monkeypatch):
    monkeypatch.setattr(sample, "GENERATOR", sample.GENERATOR + 1)
    assert not is_whole(small)


@settings(max_examples=50)
@given(record=st.binary() | st.sampled_from([b"{}", b"null", b'{"images":3}', b"[" * 9999]))
def test_any_record_is_read(tmp_path_factory, record):
    folder = tmp_path_factory.getbasetemp()
    (folder / "sample.json").write_bytes(record)
    assert not is_whole(folder)
