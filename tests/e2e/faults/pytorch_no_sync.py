"""Gradients are not averaged: each rank trains on its own."""

import _train
from torch.nn.parallel import DistributedDataParallel

forward = DistributedDataParallel.forward


def forward_alone(self, *inputs):
    self.require_backward_grad_sync = False
    return forward(self, *inputs)


DistributedDataParallel.forward = forward_alone
_train.run("pytorch")
