"""`dlscale data convert`: what it writes, how it goes on, and what it refuses."""

import io
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from form_readers import READERS, unframe
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from results.errors import InputError
from runners import convert as module
from runners.cli import main
from runners.convert import UNFINISHED, convert, verify
from runners.forms.index import check_form, read_index
from runners.forms.recordio import MAGIC, frame, walk
from runners.forms.registry import FORMS
from runners.forms.tree import plan_tree
from runners.lock_file import held

ROOT = Path(__file__).parents[2]


def jpeg(seed=0, size=(24, 18), mode="RGB", kind="JPEG"):
    file = io.BytesIO()
    noise = random.Random(seed).randbytes(size[0] * size[1] * len(mode))
    Image.frombytes(mode, size, noise).save(file, kind)
    return file.getvalue()


def tree(folder, files):
    for name, content in files.items():
        path = folder / "train" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def truth(source):
    """Return (bytes, label) of each image, labels being places among the sorted class names."""
    folders = sorted(path.name for path in (source / "train").iterdir())
    return sorted(
        (path.read_bytes(), label)
        for label, name in enumerate(folders)
        for path in (source / "train" / name).iterdir()
    )


def read(form, folder):
    return [(content, label) for content, label, _ in READERS[form](folder)]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def source(tmp_path):
    names = [f"{'nm'[number % 2]}{number % 7}/{number}.JPEG" for number in range(40)]
    return tree(tmp_path / "images", {name: jpeg(n) for n, name in enumerate(names)})


def refusal(*arguments, **options):
    with pytest.raises(InputError) as caught:
        convert(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=20)
@given(data=st.data())
def test_any_names_sizes_and_labels_come_back(form, data):
    blanks = "" if form == "filelist" else " \u3000"
    signs = st.characters(codec="utf-8", exclude_characters="/\0" + blanks, exclude_categories="CZ")
    name = st.text(signs | st.sampled_from(blanks or "x"), min_size=1, max_size=20)
    named = name.filter(lambda text: not text.startswith("."))
    classes = data.draw(st.dictionaries(named, st.integers(1, 4), min_size=1, max_size=5))
    size = st.tuples(st.integers(1, 60), st.integers(1, 60))
    files = {
        f"{one}/{data.draw(named)}{number}.JPEG": jpeg(
            number, data.draw(size), data.draw(st.sampled_from(["RGB", "L", "CMYK"]))
        )
        for one, images in classes.items()
        for number in range(images)
    }
    with tempfile.TemporaryDirectory() as folder:
        images = tree(Path(folder) / "images", files)
        to = Path(folder) / "made"
        index = convert(images, FORMS[form], to, shards=data.draw(st.none() | st.integers(1, 9)))
        assert sorted(read(form, to)) == truth(images)
        assert index.classes == sorted(classes)
        assert (index.images, index.image_bytes) == (len(files), sum(map(len, files.values())))


def test_a_tfrecord_says_what_imagenets_do(tmp_path):
    files = {
        "n01/a.JPEG": jpeg(1, (30, 20)),
        "n01/b.JPEG": jpeg(2, (8, 9), "L"),
        "n02/c.JPEG": jpeg(3, (5, 4), kind="PNG"),
    }
    convert(tree(tmp_path / "images", files), FORMS["tfrecord"], tmp_path / "made")
    found = {
        values["image/filename"]: values for *_, values in READERS["tfrecord"](tmp_path / "made")
    }
    a, b, c = (found[name] for name in (b"a.JPEG", b"b.JPEG", b"c.JPEG"))
    assert (a["image/width"], a["image/height"], a["image/channels"]) == (30, 20, 3)
    assert (a["image/format"], a["image/colorspace"]) == (b"JPEG", b"RGB")
    assert (b["image/colorspace"], b["image/channels"]) == (b"Grayscale", 1)
    assert (c["image/format"], c["image/class/synset"], c["image/class/label"]) == (
        b"PNG",
        b"n02",
        1,
    )


@given(
    st.lists(st.binary(max_size=9) | st.just(MAGIC) | st.just(bytes(4)), max_size=9).map(b"".join)
)
def test_a_record_that_holds_the_magic_number(data):
    framed = frame(data)
    assert unframe(framed, 0) == (data, len(framed))
    # A reader finds no other beginning of a record at a multiple of four bytes.
    starts = [at for at in range(0, len(framed), 4) if framed[at : at + 4] == MAGIC]
    kinds = [struct.unpack_from("<I", framed, at + 4)[0] >> 29 for at in starts]
    assert [kind for kind in kinds if kind in {0, 1}] == kinds[:1]
    assert list(walk(io.BytesIO(framed * 3), 0, 3 * len(framed))) == [
        number * len(framed) for number in range(3)
    ]


