import io
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from results.errors import InputError
from runners.data_check import EXTENSIONS, ImageFolderFacts, check_image_folder


def encode(kind="JPEG", size=(40, 30), **options):
    file = io.BytesIO()
    Image.effect_noise(size, 60).save(file, kind, **options)
    return file.getvalue()


JPEG = encode()
THUMBNAIL = b"Exif\0\0" + encode(size=(16, 12))
# As a camera writes it: a whole JPEG inside the header of another.
WITH_THUMBNAIL = JPEG[:2] + b"\xff\xe1" + (len(THUMBNAIL) + 2).to_bytes(2) + THUMBNAIL + JPEG[2:]


def tree(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def refusal(folder, **options):
    with pytest.raises(InputError) as caught:
        check_image_folder(folder, **options)
    return str(caught.value)


def test_facts(tmp_path):
    tree(
        tmp_path, {"train/a/1.JPEG": JPEG, "train/a/2.jpg": JPEG + b"\0\0", "train/b/3.JPEG": JPEG}
    )
    tree(tmp_path, {"val/c/4.JPEG": b"not looked at", "train/synsets.txt": b"beside the classes"})
    tree(tmp_path, {"train/a/.DS_Store": b"x", "train/.hidden/x.txt": b"x"})
    mean = len(JPEG) + 2 / 3
    facts = ImageFolderFacts(tmp_path / "train", 3, 2, pytest.approx(mean), 3)
    assert check_image_folder(tmp_path) == facts
    assert check_image_folder(tmp_path / "train") == facts


@pytest.mark.parametrize("kind", ["PNG", "BMP", "PPM", "TIFF", "WEBP"])
def test_other_formats_whatever_the_name(tmp_path, kind):
    tree(tmp_path, {"a/n02105855_2933.JPEG": encode(kind)})
    assert check_image_folder(tmp_path).images == 1


def test_each_extension(tmp_path):
    tree(tmp_path, {f"a/1{extension.upper()}": JPEG for extension in EXTENSIONS})
    assert check_image_folder(tmp_path).images == len(EXTENSIONS)


def test_progressive_and_grey_and_cmyk_jpegs(tmp_path):
    file = io.BytesIO()
    Image.new("CMYK", (64, 64), (9, 99, 199, 0)).save(file, "JPEG")
    tree(tmp_path, {"a/1.jpg": encode(progressive=True), "a/2.jpg": file.getvalue()})
    assert check_image_folder(tmp_path).images == 2


def test_links_are_followed(tmp_path):
    tree(tmp_path, {"store/1.jpg": JPEG})
    (tmp_path / "data/train").mkdir(parents=True)
    (tmp_path / "data/train/a").symlink_to(tmp_path / "store")
    assert check_image_folder(tmp_path / "data").images == 1


def test_more_than_the_limit_is_looked_at_evenly(tmp_path):
    tree(tmp_path, {f"{number % 10}/{number}.jpg": JPEG for number in range(100)})
    facts = check_image_folder(tmp_path, limit=12)
    assert (facts.images, facts.classes) == (100, 10)
    assert 6 <= facts.looked_at <= 12
    for path in tmp_path.glob("[5-9]/*"):
        path.write_bytes(b"")
    assert "is empty, the first of " in refusal(tmp_path, limit=12)


def test_thousand_classes_at_most(tmp_path):
    for number in range(1001):
        (tmp_path / f"{number}").mkdir()
    assert refusal(tmp_path) == (
        f"{tmp_path} holds 1,001 class folders: give one with at most 1,000, "
        "the number of the network's outputs."
    )


def test_no_class_folders(tmp_path):
    assert f"{tmp_path} holds no folders: give the data set's folder" in refusal(tmp_path)
    tree(tmp_path, {"train/1.JPEG": JPEG})
    assert f"{tmp_path}/train holds no folders" in refusal(tmp_path)


def test_missing_or_no_folder(tmp_path):
    tree(tmp_path, {"file": JPEG})
    assert refusal(tmp_path / "nowhere") == (
        f"{tmp_path}/nowhere cannot be read (No such file or directory): "
        "give a folder of images that can."
    )
    assert "file cannot be read (Not a directory)" in refusal(tmp_path / "file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable(tmp_path):
    tree(tmp_path, {"a/1.jpg": JPEG})
    (tmp_path / "a/1.jpg").chmod(0)
    assert "1.jpg cannot be read (Permission denied)" in refusal(tmp_path)
    (tmp_path / "a").chmod(0)
    assert "a cannot be read (Permission denied)" in refusal(tmp_path)
    (tmp_path / "a").chmod(0o755)


def test_class_without_images(tmp_path):
    tree(tmp_path, {"a/1.jpg": JPEG, "b/.DS_Store": b""})
    assert f"{tmp_path}/b holds no images" in refusal(tmp_path)


def test_strangers_in_a_class_folder(tmp_path):
    tree(tmp_path, {"a/1.jpg": JPEG, "a/notes.txt": b"x"})
    assert f"{tmp_path}/a/notes.txt is not an image: a class folder" in refusal(tmp_path)
    (tmp_path / "a/more.jpg").mkdir()
    assert f"{tmp_path}/a/more.jpg is a folder, the first of 2 such there" in refusal(tmp_path)
    (tmp_path / "a/link.jpg").symlink_to(tmp_path / "nowhere")
    assert f"{tmp_path}/a/link.jpg is a link to nowhere, the first of 3" in refusal(tmp_path)


def test_damaged_files_are_named_and_counted(tmp_path):
    tree(tmp_path, {"a/1.jpg": JPEG, "a/2.jpg": JPEG[:-300], "a/3.jpg": JPEG})
    assert refusal(tmp_path) == (
        f"{tmp_path}/a/2.jpg is cut off (its end is missing): replace or remove it."
    )
    tree(
        tmp_path, {"a/3.jpg": b"", "a/4.jpg": b"<html>404 not found", "a/1.jpg": encode("PNG")[:99]}
    )
    assert refusal(tmp_path) == (
        f"{tmp_path}/a/1.jpg is cut off (its end is missing), the first of 4 damaged images among "
        "the 4 looked at: replace or remove them."
    )


def test_not_an_image(tmp_path):
    tree(tmp_path, {"a/1.jpg": b"version https://git-lfs.github.com/spec/v1"})
    assert "1.jpg is not an image (it begins with b'version '): replace" in refusal(tmp_path)


def check(content):
    with tempfile.TemporaryDirectory() as name:
        return check_image_folder(tree(Path(name), {"a/1.JPEG": content}))


@settings(max_examples=300)
@given(cut=st.integers(0, len(WITH_THUMBNAIL) - 1))
def test_cut_anywhere_is_seen_in_spite_of_a_thumbnail(cut):
    with pytest.raises(InputError):
        check(WITH_THUMBNAIL[:cut])


@given(trailer=st.binary() | st.integers(0, 100_000).map(bytes))
def test_whole_with_anything_behind_the_end(trailer):
    content = WITH_THUMBNAIL + trailer
    assert check(content).mean_bytes == len(content)


@given(content=st.binary() | st.binary().map(lambda data: b"\xff\xd8" + data))
def test_any_file_is_accepted_or_refused(content):
    try:
        assert check(content).images == 1
    except InputError as error:
        assert "a/1.JPEG is " in str(error)  # noqa: PT017 - either outcome is right
