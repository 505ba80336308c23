"""`form.json`: what lies beside the files of a form, so that they can be checked, and how it is.

    source and classes, the number of images, and of each shard its file, size and checksum

It is written last: a folder without it holds no form, or one that is not finished.
"""

import hashlib
import os
from pathlib import Path

import msgspec

from results.errors import InputError
from runners.data_check import OUTPUTS, ImageFolderFacts
from runners.forms.form import Form
from runners.forms.registry import FORMS

INDEX = "form.json"
VERSION = 1  # goes up when the same images give other files
LABELS = "the place of the class in `classes`, from 0"
_CHUNK = 2**20


class Shard(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A stretch of a file, in bytes, with the images in it and its SHA-256."""

    file: str
    offset: int = 0
    size: int
    images: int
    sha256: str


class FormIndex(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `form.json` records.

    `source` is the folder of class folders that the images came from, `image_bytes` their size
    there, `plan` a checksum over their names, sizes and times; `others` are files beside the
    shards.
    """

    form: str
    version: int
    source: str
    plan: str
    images: int
    image_bytes: int
    classes: list[str]
    labels: str = LABELS
    shards: list[Shard]
    others: list[Shard] = []


def holds_form(folder: Path) -> bool:
    """Tell whether a folder says that it holds a form."""
    return (folder / INDEX).is_file()


def read_index(folder: Path) -> FormIndex:
    """Read a folder's index; `InputError` where it is none of this version."""
    path = folder / INDEX
    try:
        index = msgspec.json.decode(path.read_bytes(), type=FormIndex)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}): name a folder that `dlscale data convert` "
            "has finished."
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not an index of a form: {error}.") from error
    if index.form not in FORMS or index.version != VERSION:
        raise InputError(
            f"{path} is of form {index.form!r}, version {index.version}, which this dlscale does "
            "not know: convert the images again."
        )
    return index


def check_form(folder: Path) -> ImageFolderFacts:
    """Check quickly that the files which the index names are there and have their sizes.

    Returns what they hold; no image is looked at. `InputError` says what is not as it should be.
    """
    index = read_index(folder)
    sizes: dict[str, int] = {}
    for shard in (*index.shards, *index.others):
        sizes[shard.file] = sizes.get(shard.file, 0) + shard.size
    for name, size in sizes.items():
        try:
            there = (folder / name).stat().st_size
        except OSError as error:
            raise InputError(
                f"{folder / name} cannot be read ({error.strerror}), and {INDEX} names it: "
                "convert the images again."
            ) from error
        if there != size:
            raise InputError(
                f"{folder / name} has {there:,} bytes, not the {size:,} of {INDEX}: "
                "convert the images again."
            )
    if sum(shard.images for shard in index.shards) != index.images or not index.images:
        raise InputError(f"{folder / INDEX} counts its images wrongly: convert them again.")
    if len(index.classes) > OUTPUTS:
        raise InputError(f"{folder / INDEX} names more than {OUTPUTS:,} classes.")
    if missing := missing_image(folder, index, most=1000):
        raise InputError(
            f"{missing}, which {folder} lists, is not there: convert the images again."
        )
    mean = index.image_bytes / index.images
    return ImageFolderFacts(folder, index.images, len(index.classes), mean, 0, index.form)


def fault_of(folder: Path, shard: Shard, form: Form | None) -> str:
    """Read a shard whole, and say what is wrong with it, or nothing; `form` counts its records."""
    path, end = folder / shard.file, shard.offset + shard.size
    digest, left = hashlib.sha256(), shard.size
    try:
        with path.open("rb") as file:
            file.seek(shard.offset)
            while left and (chunk := file.read(min(left, _CHUNK))):
                digest.update(chunk)
                left -= len(chunk)
            if left:
                return f"{path} is cut off: {left:,} bytes of {end:,} are missing"
            if digest.hexdigest() != shard.sha256:
                where = f" from byte {shard.offset:,} to {end:,}" if shard.offset else ""
                return f"{path} is damaged{where}: its SHA-256 is not that of {INDEX}"
            try:
                images = sum(1 for _ in form.walk(file, shard.offset, end)) if form else 0
            except ValueError as error:
                return f"{path}: {error}"
    except OSError as error:
        return f"{path} cannot be read ({error.strerror})"
    if form and images != shard.images:
        return f"{path} holds {images:,} images, not {shard.images:,}"
    return ""


def missing_image(folder: Path, index: FormIndex, *, most: int) -> str:
    """Return an image that a form names without holding it, and that is not there, or nothing.

    Up to `most` are looked for, evenly over the list.
    """
    form = FORMS[index.form]
    if not form.lists:
        return ""
    lines = (folder / form.file).read_bytes().splitlines()
    for line in lines[:: len(lines) // most + 1]:
        path = os.fsdecode(line.rpartition(b" ")[0])
        if not Path(path).is_file():
            return path
    return ""
