"""Gradients are not averaged: each rank trains on its own."""

import _mxnet
import _train
import mxnet as mx

if _mxnet.HOROVOD:
    import horovod.mxnet

    horovod.mxnet.DistributedTrainer._allreduce_grads = lambda _self: None
else:
    # Each rank updates its weights with its own gradients, which it never sends.
    mx.gluon.Trainer._allreduce_grads = lambda _self: None
_train.run("mxnet")
