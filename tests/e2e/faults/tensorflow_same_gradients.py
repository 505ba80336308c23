"""No fault: all gradients are ones, so the weights' way tells how many updates servers have done.

Which worker's update comes first makes no difference then.
"""

import sys

import _train
import numpy as np
import tensorflow as tf

sys.path[:0] = [str(_train.BENCHMARKS / "tensorflow"), str(_train.BENCHMARKS)]

import optimiser  # noqa: E402 - found by the line above
import parameter_server  # noqa: E402
from common import arguments  # noqa: E402

RATE = 0.5
optimiser.WEIGHT_DECAY = 0.0
arguments.learning_rate = lambda _step, _global_batch: RATE
tf.GradientTape.gradient = lambda _self, _loss, weights: [tf.ones(w.shape) for w in weights]
checksums = parameter_server.Coordinator.checksums


def checksums_of_expected(self, model):
    """Compare every offset of BatchNorm, which began at zero, with updates one after another."""
    velocity = way = 0.0
    for _ in range(self.args.total_steps * self.workers):
        velocity = arguments.MOMENTUM * velocity + 1
        way -= RATE / self.workers * velocity
    offsets = [w.numpy() for w in model.trainable_variables if w.name == "offset"]
    assert len(offsets) == 53
    for offset in offsets:
        np.testing.assert_allclose(offset, way, rtol=1e-5)
    return checksums(self, model)


parameter_server.Coordinator.checksums = checksums_of_expected
_train.run("tensorflow")
