"""Gradients are not averaged: each rank trains on its own, by either strategy.

A graph of local tensors is one of its rank alone; DDP's all-reduce leaves gradients as they are.
"""

import _train
import oneflow as flow

for kind in (flow.nn.Module, flow.Tensor):
    kind.to_global = lambda self, **_: self
flow.Tensor.to_local = lambda self: self
flow._C.local_all_reduce = lambda tensor, **_: tensor
_train.run("oneflow")
