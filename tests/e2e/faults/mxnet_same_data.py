"""No fault: all ranks have the same batch, so averaged gradients are those of one rank alone."""

import functools
import sys

import _train

sys.path[:0] = [str(_train.BENCHMARKS / "mxnet"), str(_train.BENCHMARKS)]

import loaders  # noqa: E402 - found by the line above
import optimiser  # noqa: E402
from common import arguments  # noqa: E402

synthetic = loaders.synthetic
loaders.synthetic = lambda args, _rank, _world_size: synthetic(args, 0, 1)
make = optimiser.MomentumSGD.__init__


def make_with_other_rates(self, _rate_of_step):
    """Learn at rates that do not depend on the number of ranks, and are not as small."""
    make(self, functools.partial(arguments.learning_rate, global_batch=2000))


optimiser.MomentumSGD.__init__ = make_with_other_rates
_train.run("mxnet")
