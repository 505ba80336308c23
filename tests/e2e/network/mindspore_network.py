"""Compares MindSpore's network, loss and optimiser with PyTorch's.

python mindspore_network.py REFERENCE.npz
"""

import sys
from pathlib import Path

import compare
import numpy as np

FOLDER = Path(__file__).parents[3] / "benchmarks" / "mindspore"
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]
reference = np.load(sys.argv.pop())

import mindspore
import train
from mindspore import Parameter, Tensor, nn, ops

mindspore.set_device("CPU")
NAMES = {"running_mean": "moving_mean", "running_var": "moving_variance"}
NORM = {"weight": "gamma", "bias": "beta"}
given = compare.section(reference, "weight:")
given = {name: value for name, value in given.items() if value.ndim}  # not the counters


def ours(name):
    head, _, tail = name.rpartition(".")
    norm = f"{head}.running_mean" in given
    tail = NAMES.get(tail, NORM[tail] if norm and tail in NORM else tail)
    head = head.replace("downsample", "down_sample").replace("fc", "classifier")
    return f"{head}.{tail}"


def network():
    model = train.build_network()
    state = {ours(name): value for name, value in given.items()}
    mine = model.parameters_dict()
    assert sorted(state) == sorted(mine)
    for name, parameter in mine.items():
        parameter.set_data(Tensor(state[name]))
    return model


def logits(images):
    model = network()
    model.set_train(False)
    inference = model(images).asnumpy()
    model.set_train(True)
    return inference, model(images).asnumpy()


def steps(images, labels):
    model = network()
    rates = reference["rates"].tolist()
    optimiser = train.build_optimiser(model.trainable_params(), rates)
    step = train.build_step(model, train.build_loss(), optimiser, nn.Identity())
    losses = [float(step(images, labels).asnumpy()) for _ in rates]
    mine = model.parameters_dict()
    return losses, {name: mine[ours(name)].asnumpy() for name in given}


def sgd_alone():
    sgd = compare.section(reference, "sgd:")
    weight = Parameter(Tensor(sgd["weight"]), name="weight")
    optimiser = train.build_optimiser([weight], reference["rates"].tolist())
    for gradient in sgd["gradients"]:
        optimiser((Tensor(gradient),))
    after = {"sgd": weight.asnumpy()}
    return compare.moved({"sgd": sgd["weight"]}, after, {"sgd": sgd["after"]})


def multiply_adds():
    """Return those of one image, counted at the layers that have weights for them."""
    model, kinds = train.build_network(), (nn.Conv2d, nn.Dense)
    layers = [layer for _, layer in model.cells_and_names() if isinstance(layer, kinds)]
    return compare.count_multiply_adds(
        layers, "register_forward_hook", lambda: model(ops.zeros(compare.ONE_IMAGE))
    )


images = Tensor(reference["images"])
labels = Tensor(reference["labels"].astype(np.int32))
inference, training = logits(images)
losses, after = steps(images, labels)
compare.tell(
    inference=compare.difference(inference, reference["inference"]),
    training=compare.difference(training, reference["training"]),
    losses=compare.difference(losses, reference["losses"]),
    multiply_adds=multiply_adds(),
    sgd=sgd_alone(),
    **compare.moved_parts(given, after, compare.section(reference, "after:")),
)
