"""A small tree of JPEGs that cost as much to read and to decode as ImageNet-1k's.

It stands in for the data set where a machine has none: the pictures mean nothing, but their
sizes, file sizes and JPEG settings are distributed as those of ImageNet's 1,281,167 training
images, so that a loader has the same work to do for each of them.

What is known of ImageNet, and where from:

- Pixels: the widths and heights of its 50,000 validation images, listed by Choe et al. (2020),
  https://github.com/clovaai/wsolevaluation, `metadata/ILSVRC/test/image_sizes.txt`: 85 % have a
  long side of 500 (31 % are 500x375, 10 % are 375x500), 6 % are smaller, 9 % larger (1.4 % above
  1024, 0.1 % above 3000), 27 % are portraits and 4 % square. The training set holds more of the
  small and of the large ones: FFCV's table of its size at four limits of the long side
  (https://docs.ffcv.io/benchmarks.html) and the mean that is often given, 473x406, fit 25 %
  smaller and 10 % larger images, and 23 % portraits.
- File size: `ILSVRC2012_img_train.tar` has 147,897,477,120 bytes, so 115 kB a file.
- JPEG settings: most are of quality 96 without chroma subsampling, a few are far lower (Ehrlich
  2021, https://www.terryalanunlimited.com/compression-in-the-imagenet-dataset/; Grommelt et al.
  2024, arXiv:2403.17608). How these go with the sizes is not published. Assumed: nine in ten
  images of 500 pixels have them, as a photo site made that size; the others have quality 50 to
  98, and half of them 4:2:0. The mean file size comes out right with it.
- Colour: assumed, 2 % are grey. The 22 CMYK files, fewer than one in 50,000, are left out
  (https://github.com/cytsai/ilsvrc-cmyk-image-list), and so are progressive ones.

What is drawn is a "dead leaves" picture: flat shapes that hide one another, which gives the edges
of photographs (Lee, Mumford & Huang 2001, doi:10.1023/A:1011109015675), and on each of them more
or less of a texture with the 1/f spectrum of photographs (Field 1987,
doi:10.1364/JOSAA.4.002379).
"""

import contextlib
import functools
import hashlib
import io
import math
import multiprocessing
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from results.errors import InputError

GENERATOR = 1  # goes up when the same seed gives other pictures
MAX_CLASSES = 1000
MEAN_BYTES = 115_000

# Points of the inverse distribution functions: a share of the images, and the value up to there.
_SHARES = (0, 0.0125, 0.025, 0.0875, 0.175, 0.25, 0.25, 0.9, 0.9, 0.92, 0.95, 0.98, 0.99, 0.998, 1)
_LONG_SIDES = (64, 150, 200, 350, 429, 499, 500, 500, 505, 600, 700, 1024, 1345, 2586, 3072)
_ASPECT_SHARES = (0, 0.01, 0.02, 0.04, 0.19, 0.22, 0.25, 0.73, 0.8, 0.9, 0.94, 0.96, 1)
_ASPECTS = (0.3, 0.6, 0.66, 0.666, 0.668, 0.714, 0.75, 0.75, 0.8, 0.896, 0.98, 1, 1)
_PORTRAITS = 0.24  # of those that are not square
_GREY = 0.018
_SITE = 500  # the long side of the photo site's versions
_OTHERS = 0.1  # of the images of that size, but from elsewhere
_ROUGH = 28  # strength of the texture, from which the file size follows
_TILE = 1024  # side of the texture in pixels, over which it repeats itself


