"""Compares the loaders' crops with torchvision's, and looks at their pixels.

python mxnet_loader.py CROPS.npz IMAGES: that records.py wrote
"""

import sys
import tempfile
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import crops
import numpy as np
from PIL import Image

FOLDER = Path(__file__).parents[3] / "benchmarks" / "mxnet"
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

import loaders
import records

SIZE = 32
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


def batches_of(folder, batch_size=4, rank=0, ranks=1, loader="gluon"):
    args = SimpleNamespace(data=str(folder), loader=loader, image_size=SIZE, workers=1, seed=0)
    args.batch_size = batch_size
    for images, labels in loaders.batches(args, rank, ranks):
        assert images.dtype == np.float32
        yield images.asnumpy(), labels.asnumpy().astype(int)


crops.require_torchvisions(sys.argv[1], crop_of)
with tempfile.TemporaryDirectory() as empty:
    is_flipped_half_the_time(Path(empty))
with tempfile.TemporaryDirectory() as empty:
    crops.require_normalised(Path(empty), batches_of, SIZE)
records.require_dalis(sys.argv[1], Path(sys.argv[2]), partial(batches_of, loader="dali-cpu"))