@pytest.mark.parametrize("form", FORMS)
def test_processes_write_the_same_as_one(tmp_path, source, form):
    one = convert(source, FORMS[form], tmp_path / "one", shards=5, workers=1)
    two = convert(source, FORMS[form], tmp_path / "two", shards=5, workers=2)
    assert one == two
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert UNFINISHED not in contents(tmp_path / "one")


@pytest.mark.parametrize("form", ["tfrecord", "ofrecord"])
def test_each_shard_has_images_of_several_classes(tmp_path, source, form):
    index = convert(source, FORMS[form], tmp_path / "made", shards=4)
    assert [shard.images for shard in index.shards] == [10] * 4
    labels = [label for _, label in read(form, tmp_path / "made")]
    assert all(len(set(labels[at : at + 10])) > 2 for at in range(0, 40, 10))


def broken_off(source, form, to, monkeypatch, *, after, at="_write_shard"):
    """Convert, and break off at the call of so many that `at` names."""
    calls, call = [], getattr(module, at)

    def stops(*arguments):
        calls.append(arguments)
        if len(calls) > after:
            raise KeyboardInterrupt
        return call(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(module, at, stops)
        with pytest.raises(KeyboardInterrupt):
            convert(source, form, to, shards=5, workers=1)


BREAKS = [("_write_shard", 0), ("_write_shard", 3), ("_join", 0), ("verify_files", 0)]


@pytest.mark.parametrize(
    ("form", "at", "after"),
    [
        (name, at, after)
        for name, form in FORMS.items()
        for at, after in BREAKS
        if not (at == "_join" and not form.single) and not (form.lists and after)
    ],
)
def test_what_was_interrupted_is_not_finished_and_goes_on(
    tmp_path, source, form, at, after, monkeypatch
):
    form, to, whole = FORMS[form], tmp_path / "made", tmp_path / "whole"
    convert(source, form, whole, shards=5)
    broken_off(source, form, to, monkeypatch, after=after, at=at)
    with pytest.raises(InputError, match="not finished"):
        module.require_finished(to)
    with pytest.raises(InputError, match=r"form.json cannot be read"):
        verify(to)
    written = []
    write = module._write_shard
    monkeypatch.setattr(module, "_write_shard", lambda *a: written.append(a[2].number) or write(*a))
    convert(source, form, to, shards=5, workers=1)
    done = after if at == "_write_shard" else 5
    assert len(written) == max(0, (1 if form.lists else 5) - done)
    assert contents(to) == contents(whole)


@pytest.mark.parametrize("half", [".train.idx.k2x", ".form.json.k2x"])
def test_a_call_that_was_killed_as_it_renamed_a_file_goes_on(tmp_path, source, half, monkeypatch):
    form, to, whole = FORMS["recordio"], tmp_path / "made", tmp_path / "whole"
    convert(source, form, whole, shards=5)
    broken_off(source, form, to, monkeypatch, after=0, at="verify_files")
    (to / half).write_bytes(b"half")
    convert(source, form, to, shards=5, workers=1)
    assert contents(to) == contents(whole)


def test_a_place_among_the_images_is_refused(tmp_path, source):
    del tmp_path
    place = source / "train" / "forms"
    assert "is among the images" in refusal(source, FORMS["tfrecord"], place)
    assert not place.exists()


@pytest.mark.parametrize(
    ("form", "joined"), [("tfrecord", 0), *(("recordio", parts) for parts in (0, 1, 3, 5))]
)
def test_a_shard_whose_image_changed_is_made_again(tmp_path, source, form, joined, monkeypatch):
    form, to = FORMS[form], tmp_path / "made"
    broken_off(source, form, to, monkeypatch, after=0, at="_index_of")
    parts = sorted((to / UNFINISHED).glob("part-*"))[:joined]
    if joined:  # as if that many parts had been appended, and half of the next
        following = b"".join(part.read_bytes() for part in parts) + b"half a part"
        (to / UNFINISHED / form.file).write_bytes(following)
        for part in parts:
            part.unlink()
    changed = plan_tree(source, form, 5).shards[2].pictures[3]
    Path(changed.path).write_bytes(jpeg(999, (50, 50)))
    convert(source, form, to, shards=5)
    assert sorted(read(form.name, to)) == truth(source)
    verify(to)


def test_a_killed_conversion_leaves_no_process_and_goes_on(tmp_path):
    files = {f"c{n % 9}/{n}.JPEG": jpeg(n, (200, 200)) for n in range(300)}
    source, to = tree(tmp_path / "images", files), tmp_path / "made"
    options = ["--form=tfrecord", f"--to={to}", "--workers=2", "--shards=150"]
    command = [sys.executable, "-m", "runners.cli", "data", "convert", str(source), *options]
    for sign in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        driver = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE)
        before = len(list((to / UNFINISHED).glob("[0-9]*.json")))
        while driver.poll() is None and (
            len(list((to / UNFINISHED).glob("[0-9]*.json"))) < before + 2
        ):
            time.sleep(0.002)
        driver.send_signal(sign)
        driver.communicate()
        if driver.returncode == 0:
            pytest.skip("the conversion was done before it could be stopped")
        deadline = time.monotonic() + 60
        while left := [p for p in Path("/proc").glob("[0-9]*/cwd") if of_pool(p, driver.pid)]:
            assert time.monotonic() < deadline, left
            time.sleep(0.05)
        assert not (to / "form.json").exists()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(read("tfrecord", to)) == truth(source)


