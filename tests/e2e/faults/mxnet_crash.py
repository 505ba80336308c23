"""Rank 1 crashes in its second step; the others then wait for it."""

import _mxnet
import _train
import mxnet as mx

step = mx.gluon.Trainer.step
calls = []


def step_or_crash(self, *inputs):
    calls.append(1)
    if len(calls) == 2 and _mxnet.RANK == 1:
        raise ValueError("rank 1 was told to crash")
    return step(self, *inputs)


mx.gluon.Trainer.step = step_or_crash
_train.run("mxnet")
