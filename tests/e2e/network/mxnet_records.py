"""Compares the crops of the loader of records with torchvision's, and looks at pixels and shares.

python mxnet_records.py CROPS.npz RECORDS
"""

import contextlib
import sys
from pathlib import Path
from types import SimpleNamespace

import crops
import numpy as np
import records

FOLDER = Path(__file__).parents[3] / "benchmarks" / "mxnet"
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

import loaders

FILE, RECORDS = sys.argv[1], Path(sys.argv[2])


def batches_of(folder, batch_size, rank, ranks):
    args = SimpleNamespace(
        data=str(folder), image_size=32, batch_size=batch_size, workers=1, seed=0
    )
    for images, labels in loaders.recordio(args, rank, ranks):
        assert images.dtype == np.float32
        yield images.asnumpy(), labels.asnumpy().astype(int)


# Where no crop fits, the iterator takes the middle, of the input's size, and not torchvision's.
records.require_torchvisions(FILE, RECORDS, batches_of, sizes=1)
records.require_colours(RECORDS, batches_of)
crops.require_shared_out(records.shares_of(RECORDS, batches_of, epochs=4), records.SHARED)
with contextlib.suppress(RuntimeError):  # rank 1 of 2 has 6 of the 12 images
    next(batches_of(RECORDS / "shares", 7, 1, 2))
    raise SystemExit("a share that is too small for a batch was not refused")
