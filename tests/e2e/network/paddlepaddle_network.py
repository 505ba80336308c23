"""Compares PaddlePaddle's network, loss and optimiser with PyTorch's.

python paddlepaddle_network.py REFERENCE.npz
"""

import sys
from pathlib import Path

import compare
import numpy as np

FOLDER = Path(__file__).parents[3] / "benchmarks" / "paddlepaddle"
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]
reference = np.load(sys.argv.pop())

import paddle
import train

NAMES = {"running_mean": "_mean", "running_var": "_variance"}
given = compare.section(reference, "weight:")
given = {name: value for name, value in given.items() if value.ndim}  # not the counters


def ours(name):
    head, _, tail = name.rpartition(".")
    return f"{head}.{NAMES.get(tail, tail)}"


def turned(name, weight):
    """Paddle's linear layer keeps its weight the other way round."""
    return weight.T if name == "fc.weight" else weight


def network(dtype):
    paddle.set_default_dtype(dtype)
    model = train.build_network()
    state = {ours(name): turned(name, value.astype(dtype)) for name, value in given.items()}
    assert set(state) == set(model.state_dict())
    model.set_state_dict({name: paddle.to_tensor(value) for name, value in state.items()})
    return model


def logits(images):
    model = network("float32")
    with paddle.no_grad():
        model.eval()
        inference = model(images).numpy()
        model.train()
        return inference, model(images).numpy()


def steps(images, labels):
    model = network("float64")
    rates = reference["rates"].tolist()
    loss_of, optimiser = train.build_loss(), train.build_optimiser(model, rates[0])
    losses = []
    for rate in rates:
        optimiser.set_lr(rate)
        loss = loss_of(model(images.astype("float64")), labels)
        loss.backward()
        optimiser.step()
        optimiser.clear_grad()
        losses.append(float(loss))
    after = {name: turned(name, model.state_dict()[ours(name)].numpy()) for name in given}
    return losses, after


def sgd_alone():
    sgd = compare.section(reference, "sgd:")
    model = paddle.nn.Layer()
    model.weight = paddle.create_parameter(sgd["weight"].shape, "float32")
    model.weight.set_value(sgd["weight"])
    rates = reference["rates"].tolist()
    optimiser = train.build_optimiser(model, rates[0])
    for gradient, rate in zip(sgd["gradients"], rates, strict=True):
        optimiser.set_lr(rate)
        (model.weight * paddle.to_tensor(gradient)).sum().backward()
        optimiser.step()
        optimiser.clear_grad()
    after = {"sgd": model.weight.numpy()}
    return compare.moved({"sgd": sgd["weight"]}, after, {"sgd": sgd["after"]})


def multiply_adds():
    """Return those of one image, counted at the layers that have weights for them."""
    paddle.set_default_dtype("float32")
    model, kinds = train.build_network(), (paddle.nn.Conv2D, paddle.nn.Linear)
    layers = [layer for layer in model.sublayers() if isinstance(layer, kinds)]
    image = paddle.zeros(compare.ONE_IMAGE, "float32")
    with paddle.no_grad():
        return compare.count_multiply_adds(
            layers, "register_forward_post_hook", lambda: model(image)
        )


images, labels = map(paddle.to_tensor, (reference["images"], reference["labels"]))
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
