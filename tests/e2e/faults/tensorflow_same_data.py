"""No fault: all ranks have the same batch, so averaged gradients are those of one rank alone."""

import sys

import _train

sys.path[:0] = [str(_train.BENCHMARKS / "tensorflow"), str(_train.BENCHMARKS)]

import loaders  # noqa: E402 - found by the line above
from common import arguments  # noqa: E402

random_batch = loaders.random_batch
loaders.random_batch = lambda args, dtype, _rank: random_batch(args, dtype, 0)
learning_rate = arguments.learning_rate
# Rates that do not depend on the number of ranks, and are not as small.
arguments.learning_rate = lambda step, _global_batch: learning_rate(step, 2000)
_train.run("tensorflow")
