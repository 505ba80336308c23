"""Compares the loader's crops with torchvision's, and looks at its pixels and shares.

python paddlepaddle_loader.py CROPS.npz IMAGES
"""

import random
import sys
import tempfile
from itertools import islice
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
SIZE, IMAGES, RANKS = 32, 12, 2
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


def is_flipped_half_the_time():
    pixels = np.tile(np.arange(8, dtype=np.uint8), (8, 1))
    image = Image.fromarray(np.stack([pixels] * 3, axis=2))
    flip = images.augment.transforms[1]
    flipped = sum(int(np.asarray(flip(image))[0, 0, 0]) == 7 for _ in range(4000))
    assert 1845 < flipped < 2155, flipped  # one fair coin in a million is outside


def colours_are_normalised(folder):
    """Each image has one colour, and a kind of file of its own."""
    colours = np.array([(255, 0, 0), (0, 128, 0), (0, 0, 64), (124, 116, 104)])
    for label, (kind, colour) in enumerate(
        zip(("png", "bmp", "tiff", "ppm"), colours, strict=True)
    ):
        (folder / str(label)).mkdir()
        Image.new("RGB", (50, 40), tuple(colour.tolist())).save(folder / str(label) / f"i.{kind}")
    args = SimpleNamespace(data=str(folder), image_size=SIZE, batch_size=4, workers=1, seed=0)
    for batch, labels in islice(loaders.paddle_io(args, 0, 1), 3):
        assert (batch.shape, batch.dtype) == ([4, 3, SIZE, SIZE], paddle.float32)
        assert sorted(labels.tolist()) == [0, 1, 2, 3]
        wanted = (colours[labels.numpy()] / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
        assert np.abs(batch.numpy() - wanted[:, :, None, None]).max() < 1e-5


random.seed(5)
np.random.seed(5)  # noqa: NPY002 - what Paddle's transforms draw from
crops.require_torchvisions(FILE, crop_of)
is_flipped_half_the_time()
shares = [
    [
        index
        for batch in islice(loaders.EndlessBatches(IMAGES, 3, rank, RANKS, 7), 6)
        for index in batch
    ]
    for rank in range(RANKS)
]
crops.require_shared_out(shares, IMAGES)
with tempfile.TemporaryDirectory() as empty:
    colours_are_normalised(Path(empty))
