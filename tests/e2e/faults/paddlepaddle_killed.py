"""Rank 1 is killed in its first step."""

import os
import signal

import _train
import paddle

step = paddle.optimizer.Momentum.step


def step_or_die(self):
    if os.environ["PADDLE_TRAINER_ID"] == "1":
        os.kill(os.getpid(), signal.SIGKILL)
    return step(self)


paddle.optimizer.Momentum.step = step_or_die
_train.run("paddlepaddle")
