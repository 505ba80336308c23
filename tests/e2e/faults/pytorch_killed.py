"""Rank 1 is killed in its first step."""

import os
import signal

import _train
import torch

step = torch.optim.SGD.step


def step_or_die(self, *args, **kwargs):
    if os.environ["RANK"] == "1":
        os.kill(os.getpid(), signal.SIGKILL)
    return step(self, *args, **kwargs)


torch.optim.SGD.step = step_or_die
_train.run("pytorch")
