"""Compares the crops of the loader of records with torchvision's, and looks at pixels and labels.

python oneflow_records.py CROPS.npz RECORDS
"""

import sys
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

FOLDER = Path(__file__).parents[3] / "benchmarks" / "oneflow"
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

import loaders
import oneflow as flow
import records

FILE, RECORDS = sys.argv[1], Path(sys.argv[2])


def batches_of(folder, batch_size, rank, ranks):
    args = SimpleNamespace(
        data=str(folder), loader="ofrecord", strategy="ddp", image_size=32, batch_size=batch_size
    )
    args.seed = 0
    for images, labels in loaders.batches(args, rank, ranks):
        assert images.dtype == flow.float32
        yield images.numpy(), labels.numpy()


# Where no crop fits, OneFlow takes the largest from anywhere, and not from the middle.
records.require_torchvisions(FILE, RECORDS, batches_of, sizes=1)
# Of a PNG its decoder crashes, and a JPEG's colours are right to a step or two. A batch can hold an
# image twice: it shuffles among more records than there are here.
labels_seen = set()
for images, labels in islice(batches_of(RECORDS / "colours-jpeg", 4, 0, 1), 12):
    records.require_colours_of(images, labels, 2 / 255 / records.STD.min())
    labels_seen |= set(labels.tolist())
assert labels_seen == {0, 1, 2, 3}
# For the same reason an epoch's end is not to be seen.
(seen,) = records.shares_of(RECORDS, batches_of, epochs=8, ranks=1)
assert set(seen) == set(range(records.SHARED))
assert seen[: records.SHARED] != sorted(seen[: records.SHARED])