def of_pool(path, driver):
    """Tell whether a process was started by a driver, from how `multiprocessing` starts them."""
    try:
        return f"parent_pid={driver}" in (path.parent / "cmdline").read_text().replace("\0", " ")
    except OSError:
        return False


def test_two_at_once_are_refused(tmp_path, source):
    to = tmp_path / "made"
    (to / UNFINISHED).mkdir(parents=True)
    (to / UNFINISHED / "job.json").write_text(
        json.dumps({"form": "tfrecord", "source": str(source / "train")})
    )
    with held(to / UNFINISHED, "held by"):
        assert "is being written by another process" in refusal(source, FORMS["tfrecord"], to)


def test_done_once_it_is_only_checked(tmp_path, source, monkeypatch):
    to = tmp_path / "made"
    convert(source, FORMS["ofrecord"], to)
    monkeypatch.setattr(module, "_write_shard", None)
    assert convert(source, FORMS["ofrecord"], to).images == 40


@pytest.mark.parametrize("form", FORMS)
def test_any_damage_is_found(tmp_path, source, form):
    to = tmp_path / "made"
    index = convert(source, FORMS[form], to, shards=3)
    assert verify(to) == index
    for shard in (*index.shards, *index.others):
        path = to / shard.file
        whole = path.read_bytes()
        place = random.Random(0).randrange(shard.offset, shard.offset + shard.size)
        flipped = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        for content, said in ((flipped, "is damaged"), (whole[:-1], ""), (None, "cannot be read")):
            path.unlink()
            if content is not None:
                path.write_bytes(content)
            with pytest.raises(InputError) as caught:
                verify(to)
            assert str(path) in str(caught.value)
            assert said in str(caught.value)
            if content != flipped:
                with pytest.raises(InputError, match=shard.file):
                    check_form(to)
            path.write_bytes(whole)
    assert verify(to) == index


def test_a_wrong_count_is_found(tmp_path, source):
    convert(source, FORMS["tfrecord"], tmp_path / "made", shards=2)
    path = tmp_path / "made/form.json"
    path.write_text(path.read_text().replace('"images": 20', '"images": 21'))
    with pytest.raises(InputError, match="holds 20 images, not 21"):
        verify(tmp_path / "made")
    with pytest.raises(InputError, match="counts its images wrongly"):
        check_form(tmp_path / "made")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"form": "tfrecord"', '"form": "parquet"', "of form 'parquet', version 1, which this"),
        ('"version": 1', '"version": 99', "version 99, which this dlscale does not know"),
        ('"images"', '"pictures"', "is not an index of a form"),
        ("{", "", "is not an index of a form"),
    ],
)
def test_an_index_that_is_none(tmp_path, source, old, new, said):
    convert(source, FORMS["tfrecord"], tmp_path / "made", shards=2)
    path = tmp_path / "made/form.json"
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=said):
        read_index(tmp_path / "made")


def test_a_listed_image_that_has_gone_is_named(tmp_path, source):
    convert(source, FORMS["filelist"], tmp_path / "made")
    (gone,) = (source / "train").glob("*/17.JPEG")
    gone.unlink()
    for check in (check_form, verify):
        with pytest.raises(InputError, match=str(gone)):
            check(tmp_path / "made")


