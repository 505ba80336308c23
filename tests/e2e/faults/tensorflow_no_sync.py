"""Gradients are not averaged: each rank trains on its own; none of rank 1's reaches a server."""

import sys

import _train
import tensorflow as tf

sys.path[:0] = [str(_train.BENCHMARKS / "tensorflow"), str(_train.BENCHMARKS)]

import parameter_server  # noqa: E402 - found by the line above


def all_reduce_nothing(self, reduce_op, value, options=None):
    del self, reduce_op, options
    return value


apply = parameter_server.MomentumSGD.apply


def apply_on_others(self, gradients, rate):
    if isinstance(self, parameter_server.ServedSGD):
        rank_1 = tf.equal(parameter_server.worker_index(), 1)
        gradients = [tf.where(rank_1, tf.zeros_like(g), g) for g in gradients]
    apply(self, gradients, rate)


tf.distribute.ReplicaContext.all_reduce = all_reduce_nothing
parameter_server.MomentumSGD.apply = apply_on_others
if "--strategy=horovod" in sys.argv:
    import horovod.tensorflow

    horovod.tensorflow.allreduce = lambda gradient, **_: gradient
_train.run("tensorflow")
