"""Momentum SGD as PyTorch has it; MXNet's servers import this file too."""

import mxnet as mx
from common import arguments


class MomentumSGD(mx.optimizer.SGD):
    """SGD with the weight decay added to the gradient of every parameter.

    MXNet's own momentum adds up what was taken off the weights, the learning rates of those steps
    included. A momentum times the ratio of this rate to the last makes it that of gradients alone.
    """

    def __init__(self, rate_of_step):
        """Take `rate_of_step(step)`, which can be pickled, for the learning rates; steps from 1."""
        super().__init__(momentum=arguments.MOMENTUM, wd=arguments.WEIGHT_DECAY)
        self.rate_of_step = rate_of_step
        self.steps = {}

    def update_multi_precision(self, index, weight, grad, state):
        """Update a weight or a list of them, which comes with the same weights at each step."""
        first = index[0] if isinstance(index, (list, tuple)) else index
        step = self.steps[first] = self.steps.get(first, 0) + 1
        self.lr = self.rate_of_step(step)
        last = self.rate_of_step(step - 1) if step > 1 else self.lr
        self.momentum = arguments.MOMENTUM * self.lr / last
        super().update_multi_precision(index, weight, grad, state)