class TestRefusals:
    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"", "is empty"),
            (b"<html>", "is not an image"),
            (jpeg()[:-100], "is cut off"),
            (jpeg(kind="BMP"), "is neither a JPEG nor a PNG"),
        ],
    )
    def test_a_file_that_is_no_jpeg(self, tmp_path, source, form, content, said):
        (source / "train/m1/1.JPEG").write_bytes(content)
        refused = refusal(source, FORMS[form], tmp_path / "made", workers=1, shards=4)
        assert f"{source}/train/m1/1.JPEG {said}" in refused
        (source / "train/m1/1.JPEG").write_bytes(jpeg())
        convert(source, FORMS[form], tmp_path / "made", shards=4)
        assert sorted(read(form, tmp_path / "made")) == truth(source)

    def test_a_file_that_a_process_meets(self, tmp_path, source):
        (source / "train/m1/1.JPEG").write_bytes(b"")
        said = refusal(source, FORMS["tfrecord"], tmp_path / "made", workers=2, shards=4)
        assert said == (
            f"{source}/train/m1/1.JPEG is empty: replace or remove it, then convert again."
        )

    def test_a_jpeg_without_a_size(self, tmp_path, source):
        (source / "train/m1/1.JPEG").write_bytes(b"\xff\xd8\xff\xd9")
        said = refusal(source, FORMS["tfrecord"], tmp_path / "made")
        assert "1.JPEG has no header that can be read" in said

    @pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
    def test_an_unreadable_file(self, tmp_path, source):
        (source / "train/m1/1.JPEG").chmod(0)
        assert "Permission denied" in refusal(source, FORMS["tfrecord"], tmp_path / "made")

    def test_no_such_folder_and_no_classes(self, tmp_path):
        assert "No such file" in refusal(tmp_path / "no", FORMS["tfrecord"], tmp_path / "made")
        assert "holds no folders" in refusal(tmp_path, FORMS["tfrecord"], tmp_path / "made")
        assert not (tmp_path / "made").exists()

    def test_a_folder_with_something_else_in_it(self, tmp_path, source):
        to = tmp_path / "made"
        to.mkdir()
        (to / "train-00000-of-00064").write_bytes(b"somebody's")
        assert "holds 'train-00000-of-00064'" in refusal(source, FORMS["tfrecord"], to)
        assert contents(to) == {"train-00000-of-00064": b"somebody's"}

    def test_a_file_in_the_folders_place(self, tmp_path, source):
        (tmp_path / "made").touch()
        assert "is not a folder" in refusal(source, FORMS["tfrecord"], tmp_path / "made")

    def test_another_conversion_is_there(self, tmp_path, source, monkeypatch):
        to = tmp_path / "made"
        broken_off(source, FORMS["tfrecord"], to, monkeypatch, after=2)
        said = refusal(source, FORMS["ofrecord"], to)
        assert f"unfinished conversion of {source}/train to tfrecord" in said
        convert(source, FORMS["tfrecord"], to, shards=5)
        assert "holds tfrecord files of" in refusal(source, FORMS["ofrecord"], to)
        assert "holds tfrecord files of" in refusal(source, FORMS["tfrecord"], to, shards=6)

    def test_a_blank_in_a_file_list(self, tmp_path):
        images = tree(tmp_path / "images", {"a b/1.JPEG": jpeg()})
        assert "a b/1.JPEG holds a blank" in refusal(images, FORMS["filelist"], tmp_path / "made")

    def test_a_class_that_is_not_utf8(self, tmp_path):
        images = tree(tmp_path / "images", {"\udcff/1.JPEG": jpeg()})
        with pytest.raises(InputError, match="not UTF-8"):
            convert(images, FORMS["tfrecord"], tmp_path / "made")

    def test_a_full_disk(self, tmp_path, source):
        small = tmp_path / "disk"
        small.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=32k", "dlscale-test", str(small)]
        if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("only root can mount a small file system to fill, and not everywhere")
        try:
            said = refusal(source, FORMS["tfrecord"], small / "made")
            assert f"The disk of {small}/made has no room" in said
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(module, "SLACK", 0)
                for workers in (1, 2):
                    said = refusal(source, FORMS["tfrecord"], small / "made", workers=workers)
                    assert f"The disk of {small}/made is full: free some space" in said
        finally:
            subprocess.run(["umount", "--lazy", str(small)], check=True)


class TestCommand:
    def test_converts_and_verifies(self, tmp_path, source, capsys):
        to = tmp_path / "made"
        words = ["data", "convert", str(source), "--form=tfrecord", f"--to={to}"]
        assert main(words) == 0
        assert "40 images of 14 classes as tfrecord" in capsys.readouterr().out
        assert main(["data", "convert", "--verify", f"--to={to}"]) == 0
        (to / "train-00003-of-00040").write_bytes(b"")
        assert main(["data", "convert", "--verify", f"--to={to}"]) == 2
        assert f"{to}/train-00003-of-00040 is cut off" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (["images", "--form=tfrecord"], "Name the folder of the form with --to"),
            (["--form=tfrecord", "--to=there"], "Name the folder of images"),
            (
                ["images", "--to=there"],
                "A conversion needs --form: choose one of tfrecord, recordio",
            ),
            (["images", "--form=parquet", "--to=there"], "FORM='parquet' is no form"),
            (["images", "--verify", "--to=there"], "--verify looks at --to alone"),
            (["--verify", "--to=there"], "there/form.json cannot be read"),
        ],
    )
    def test_what_is_missing_is_named(self, words, said, capsys, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert main(["data", "convert", *words]) == 2
        assert said in capsys.readouterr().err
        assert not list(tmp_path.iterdir())
