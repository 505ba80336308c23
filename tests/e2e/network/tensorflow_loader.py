"""Compares the loader's crops with torchvision's, and looks at how images are shared out.

python tensorflow_loader.py CROPS.npz
"""

import sys
from pathlib import Path

import crops

FOLDER = Path(__file__).parents[3] / "benchmarks" / "tensorflow"
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

import loaders
import tensorflow as tf


def crop_of(height, width):
    choose = tf.function(lambda: loaders.random_crop(height, width))
    return lambda: choose().numpy()


crops.require_torchvisions(sys.argv[1], crop_of)
tf.random.set_seed(3)
IMAGES, RANKS = 10, 2
shares = [
    [int(i) for i in loaders.endless_order(IMAGES, rank, RANKS, 7).take(15)]
    for rank in range(RANKS)
]
crops.require_shared_out(shares, IMAGES)
