"""Compares the loader's crops with torchvision's, and looks at its pixels.

python mindspore_loader.py CROPS.npz

MindData chooses crops where nothing can ask it which: they are read off images whose red grows from
left to right and whose green grows from top to bottom.
"""

import io
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import crops
import numpy as np
from PIL import Image

FOLDER = Path(__file__).parents[3] / "benchmarks" / "mindspore"
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

import loaders

SIZE = 32
crop, flip, _, _ = loaders.augmentation(SIZE)


def place(values, length):
    """Return where a crop begins and how long it is, from values that grow from 0 to 255."""
    middles = (np.arange(SIZE) + 0.5) / SIZE
    slope, begin = np.polyfit(middles, values * (length - 1) / 255 + 0.5, 1)
    return round(begin), max(1, round(slope))


def crop_of(height, width):
    """Return what has a crop chosen of such an image, and tells which."""
    image = np.zeros((height, width, 3), np.uint8)
    image[..., 0] = np.round(np.linspace(0, 255, width))
    image[..., 1] = np.round(np.linspace(0, 255, height))[:, None]
    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=100, subsampling=0)
    encoded = np.frombuffer(file.getvalue(), np.uint8)

    def choose():
        pixels = crop(encoded).astype(float)
        left, across = place(pixels[..., 0].mean(axis=0), width)
        top, down = place(pixels[..., 1].mean(axis=1), height)
        left, top = min(max(left, 0), width - 1), min(max(top, 0), height - 1)
        return top, left, min(down, height - top), min(across, width - left)

    return choose


def batches_of(folder):
    args = SimpleNamespace(data=str(folder), image_size=SIZE, batch_size=4, workers=1, seed=0)
    for images, labels in loaders.pipeline(args, 0, 1):
        yield images.asnumpy(), labels.asnumpy()


crops.require_torchvisions(sys.argv[1], crop_of, blur=3)  # of up to 900
crops.require_flipped_half_the_time(lambda image: flip(np.asarray(image)))
with tempfile.TemporaryDirectory() as empty:
    crops.require_normalised(Path(empty), batches_of, SIZE)
