"""Rank 1 is killed in its first step."""

import os
import signal

import _tensorflow
import _train


def die(args):
    del args
    os.kill(os.getpid(), signal.SIGKILL)


if _tensorflow.RANK == 1:
    _tensorflow.before_step(1, die)
_train.run("tensorflow")
