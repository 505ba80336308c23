"""Rank 1 crashes in its second step; the others then wait for it."""

import os

import _train
import paddle

step = paddle.optimizer.Momentum.step
calls = []


def step_or_crash(self):
    calls.append(1)
    if len(calls) == 2 and os.environ["PADDLE_TRAINER_ID"] == "1":
        raise ValueError("rank 1 was told to crash")
    return step(self)


paddle.optimizer.Momentum.step = step_or_crash
_train.run("paddlepaddle")
