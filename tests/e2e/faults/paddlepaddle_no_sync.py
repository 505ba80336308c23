"""Gradients are not averaged: each rank trains on its own."""

import _train
import paddle

forward = paddle.DataParallel.forward


def forward_alone(self, *inputs):
    with self.no_sync():
        return forward(self, *inputs)


paddle.DataParallel.forward = forward_alone
_train.run("paddlepaddle")
