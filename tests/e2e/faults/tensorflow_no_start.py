"""Rank 1 dies at start-up, while rank 0 waits for it."""

import _tensorflow
import _train

if _tensorflow.RANK == 1:
    raise ImportError("rank 1 was told not to start")
_train.run("tensorflow")
