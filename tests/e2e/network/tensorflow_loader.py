"""Compares the loader's crops with torchvision's, and looks at how images are shared out.

python tensorflow_loader.py CROPS.npz
"""

import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parents[3] / "benchmarks" / "tensorflow"
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

import loaders
import tensorflow as tf


def largest_distance(mine, wanted):
    """Return the Kolmogorov-Smirnov distance of two samples."""
    values = np.concatenate([mine, wanted])
    shares = [np.searchsorted(np.sort(one), values, "right") / len(one) for one in (mine, wanted)]
    return np.abs(shares[0] - shares[1]).max()


def crops_are_torchvisions():
    given = np.load(sys.argv[1])
    for (height, width), wanted in zip(given["sizes"], given["crops"], strict=True):
        crop = tf.function(lambda h=int(height), w=int(width): loaders.random_crop(h, w))
        mine = np.array([crop().numpy() for _ in wanted])
        assert (mine >= [0, 0, 1, 1]).all()
        assert (mine[:, :2] + mine[:, 2:] <= [height, width]).all()
        # One in a million pairs of samples from one distribution is further apart.
        limit = 2.7 * (2 / len(wanted)) ** 0.5
        for place, name in enumerate(("top", "left", "height", "width")):
            distance = largest_distance(mine[:, place], wanted[:, place])
            assert distance < limit, (height, width, name, distance)


def shares_do_not_overlap():
    tf.random.set_seed(3)
    images, ranks = 10, 2
    shares = [
        [int(i) for i in loaders.endless_order(images, rank, ranks, 7).take(15)]
        for rank in range(ranks)
    ]
    order = [index for pair in zip(*shares, strict=True) for index in pair]
    epochs = [order[start : start + images] for start in range(0, len(order), images)]
    assert all(sorted(epoch) == list(range(images)) for epoch in epochs), order
    assert epochs[0] != epochs[1] != epochs[2]


crops_are_torchvisions()
shares_do_not_overlap()
