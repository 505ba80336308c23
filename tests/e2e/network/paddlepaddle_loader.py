"""Compares the loader's crops with torchvision's, and looks at its pixels.

python paddlepaddle_loader.py CROPS.npz RECORDS: lists of images that records.py wrote
"""

import random
import sys
import tempfile
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import crops
import numpy as np
from PIL import Image

FOLDER = Path(__file__).parents[3] / "benchmarks" / "paddlepaddle"
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

import loaders
import paddle
import records
from paddle.vision.transforms import functional

FILE, RECORDS = sys.argv[1], Path(sys.argv[2])
SIZE = 32
images = loaders.Crops([], SIZE)


def crop_of(height, width):
    """Return what lets the images' own transform choose a crop, and tells which."""
    image, told = Image.new("RGB", (width, height)), []

    def tell(_image, *place):
        told.append(place)
        return Image.new("RGB", (1, 1))

    def choose():
        with mock.patch.object(functional, "crop", tell):
            images.augment.transforms[0](image)
        return told.pop()

    return choose


def batches_of(folder, batch_size=4, rank=0, ranks=1, loader="paddle.io"):
    args = SimpleNamespace(data=str(folder), loader=loader, image_size=SIZE, workers=1, seed=0)
    args.batch_size = batch_size
    for batch, labels in loaders.batches(args, rank, ranks):
        assert batch.dtype == paddle.float32
        yield batch.numpy(), labels.numpy()


random.seed(5)
np.random.seed(5)  # noqa: NPY002 - what Paddle's transforms draw from
crops.require_torchvisions(FILE, crop_of)
crops.require_flipped_half_the_time(images.augment.transforms[1])
with tempfile.TemporaryDirectory() as empty:
    crops.require_normalised(Path(empty), batches_of, SIZE)
listed = partial(batches_of, loader="filelist")
records.require_colours(RECORDS, listed)
crops.require_shared_out(records.shares_of(RECORDS, listed, epochs=4), records.SHARED)
by_dali = partial(batches_of, loader="dali-cpu")
records.require_dalis(FILE, RECORDS.parent / "images", by_dali)
