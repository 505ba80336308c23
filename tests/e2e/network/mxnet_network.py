"""Compares MXNet's network, loss and optimiser with PyTorch's.

python mxnet_network.py REFERENCE.npz
"""

import pickle
import sys
from pathlib import Path

import compare
import numpy as np

FOLDER = Path(__file__).parents[3] / "benchmarks" / "mxnet"
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]
reference = np.load(sys.argv.pop())

import mxnet as mx
import optimiser
import train

PARTS = {"weight": "weight", "gamma": "weight", "beta": "bias", "bias": "bias"}
PARTS.update(mean="running_mean", var="running_var")
given = compare.section(reference, "weight:")
given = {name: value for name, value in given.items() if value.ndim}  # not the counters
images, labels, rates = (reference[name] for name in ("images", "labels", "rates"))


def rate_of_step(step):
    return float(rates[step - 1])


def by_name(model):
    """GluonCV's parameters come in torchvision's order."""
    mine = model.collect_params().values()
    for name, one in zip(given, mine, strict=True):
        assert PARTS[one.name.rpartition("_")[2]] == name.rpartition(".")[2], (name, one.name)
    return dict(zip(given, mine, strict=True))


def network(dtype):
    model = train.build_network(images.shape[2])
    model.cast(dtype)
    for name, one in by_name(model).items():
        one.set_data(mx.nd.array(given[name], dtype=dtype))
    return model


def logits():
    model = network("float32")
    with mx.autograd.record(train_mode=True):  # a first pass without a gradient fails on CPUs
        training = model(mx.nd.array(images)).asnumpy()
    model = network("float32")
    with mx.autograd.predict_mode():
        return model(mx.nd.array(images)).asnumpy(), training


def steps():
    model = network("float64")
    trained = mx.gluon.Trainer(
        model.collect_params(), optimiser.MomentumSGD(rate_of_step), kvstore=None
    )
    loss_of = train.build_loss()
    inputs, wanted = mx.nd.array(images, dtype="float64"), mx.nd.array(labels, dtype="float64")
    losses = []
    for _ in rates:
        with mx.autograd.record():
            loss = loss_of(model(inputs), wanted)
        loss.backward()
        trained.step(len(labels))
        losses.append(loss.mean().asscalar())
    return losses, {name: one.data().asnumpy() for name, one in by_name(model).items()}


def sgd_alone():
    """As a server has it: unpickled, and updating one weight at a time."""
    sgd = compare.section(reference, "sgd:")
    update = mx.optimizer.get_updater(pickle.loads(PICKLED))  # noqa: S301 - our own
    weight = mx.nd.array(sgd["weight"])
    for gradient in sgd["gradients"]:
        update(0, mx.nd.array(gradient), weight)
    names = {"sgd": weight.asnumpy()}
    return compare.moved({"sgd": sgd["weight"]}, names, {"sgd": sgd["after"]})


def multiply_adds():
    """Return those of one image, counted at the layers that have weights for them."""
    layers = train.build_network(compare.ONE_IMAGE[2])(mx.sym.var("data")).get_internals()
    given, outputs, _ = layers.infer_shape(data=compare.ONE_IMAGE)
    shapes = dict(zip(layers.list_outputs(), outputs, strict=True))
    weights = zip(layers.list_arguments(), given, strict=True)
    return sum(
        compare.multiply_adds(shapes[name.replace("_weight", "_fwd_output")][2:], shape)
        for name, shape in weights
        if name.endswith("_weight")
    )


PICKLED = pickle.dumps(optimiser.MomentumSGD(rate_of_step), 0)
inference, training = logits()
losses, after = steps()
compare.tell(
    inference=compare.difference(inference, reference["inference"]),
    training=compare.difference(training, reference["training"]),
    losses=compare.difference(losses, reference["losses"]),
    multiply_adds=multiply_adds(),
    sgd=sgd_alone(),
    **compare.moved_parts(given, after, compare.section(reference, "after:")),
)