class Sample(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `sample.json` records; `size` is in bytes, `checksum` that of `sample_checksum`."""

    images: int
    classes: int
    seed: int
    generator: int
    files: int
    size: int
    checksum: str


def make_sample(
    folder: Path,
    *,
    images: int,
    classes: int,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
    workers: int | None = None,
) -> None:
    """Make `folder/train/<class>/<image>.JPEG`, a tenth as many in `folder/val/`, `sample.json`.

    `images` counts those of `train`; `val` has at least one of each class. The class folders,
    `n00000001` and on, have the form of WordNet's numbers but lie below the smallest of them.
    The same `images`, `classes` and `seed` give the same bytes, whatever `workers` is: the number
    of processes, one for each available core if not given. `progress` is called with the number
    of files written and that of all files. The folder appears whole or not at all.

    Raises `InputError` where the folder exists, cannot be written or has no room, and where a
    number makes no sense.
    """
    if not 1 <= classes <= MAX_CLASSES:
        raise InputError(f"classes is {classes}: give 1 to {MAX_CLASSES}.")
    if images < classes:
        raise InputError(f"images is {images}: give at least one for each of {classes} classes.")
    if seed < 0:
        raise InputError(f"seed is {seed}: give 0 or more.")
    if os.path.lexists(folder):
        raise InputError(f"{folder} exists already: remove it, or name another folder.")
    jobs = list(_jobs(images, classes))
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(folder.parent).free < len(jobs) * MEAN_BYTES:
            need = len(jobs) * MEAN_BYTES / 1e6
            raise InputError(
                f"{folder.parent} has no room for {len(jobs)} images of {need:.0f} MB in all: "
                "ask for fewer, or name another folder."
            )
        # Beside the folder, so that the renaming stays within one file system; gone on any exit.
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as beside:
            made = Path(beside) / "sample"
            for name in {name.parent for name, _ in jobs}:
                (made / name).mkdir(parents=True)
            with contextlib.closing(_written(made, seed, jobs, workers)) as written:
                for done, _ in enumerate(written, 1):
                    if progress is not None:
                        progress(done, len(jobs))
            record = Sample(
                images=images,
                classes=classes,
                seed=seed,
                generator=GENERATOR,
                files=len(jobs),
                size=sum(path.stat().st_size for path in _files(made)),
                checksum=sample_checksum(made),
            )
            (made / "sample.json").write_bytes(msgspec.json.format(msgspec.json.encode(record)))
            made.rename(folder)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be made ({error.strerror or error}): name a folder that can be."
        ) from error


def sample_is_whole(
    folder: Path, *, images: int, classes: int, seed: int, contents: bool = False
) -> bool:
    """Tell whether `folder` holds what `make_sample` makes of these numbers, and no less.

    `sample.json` must say so, and the number and total size of the files must be what it says;
    with `contents`, every byte is read and the checksum compared too.
    """
    try:
        record = msgspec.json.decode((folder / "sample.json").read_bytes(), type=Sample)
        sizes = [path.stat().st_size for path in _files(folder)]
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return (
        (record.images, record.classes, record.seed) == (images, classes, seed)
        and record.generator == GENERATOR
        and (record.files, record.size) == (len(sizes), sum(sizes))
        and (not contents or record.checksum == sample_checksum(folder))
    )


def sample_checksum(folder: Path) -> str:
    """SHA-256, in hexadecimal, of the images' names below `folder`, in order, and contents."""
    digest = hashlib.sha256()
    for path in _files(folder):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _jobs(images: int, classes: int) -> Iterator[tuple[Path, int]]:
    """Yield the file name, below the sample's folder, and the number of each image."""
    for index in range(images + max(classes, images // 10)):
        name = f"n{index % classes + 1:08d}"
        split = "train" if index < images else "val"
        yield Path(split, name, f"{name}_{index:06d}.JPEG"), index


def _files(folder: Path) -> list[Path]:
    return sorted(path for split in ("train", "val") for path in (folder / split).glob("*/*"))


def _written(
    made: Path, seed: int, jobs: list[tuple[Path, int]], workers: int | None
) -> Generator[None]:
    """Write every file, yielding after each; ends the processes when closed."""
    write = functools.partial(_write, made, seed)
    if workers is None:  # a process takes a third of a second to start
        workers = min(len(os.sched_getaffinity(0)), len(jobs) // 32)
    if workers <= 1:
        yield from map(write, jobs)
        return
    # Not forked, as the caller may have threads.
    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
    try:
        # The processes inherit this: an interrupt from the keyboard is for the parent alone.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            written = pool.map(write, jobs, chunksize=8)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        yield from written
    finally:
        pool.shutdown(cancel_futures=True)


def _write(made: Path, seed: int, job: tuple[Path, int]) -> None:
    name, index = job
    (made / name).write_bytes(_jpeg(seed, index))


def _jpeg(seed: int, index: int) -> bytes:
    """One image, of which everything follows from `seed` and `index`."""
    rng = np.random.default_rng((seed, index))
    # Steps of the golden ratio, so that a few hundred images have every size in its share.
    share = (np.random.default_rng(seed).random() + index * (math.sqrt(5) - 1) / 2) % 1
    long = round(float(np.interp(share, _SHARES, _LONG_SIDES)))
    short = round(long * float(np.interp(rng.random(), _ASPECT_SHARES, _ASPECTS)))
    width, height = (short, long) if rng.random() < _PORTRAITS else (long, short)
    quality, subsampling = 96, "4:4:4"
    if long != _SITE or rng.random() < _OTHERS:
        quality = int(rng.triangular(50, 90, 98))
        subsampling = str(rng.choice(("4:4:4", "4:2:2", "4:2:0"), p=(0.3, 0.2, 0.5)))
    picture = _picture(rng, width, height, grey=rng.random() < _GREY)
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=quality, subsampling=subsampling)
    return file.getvalue()


def _picture(rng: np.random.Generator, width: int, height: int, *, grey: bool) -> Image.Image:
    """Leaves with a texture, in luma and chroma; all in whole numbers, the same everywhere."""
    leaves = np.asarray(_leaves(rng, width, height))
    strength = leaves[:, :, 3].astype(np.int32)
    channels = []
    for channel, weaker in enumerate((9,) if grey else (9, 12, 12)):
        top, left = rng.integers(_TILE, size=2)
        rows, columns = (top + np.arange(height)) % _TILE, (left + np.arange(width)) % _TILE
        texture = _texture()[np.ix_(rows, columns)] * strength >> weaker
        channels.append(np.clip(leaves[:, :, channel] + texture, 0, 255).astype(np.uint8))
    if grey:
        return Image.fromarray(channels[0])
    return Image.fromarray(np.dstack(channels), "YCbCr")


def _leaves(rng: np.random.Generator, width: int, height: int) -> Image.Image:
    """Shapes over one another; the bands are luma, the two chromas, and strength of texture."""
    count = int(rng.integers(8, 80))
    rough = rng.lognormal(math.log(_ROUGH), 0.5)
    bands = np.column_stack(
        (
            rng.uniform(20, 236, count),
            rng.normal(128, 18, (count, 2)),
            rough * rng.lognormal(0, 0.6, count),
        )
    )
    colours = np.rint(np.clip(bands, 0, 255)).astype(int).tolist()
    # Drawn at half the size: twice enlarged, an edge is as soft as a lens makes it.
    size = (width + 1) // 2, (height + 1) // 2
    image = Image.new("CMYK", size, tuple(colours[0]))
    draw = ImageDraw.Draw(image)
    for colour in colours[1:]:
        radius = 0.35 * max(size) / rng.uniform(1, 10)
        x, y, flat = rng.random(3) * (*size, 1.0)
        if rng.random() < 0.5:
            draw.ellipse(
                (x - radius, y - radius * flat, x + radius, y + radius * flat), fill=tuple(colour)
            )
        else:
            turns = 2 * math.pi * np.sort(rng.random(5))
            corners = np.column_stack((x + radius * np.cos(turns), y + radius * np.sin(turns)))
            draw.polygon(corners.ravel().tolist(), fill=tuple(colour))
    return image.resize((width, height), Image.Resampling.BILINEAR)


@functools.cache
def _texture() -> NDArray[np.int32]:
    """Make a tile of noise whose amplitude falls as 1/f; mean 0, standard deviation 256."""
    rng = np.random.default_rng(0)
    frequency = np.hypot(np.fft.fftfreq(_TILE)[:, None], np.fft.rfftfreq(_TILE)[None, :])
    frequency[0, 0] = math.inf
    spectrum = rng.standard_normal(frequency.shape) + 1j * rng.standard_normal(frequency.shape)
    tile = np.fft.irfft2(spectrum / frequency)
    # Rounded here: the last bits of a float differ between processors, and pixels must not.
    return np.asarray(np.rint(tile * (256 / tile.std())), np.int32)
