"""Compares the loader's crops with torchvision's, and looks at its pixels.

python oneflow_loader.py CROPS.npz IMAGES
"""

import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import crops
import numpy as np
from PIL import Image

FOLDER = Path(__file__).parents[3] / "benchmarks" / "oneflow"
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

import loaders
import oneflow as flow

FILE, FILES = sys.argv[1:]
SIZE = 32
crop, flip, _ = loaders.images_of(FILES, SIZE).transform.transforms


def crop_of(height, width):
    """Return what lets the images' own transform choose a crop."""
    image = Image.new("RGB", (width, height))
    return lambda: crop.get_params(image, crop.scale, crop.ratio)


def batches_of(folder):
    args = SimpleNamespace(data=str(folder), image_size=SIZE, batch_size=4, workers=1, seed=0)
    for images, labels in loaders.from_flowvision(args, 0, 1):
        assert images.dtype == flow.float32
        yield images.numpy(), labels.numpy()


np.random.seed(5)  # noqa: NPY002 - what flowvision draws from
flow.manual_seed(5)
crops.require_torchvisions(FILE, crop_of)
crops.require_flipped_half_the_time(flip)
with tempfile.TemporaryDirectory() as empty:
    crops.require_normalised(Path(empty), batches_of, SIZE)
