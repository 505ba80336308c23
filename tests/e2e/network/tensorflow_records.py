"""Reads records that `dlscale data convert` made with TensorFlow alone, and by the loader's order.

python tensorflow_records.py RECORDS IMAGES: files of records, and the class folders behind them
"""

import os
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[3] / "benchmarks" / "tensorflow"
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

import loaders
import tensorflow as tf

records, images = Path(sys.argv[1]), Path(sys.argv[2])
files = sorted(str(path) for path in records.glob("train-*-of-*"))
assert loaders.record_files(str(records)) == files
wanted = {
    (str(path.relative_to(images)), label, path.read_bytes())
    for label, folder in enumerate(sorted(images.iterdir()))
    for path in folder.iterdir()
}

# With nothing of ours: every image comes back to the byte, with its label.
keys = {
    "image/encoded": tf.io.FixedLenFeature((), tf.string),
    "image/class/label": tf.io.FixedLenFeature((), tf.int64),
    "image/class/synset": tf.io.FixedLenFeature((), tf.string),
    "image/filename": tf.io.FixedLenFeature((), tf.string),
    "image/height": tf.io.FixedLenFeature((), tf.int64),
    "image/width": tf.io.FixedLenFeature((), tf.int64),
}
found = set()
for record in tf.data.TFRecordDataset(files):
    one = {key: value.numpy() for key, value in tf.io.parse_single_example(record, keys).items()}
    name = os.fsdecode(one["image/class/synset"] + b"/" + one["image/filename"])
    height, width, _ = tf.io.decode_jpeg(one["image/encoded"]).shape
    assert (height, width) == (one["image/height"], one["image/width"])
    assert (name, int(one["image/class/label"]), one["image/encoded"]) not in found
    found.add((name, int(one["image/class/label"]), one["image/encoded"]))
assert found == wanted, (len(found), len(wanted))


# By the loader: ranks share the images out, with files for each rank and without.
def names(files, rank, ranks, count, workers=1):
    order = loaders.endless_records(files, rank, ranks, 7, workers).take(count)
    return [bytes(loaders.parse(record)[2].numpy()).decode() for record in order]


everyone = sorted(name for name, *_ in wanted)
for some, ranks in ((files, 2), (files, 3), (files[:1], 2)):
    parts = [[record.numpy() for record in tf.data.TFRecordDataset(name)] for name in some]
    all_of_them = sorted(bytes(loaders.parse(one)[2].numpy()).decode() for p in parts for one in p)
    seen = [set(names(some, rank, ranks, 4 * len(all_of_them))) for rank in range(ranks)]
    # A rank's share is the same in each epoch, as the ranks divide the records of a file evenly.
    assert sorted(name for share in seen for name in share) == all_of_them, (len(some), ranks)
assert names(files, 0, 2, 50) == names(files, 0, 2, 50)
assert len(names(files[:1], 0, 1, 50, workers=8)) == 50  # more threads than files
assert names(files, 0, 2, 50) != sorted(names(files, 0, 2, 50))
