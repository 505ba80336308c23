"""Where a rank's batches come from: synthetic data, or mindspore.dataset's pipeline.

Each function returns an endless iterator of (images, labels): images of shape
(batch, 3, size, size), float32, normalised; labels of shape (batch,), int32. There is no epoch
boundary: a small sample would otherwise put the restart of the loader inside the measured window.
"""

import os
import re

import mindspore
import mindspore.dataset as ds
import numpy as np
from common.arguments import CLASSES, PIXEL_MEAN, PIXEL_STD
from common.images import EXTENSIONS
from mindspore.dataset import vision


def synthetic(args, rank, world_size):
    """Return one fixed batch of random pixels again and again, another one on each rank.

    On equal data the ranks' weights would agree even if their gradients were never averaged.
    """
    random = np.random.default_rng(args.seed * world_size + rank)
    shape = (args.batch_size, 3, args.image_size, args.image_size)
    images = mindspore.Tensor(random.standard_normal(shape, dtype=np.float32))
    labels = mindspore.Tensor(random.integers(CLASSES, size=args.batch_size, dtype=np.int32))
    while True:
        yield images, labels


def augmentation(size):
    """Return what turns an image file's bytes into an array (3, size, size)."""
    return [
        vision.RandomCropDecodeResize(size),
        vision.RandomHorizontalFlip(),
        vision.Normalize(PIXEL_MEAN, PIXEL_STD),
        vision.HWC2CHW(),
    ]


def pipeline(args, rank, world_size):
    """Read, decode, crop, flip and normalise in MindData's own threads, batch after batch.

    MindData takes one thread at least, and no more than there are cores.
    """
    workers = max(1, min(args.workers, os.cpu_count()))
    ds.config.set_seed(args.seed)  # of the order, which the ranks share out
    images = ds.ImageFolderDataset(
        args.data,
        num_parallel_workers=workers,
        shuffle=True,
        num_shards=world_size,
        shard_id=rank,
        extensions=[case for one in EXTENSIONS for case in (one, one.upper())],
    ).repeat()
    augment = augmentation(args.image_size)
    images = images.map(augment, "image", num_parallel_workers=workers)
    try:
        yield from images.batch(args.batch_size).create_tuple_iterator(num_epochs=1)
    except RuntimeError as error:
        named = re.search(r"The corresponding data file is: (.+?)\. (.*)", str(error))
        if not named:
            raise
        raise RuntimeError("damaged image %s: %s" % (named[1], named[2])) from error


def batches(args, rank, world_size):
    """Return the iterator that `--loader` names; without `--data`, synthetic batches."""
    read = pipeline if args.data else synthetic
    return read(args, rank, world_size)
