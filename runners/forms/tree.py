"""The images of a folder in the order of a form, cut into shards."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from results.errors import InputError
from runners.data_check import check_image_folder, class_folders, images_of
from runners.forms.form import Form, Picture
from runners.forms.index import VERSION, holds_form, read_index

IMAGES_PER_SHARD = 5000  # as many as make ImageNet 257 shards of 580 MB
LEAST_SHARDS = 64  # so that each rank can have files of its own


@dataclass(frozen=True)
class ShardPlan:
    """The images of a shard, in order; `digest` covers them and how they are written."""

    number: int
    file: str
    pictures: list[Picture]
    image_bytes: int
    digest: str


@dataclass(frozen=True)
class Tree:
    """A folder of class folders, cut into the shards of a form."""

    root: Path
    classes: list[str]
    shards: list[ShardPlan]

    @property
    def images(self) -> int:
        """How many there are."""
        return sum(len(shard.pictures) for shard in self.shards)

    @property
    def image_bytes(self) -> int:
        """Their size."""
        return sum(shard.image_bytes for shard in self.shards)

    @property
    def digest(self) -> str:
        """A checksum over the shards' own."""
        return hashlib.sha256("".join(shard.digest for shard in self.shards).encode()).hexdigest()


def shards_of(folder: Path) -> int:
    """Return the shards of a form in a folder; where it is still to be made, those of a sample."""
    return len(read_index(folder).shards) if holds_form(folder) else LEAST_SHARDS


def plan_tree(source: Path, form: Form, shards: int | None = None) -> Tree:
    """List the images of a folder, shuffle them, and cut them into shards.

    The order is that of the names' checksums: each shard has images of all classes, and the same
    names give the same shards. `InputError` says what is wrong with the folder.
    """
    root = check_image_folder(source, limit=1).root.absolute()
    folders = class_folders(root)
    for folder in folders:
        try:
            folder.name.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"The name of {folder} is not UTF-8: rename it.") from error
    files = []
    for label, folder in enumerate(folders):
        for path in images_of(folder):
            state = Path(path).stat()
            name = f"{folder.name}/{path.rpartition('/')[2]}"
            files.append((name, label, state.st_size, state.st_mtime_ns))
    files.sort(key=lambda file: hashlib.sha256(os.fsencode(file[0])).digest())
    count = shards or max(LEAST_SHARDS, -(-len(files) // IMAGES_PER_SHARD))
    count = 1 if form.lists else min(count, len(files))
    plans = []
    for number in range(count):
        first, last = (len(files) * edge // count for edge in (number, number + 1))
        pictures = [
            Picture(place, str(root), name, label)
            for place, (name, label, *_) in enumerate(files[first:last], start=first)
        ]
        about = [form.name, VERSION, count, first, str(root), files[first:last]]
        plans.append(
            ShardPlan(
                number=number,
                file=form.file.format(shard=number, shards=count),
                pictures=pictures,
                image_bytes=sum(size for _, _, size, _ in files[first:last]),
                digest=hashlib.sha256(os.fsencode(repr(about))).hexdigest(),
            )
        )
    return Tree(root, [folder.name for folder in folders], plans)
