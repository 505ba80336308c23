"""Rank 1 crashes in its second step; the others then fail for want of it."""

import os

import _train
import torch

rank = os.environ.get("RANK") or os.environ.get("HOROVOD_RANK")
step = torch.optim.SGD.step
calls = []


def step_or_crash(self, *args, **kwargs):
    calls.append(1)
    if len(calls) == 2 and rank == "1":
        raise ValueError("rank 1 was told to crash")
    return step(self, *args, **kwargs)


torch.optim.SGD.step = step_or_crash
_train.run("pytorch")
