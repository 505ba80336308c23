"""Gradients are not averaged: each rank trains on its own."""

import _train
from mindspore import nn

nn.DistributedGradReducer.construct = lambda _self, gradients: gradients
_train.run("mindspore")
