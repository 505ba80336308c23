"""Compares TensorFlow's network, loss and optimiser with PyTorch's.

python tensorflow_network.py REFERENCE.npz
"""

import sys
from pathlib import Path

import compare
import numpy as np

FOLDER = Path(__file__).parents[3] / "benchmarks" / "tensorflow"
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]
reference = np.load(sys.argv.pop())

import keras
import network
import optimiser
import tensorflow as tf
import train

# Ours by torchvision's names, and how a torchvision entry is turned into ours.
PARTS = {
    "scale": "weight",
    "offset": "bias",
    "mean": "running_mean",
    "variance": "running_var",
    "kernel": "weight",
    "bias": "bias",
}
AXES = {4: (2, 3, 1, 0), 2: (1, 0), 1: (0,)}


def by_name(model):
    return {
        layer.name + "." + PARTS[weight.name]: weight
        for layer in model.layers
        for weight in layer.weights
    }


def theirs(weight):
    value = weight.numpy()
    return value.transpose(np.argsort(AXES[value.ndim]))


def sgd_alone():
    given = compare.section(reference, "sgd:")
    weight = keras.Variable(given["weight"])
    sgd = optimiser.MomentumSGD([weight])
    for gradient, rate in zip(given["gradients"], reference["rates"], strict=True):
        sgd.apply([tf.constant(gradient)], tf.constant(rate, tf.float32))
    names = {"sgd": weight.numpy()}
    return compare.moved({"sgd": given["weight"]}, names, {"sgd": given["after"]})


def multiply_adds():
    """Return those of one image, counted at the layers that have weights for them."""
    model = network.resnet50(compare.ONE_IMAGE[2], "channels_last")
    return sum(
        compare.multiply_adds(layer.output.shape[1:-1], layer.kernel.shape)
        for layer in model.layers
        if hasattr(layer, "kernel")
    )


def loss_scale_is_torchs():
    """An overflow halves the scale and leaves its step out; enough good steps double it."""
    optimiser.GROWTH_STEPS = 2
    scale = optimiser.LossScale()
    weight = keras.Variable([0.0])
    sgd = optimiser.MomentumSGD([weight])
    apply = tf.function(lambda gradient: scale.apply(sgd, [gradient], tf.constant(1.0)))
    seen = []
    for gradient in (2.0**16, float("inf"), 0.0, 0.0):
        apply(tf.constant([gradient]))
        seen.append(float(scale.scale))
    assert seen == [2.0**16, 2.0**15, 2.0**15, 2.0**16], seen
    assert np.isfinite(weight.numpy()).all()


def main():
    train.set_up_devices()
    loss_scale_is_torchs()
    images = reference["images"].transpose(0, 2, 3, 1)
    labels = reference["labels"]
    model = network.resnet50(images.shape[1], "channels_last")
    given = compare.section(reference, "weight:")
    given = {name: value for name, value in given.items() if value.ndim}  # not the counters
    mine = by_name(model)
    assert sorted(mine) == sorted(given)

    def load():
        for name, weight in mine.items():
            weight.assign(given[name].transpose(AXES[given[name].ndim]))

    load()
    inference = compare.difference(model(images, training=False), reference["inference"])
    training = compare.difference(model(images, training=True), reference["training"])
    other = network.resnet50(images.shape[1], "channels_first")
    other.set_weights(model.get_weights())
    first = compare.difference(other(reference["images"], training=True), reference["training"])
    load()
    sgd = optimiser.MomentumSGD(model.trainable_variables)
    step = train.make_train_step(tf.distribute.get_strategy(), model, sgd, None)
    rates = reference["rates"]
    losses = [float(step(images, labels, tf.constant(rate, tf.float32))) for rate in rates]
    after = {name: theirs(weight) for name, weight in mine.items()}
    compare.tell(
        inference=inference,
        training=training,
        channels_first=first,
        losses=compare.difference(losses, reference["losses"]),
        multiply_adds=multiply_adds(),
        sgd=sgd_alone(),
        **compare.moved_parts(given, after, compare.section(reference, "after:")),
    )


main()
