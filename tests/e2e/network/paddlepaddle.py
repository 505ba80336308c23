"""Run by PaddlePaddle's environment: python paddlepaddle.py FILE.npz; prints the differences."""

import json
import sys
from pathlib import Path

import numpy as np

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
# Not this folder: it has a module of this framework's name.
sys.path[:1] = [str(BENCHMARKS / "paddlepaddle"), str(BENCHMARKS)]
REFERENCE, sys.argv[1:] = sys.argv[1], []

import paddle
import train

NAMES = {"running_mean": "_mean", "running_var": "_variance"}


def ours(name):
    head, _, tail = name.rpartition(".")
    return f"{head}.{NAMES.get(tail, tail)}"


def turned(name, weight):
    """Paddle's linear layer keeps its weight the other way round."""
    return weight.T if name == "fc.weight" else weight


def largest(mine, theirs):
    return float(np.abs(mine - theirs).max() / np.abs(theirs).max())


reference = np.load(REFERENCE)
weights = {
    name.partition(":")[2]: reference[name] for name in reference.files if name[:7] == "weight:"
}
state = {
    ours(name): turned(name, weight)
    for name, weight in weights.items()
    if not name.endswith("num_batches_tracked")
}


def network(dtype):
    paddle.set_default_dtype(dtype)
    model = train.build_network()
    assert set(state) == set(model.state_dict())
    model.set_state_dict({name: paddle.to_tensor(w.astype(dtype)) for name, w in state.items()})
    return model


model = network("float32")
images, labels = map(paddle.to_tensor, (reference["images"], reference["labels"]))
with paddle.no_grad():
    model.eval()
    differences = {"inference": largest(model(images).numpy(), reference["inference"])}
    model.train()
    differences["training"] = largest(model(images).numpy(), reference["training"])

model = network("float64")
loss_of = train.build_loss()
optimiser = train.build_optimiser(model, float(reference["learning_rate"]))
losses = []
for _ in reference["losses"]:
    loss = loss_of(model(images.astype("float64")), labels)
    loss.backward()
    optimiser.step()
    optimiser.clear_grad()
    losses.append(float(loss))
differences["losses"] = largest(np.array(losses), reference["losses"])
named = dict(model.named_parameters())
changes, errors = [], []
for name in reference.files:
    kind, _, weight = name.partition(":")
    if kind == "trained":
        mine = turned(weight, named[ours(weight)].numpy())
        errors.append(np.linalg.norm(mine - reference[name]))
        changes.append(np.linalg.norm(weights[weight] - reference[name]))
# How far the weights are apart after the steps, as a share of how far the steps moved them.
differences["weights"] = float(np.linalg.norm(errors) / np.linalg.norm(changes))
differences["parameters"] = int(sum(np.prod(p.shape) for p in train.trained_parameters(model)))
print(json.dumps(differences))
