"""Compares the loader's crops with torchvision's, and looks at its pixels.

python paddlepaddle_loader.py CROPS.npz IMAGES
"""

import random
import sys
import tempfile
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
from paddle.vision.transforms import functional

FILE, FILES = sys.argv[1:]
SIZE = 32
images = loaders.Crops(FILES, SIZE)


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


def batches_of(folder):
    args = SimpleNamespace(data=str(folder), image_size=SIZE, batch_size=4, workers=1, seed=0)
    for batch, labels in loaders.paddle_io(args, 0, 1):
        assert batch.dtype == paddle.float32
        yield batch.numpy(), labels.numpy()


random.seed(5)
np.random.seed(5)  # noqa: NPY002 - what Paddle's transforms draw from
crops.require_torchvisions(FILE, crop_of)
crops.require_flipped_half_the_time(images.augment.transforms[1])
with tempfile.TemporaryDirectory() as empty:
    crops.require_normalised(Path(empty), batches_of, SIZE)
