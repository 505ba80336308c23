"""Compares the loader's crops with torchvision's, and looks at its pixels and shares.

python mxnet_loader.py CROPS.npz
"""

import sys
import tempfile
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import crops
import numpy as np
from PIL import Image

FOLDER = Path(__file__).parents[3] / "benchmarks" / "mxnet"
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

import loaders

SIZE, IMAGES, RANKS = 32, 12, 2
chance = np.random.default_rng(5)


def crop_of(height, width):
    return lambda: loaders.random_crop(height, width, chance)


def is_flipped_half_the_time(folder):
    """The loader's own crops of images that grow brighter from left to right."""
    pixels = np.tile(np.arange(0, 200, 2, dtype=np.uint8), (100, 1))
    (folder / "0").mkdir()
    Image.fromarray(np.stack([pixels] * 3, axis=2)).save(folder / "0" / "i.bmp")
    images = loaders.Crops(str(folder), SIZE)
    seen = [images[0][0] for _ in range(4000)]
    flipped = sum(bool(one[0, 0, 0] > one[0, 0, -1]) for one in seen)
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
    for images, labels in islice(loaders.gluon(args, 0, 1), 3):
        assert (images.shape, images.dtype) == ((4, 3, SIZE, SIZE), np.float32)
        found = labels.asnumpy().astype(int)
        assert sorted(found) == [0, 1, 2, 3]
        wanted = (colours[found] / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
        assert np.abs(images.asnumpy() - wanted[:, :, None, None]).max() < 1e-5


crops.require_torchvisions(sys.argv[1], crop_of)
shares = [
    [
        index
        for batch in islice(loaders.EndlessBatches(IMAGES, 3, rank, RANKS, 7), 6)
        for index in batch
    ]
    for rank in range(RANKS)
]
crops.require_shared_out(shares, IMAGES)
for look in (is_flipped_half_the_time, colours_are_normalised):
    with tempfile.TemporaryDirectory() as empty:
        look(Path(empty))
