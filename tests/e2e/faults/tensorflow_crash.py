"""Rank 1 crashes in its second step; the others then fail for want of it."""

import _tensorflow
import _train


def crash(args):
    del args
    raise ValueError("rank 1 was told to crash")


if _tensorflow.RANK == 1:
    _tensorflow.before_step(2, crash)
_train.run("tensorflow")
