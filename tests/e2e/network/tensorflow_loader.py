"""Compares the loaders' crops with torchvision's, and looks at how images are shared out.

python tensorflow_loader.py CROPS.npz IMAGES: that records.py wrote
"""

import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import crops

FOLDER = Path(__file__).parents[3] / "benchmarks" / "tensorflow"
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

import loaders
import records
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


def by_dali(folder, batch_size, rank, ranks, layout="channels_last"):
    args = SimpleNamespace(data=str(folder), loader="dali-cpu", image_size=32, workers=1, seed=0)
    args.batch_size, args.layout = batch_size, layout
    for images, labels in loaders.batches(args, tf.float32, rank, ranks):
        assert (images.dtype, labels.dtype) == (tf.float32, tf.int64)
        last = layout == "channels_last"
        yield images.numpy().transpose(0, 3, 1, 2) if last else images.numpy(), labels.numpy()


records.require_dalis(sys.argv[1], Path(sys.argv[2]), by_dali)
records.require_colours(Path(sys.argv[2]), partial(by_dali, layout="channels_first"))
