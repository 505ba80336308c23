"""Rank 1 dies at start-up, before it has a log of its own, while rank 0 waits for it."""

import os

import _train

if os.environ["RANK_ID"] == "1":
    raise ImportError("rank 1 was told not to start")
_train.run("mindspore")
