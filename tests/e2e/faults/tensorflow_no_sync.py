"""Gradients are not averaged: each rank trains on its own."""

import _train
import tensorflow as tf


def all_reduce_nothing(self, reduce_op, value, options=None):
    del self, reduce_op, options
    return value


tf.distribute.ReplicaContext.all_reduce = all_reduce_nothing
_train.run("tensorflow")
