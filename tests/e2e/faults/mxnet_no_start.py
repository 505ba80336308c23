"""Rank 1 dies at start-up, before it has a log of its own, while rank 0 waits for it."""

import _mxnet
import _train

if _mxnet.RANK == 1:
    raise ImportError("rank 1 was told not to start")
_train.run("mxnet")
