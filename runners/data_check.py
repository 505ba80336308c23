"""Whether a folder of images that a user names can be trained on, before anything is started.

A file that is cut off stops a run of hours at some step of it, and each loader says so in another
way, or not at all. So the tree is listed, which takes seconds for ImageNet's 1.28 million files,
and an even choice of the files is looked into, without decoding them.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from results.errors import InputError

OUTPUTS = 1000  # of the network, so classes at most
# Those that torchvision's ImageFolder reads.
EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")

_READERS = 16  # files looked into at once, as a network file system answers slowly
_TAIL = 8192  # bytes at the end in which an end is looked for first
# JPEG 1, PNG, BMP, PBM to PPM, TIFF of either byte order, WebP's container. The file's name is no
# guide: ImageNet's n02105855_2933.JPEG is a PNG, and every loader reads it.
JPEG = b"\xff\xd8"
PNG = b"\x89PNG\r\n\x1a\n"
_MAGIC = (JPEG, PNG, b"BM", *(b"P%d" % kind for kind in range(1, 7)), b"II*\0", b"MM\0*", b"RIFF")


@dataclass(frozen=True)
class ImageFolderFacts:
    """What a folder of images holds; `mean_bytes` is over the `looked_at` files alone.

    `form` is empty for class folders; in another form no image is looked at, and the mean is that
    of all.
    """

    root: Path
    images: int
    classes: int
    mean_bytes: float
    looked_at: int
    form: str = ""


def check_image_folder(folder: Path, *, limit: int = 20_000) -> ImageFolderFacts:
    """Check that `folder`, or `folder/train`, holds one folder of images for each class.

    All names are checked, and the beginning and end of up to `limit` files, evenly over the tree.
    Files beside the class folders and hidden ones are passed over. Returns what was found; `root`
    is the folder that holds the class folders.

    Raises `InputError`, naming the first offender and their number, where the folder is missing or
    cannot be read, has no class folders or more than 1,000, has a class without images, or holds
    something else than images in a class folder, or images that are empty, cut off or none at all.
    """
    try:
        root = folder / "train" if (folder / "train").is_dir() else folder
        classes = class_folders(root)
        if not classes:
            raise InputError(
                f"{root} holds no folders: give the data set's folder, with the images of each "
                "class in a folder of its own, as in train/n01440764/n01440764_10026.JPEG."
            )
        if len(classes) > OUTPUTS:
            raise InputError(
                f"{root} holds {len(classes):,} class folders: give one with at most {OUTPUTS:,}, "
                "the number of the network's outputs."
            )
        images, chosen, stride = 0, list[str](), 1
        for path in (path for name in classes for path in images_of(name)):
            if images % stride == 0:
                chosen.append(path)
                if len(chosen) > limit:  # too many: keep every second one, now and from here on
                    del chosen[1::2]
                    stride *= 2
            images += 1
    except OSError as error:
        raise InputError(
            f"{error.filename or folder} cannot be read ({error.strerror}): "
            "give a folder of images that can."
        ) from error
    with ThreadPoolExecutor(_READERS) as pool:
        looks = list(pool.map(look, chosen))
    faults = sorted((path, fault) for path, (_, fault) in zip(chosen, looks, strict=True) if fault)
    if len(faults) == 1:
        raise InputError(f"{' '.join(faults[0])}: replace or remove it.")
    if faults:
        raise InputError(
            f"{' '.join(faults[0])}, the first of {len(faults):,} damaged images among the "
            f"{len(looks):,} looked at: replace or remove them."
        )
    mean = sum(size for size, _ in looks) / len(looks)
    return ImageFolderFacts(root, images, len(classes), mean, len(looks))


def class_folders(root: Path) -> list[Path]:
    """Return the class folders in `root`, sorted: a folder's place is its class's label."""
    entries = [entry for entry in os.scandir(root) if not entry.name.startswith(".")]
    return sorted(Path(entry) for entry in entries if entry.is_dir())


def images_of(class_folder: Path) -> Iterator[str]:
    """Yield the paths of a class's images, in the order of the file system."""
    count = 0
    strangers = []
    for entry in os.scandir(class_folder):
        if entry.name.startswith("."):
            continue
        if entry.name.lower().endswith(EXTENSIONS) and entry.is_file():
            count += 1
            yield entry.path
        else:
            strangers.append(entry.path)
    if strangers:
        first = Path(min(strangers))
        kind = "a folder" if first.is_dir() else "not an image"
        if not first.exists():
            kind = "a link to nowhere"
        more = f", the first of {len(strangers):,} such there" if len(strangers) > 1 else ""
        raise InputError(
            f"{first} is {kind}{more}: a class folder holds images only, ending in "
            f"{' '.join(EXTENSIONS)}; remove it, or give the folder that holds the class folders."
        )
    if not count:
        raise InputError(f"{class_folder} holds no images: remove it, or add the class's images.")


def look(path: str) -> tuple[int, str]:
    """Return a file's size in bytes, and what is wrong with it, or nothing."""
    try:
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            magic = file.read(len(PNG))
            if not magic:
                return size, "is empty"
            if not magic.startswith(_MAGIC):
                return size, f"is not an image (it begins with {magic!r})"
            whole = True
            if magic.startswith(JPEG):
                whole = _has(file, b"\xff\xd9", size, after=_scan(file))
            elif magic == PNG:
                whole = _has(file, b"IEND", size, after=len(PNG))
            return size, "" if whole else "is cut off (its end is missing)"
    except OSError as error:
        return 0, f"cannot be read ({error.strerror})"


def _scan(file: BinaryIO) -> int:
    """Return where a JPEG's first scan begins: behind the header and the thumbnails in it.

    A thumbnail is a JPEG with an end of its own, inside a segment, so the segments are stepped over
    (ITU-T T.81, B.1.1). Where they do not follow on each other, as decoders forgive, it is there.
    """
    place = len(JPEG)
    while True:
        file.seek(place)
        marker = file.read(4)
        if len(marker) < 4 or marker[0] != 0xFF:
            return place
        if marker[1] == 0xFF:
            place += 1
        elif marker[1] == 0xDA:
            return place
        else:
            place += 2 + max(2, int.from_bytes(marker[2:]))


def _has(file: BinaryIO, end: bytes, size: int, *, after: int) -> bool:
    """Whether `end` comes behind the offset `after`, at the end or, with a trailer, before it.

    Within a scan no FF is followed by D9 unless the image ends there (ITU-T T.81, F.1.2.3), so any
    such pair is the end. The rest of the file is read only where the last bytes do not hold it.
    """
    for start in (max(after, size - _TAIL), after):
        file.seek(start)
        if end in file.read():
            return True
    return False
