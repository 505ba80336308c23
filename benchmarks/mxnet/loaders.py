"""Where a rank's batches come from: synthetic data, Gluon's loader, MXNet's iterator, or DALI.

Each function returns an endless iterator of (images, labels) on the rank's device: images of
shape (batch, 3, size, size), float32, normalised; labels of shape (batch,), float32. There is no
epoch boundary: a small sample would otherwise put the restart of the loader inside the measured
window.
"""

import itertools
import math
import os

import mxnet as mx
import numpy as np
from common.arguments import CLASSES, PIXEL_MEAN, PIXEL_STD
from common.images import EXTENSIONS, EndlessBatches, die_with_rank

# The crop of torchvision's RandomResizedCrop.
AREA = (0.08, 1.0)
ASPECT = (3 / 4, 4 / 3)
ATTEMPTS = 10


def synthetic(args, rank, world_size):
    """Return one fixed batch of random pixels again and again, another one on each rank.

    On equal data the ranks' weights would agree even if their gradients were never averaged.
    """
    chosen = np.random.default_rng(args.seed * world_size + rank)
    shape = (args.batch_size, 3, args.image_size, args.image_size)
    images = mx.nd.array(chosen.standard_normal(shape, dtype=np.float32))
    labels = mx.nd.array(chosen.integers(CLASSES, size=args.batch_size))
    while True:
        yield images, labels


def random_crop(height, width, chance):
    """Choose a crop as torchvision's RandomResizedCrop does: top, left, height and width."""
    for _ in range(ATTEMPTS):
        area = height * width * chance.uniform(*AREA)
        aspect = math.exp(chance.uniform(*map(math.log, ASPECT)))
        crop_width = round(math.sqrt(area * aspect))
        crop_height = round(math.sqrt(area / aspect))
        if 0 < crop_width <= width and 0 < crop_height <= height:
            top = int(chance.integers(height - crop_height + 1))
            left = int(chance.integers(width - crop_width + 1))
            return top, left, crop_height, crop_width
    # None fits: take the largest of an aspect ratio that is allowed, from the middle.
    crop_width = min(width, round(height * ASPECT[1]))
    crop_height = min(height, round(width / ASPECT[0]))
    return (height - crop_height) // 2, (width - crop_width) // 2, crop_height, crop_width


class Crops(mx.gluon.data.Dataset):
    """Images below class folders, cropped and flipped at random: uint8 (3, size, size), label."""

    def __init__(self, folder, size):
        """Find the images."""
        self.size = size
        self.samples = []
        classes = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
        for label, name in enumerate(classes):
            for root, _, files in sorted(os.walk(os.path.join(folder, name), followlinks=True)):
                found = (os.path.join(root, file) for file in sorted(files))
                self.samples += [(f, label) for f in found if f.lower().endswith(EXTENSIONS)]

    def __len__(self):
        """Return how many images there are."""
        return len(self.samples)

    def __getitem__(self, index):
        """Return an image and its label; a damaged file is named.

        Pillow decodes: OpenCV, which mx.image uses, fills up what is missing of a file.
        """
        from PIL import Image, ImageFile

        ImageFile.LOAD_TRUNCATED_IMAGES = False  # GluonCV lets Pillow fill them up too
        path, label = self.samples[index]
        try:
            with Image.open(path) as file:
                image = file.convert("RGB")
        except OSError as error:
            raise RuntimeError("damaged image %s: %s" % (path, error)) from error
        chance = np.random.default_rng()  # one of before the fork would be alike in all processes
        top, left, height, width = random_crop(image.height, image.width, chance)
        box = (left, top, left + width, top + height)
        pixels = np.asarray(image.resize((self.size, self.size), Image.Resampling.BILINEAR, box))
        if chance.random() < 0.5:
            pixels = pixels[:, ::-1]
        return np.ascontiguousarray(pixels.transpose(2, 0, 1)), np.float32(label)


def gluon(args, rank, world_size):
    """Read, decode, crop and flip in worker processes; normalise on the device."""
    images = Crops(args.data, args.image_size)
    os.register_at_fork(after_in_child=die_with_rank)
    loader = mx.gluon.data.DataLoader(
        images,
        batch_sampler=EndlessBatches(len(images), args.batch_size, rank, world_size, args.seed),
        num_workers=args.workers,
    )
    mean = mx.nd.array(PIXEL_MEAN).reshape((1, 3, 1, 1))
    scale = 1 / mx.nd.array(PIXEL_STD).reshape((1, 3, 1, 1))
    return (
        ((pixels.as_in_context(mx.cpu()).astype("float32") - mean) * scale, labels)
        for pixels, labels in loader
    )


def recordio(args, rank, world_size):
    """Read records, decode, crop, flip and normalise in the threads of MXNet's iterator.

    Each epoch of a rank's share is shuffled, and the next one fills up its last batch. Two
    iterators take turns: one that has just begun again has no batch ready yet.
    """
    records, index = (os.path.join(args.data, "train." + end) for end in ("rec", "idx"))
    with open(index, encoding="utf-8") as lines:
        images = sum(1 for _ in lines)
    share = -(-images // world_size)  # so MXNet cuts the index; the last rank has what is left
    share = min(share, images - rank * share)
    if share < args.batch_size:
        raise RuntimeError(
            "rank %d has %d images of %s, and MXNet's iterator wants as many as a batch has: %d"
            % (rank, max(0, share), records, args.batch_size)
        )
    normalised = {
        what + "_" + channel: value
        for what, values in (("mean", PIXEL_MEAN), ("std", PIXEL_STD))
        for channel, value in zip("rgb", values)
    }
    turns = [
        mx.io.ImageRecordIter(
            path_imgrec=records,
            path_imgidx=index,
            data_shape=(3, args.image_size, args.image_size),
            batch_size=args.batch_size,
            num_parts=world_size,
            part_index=rank,
            shuffle=True,
            seed=2 * args.seed + turn,
            random_resized_crop=True,
            min_random_area=AREA[0],
            max_random_area=AREA[1],
            min_aspect_ratio=ASPECT[0],
            max_aspect_ratio=ASPECT[1],
            rand_mirror=True,
            preprocess_threads=max(1, args.workers),
            device_id=-1,  # plain memory, none that is pinned for a GPU
            verbose=False,
            **normalised,
        )
        for turn in range(2)
    ]
    return (
        (batch.data[0], batch.label[0]) for turn in itertools.cycle(turns) for batch in epoch(turn)
    )


def epoch(iterator):
    """Yield what is left of an iterator's epoch, and have it begin the next one."""
    yield from iterator
    iterator.reset()


def dali(args, rank, world_size):
    """Read, decode, crop, flip and normalise in the threads of NVIDIA's DALI, on the CPU.

    It has no plugin for MXNet any more: batches are taken from the pipeline itself, as they lie in
    memory.
    """
    from common.dali import batches_in_memory

    for batch in batches_in_memory(args, rank, world_size):
        images, labels = (mx.nd.from_dlpack(one.__dlpack__()) for one in batch)
        yield images, labels[:, 0].astype("float32")


def batches(args, rank, world_size):
    """Return the iterator that `--loader` names; without `--data`, synthetic batches."""
    if not args.data:
        return synthetic(args, rank, world_size)
    read = {"recordio": recordio, "dali-cpu": dali}.get(args.loader, gluon)
    return read(args, rank, world_size)
