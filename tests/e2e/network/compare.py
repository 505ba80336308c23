"""How far a framework's figures are from PyTorch's; see reference.py."""

import json
import math

import numpy as np

ONE_IMAGE = (1, 3, 224, 224)  # whose multiply-adds are counted


def multiply_adds(places, weight):
    """Return a layer's: every weight takes part once in each place of the output.

    `places` is the output's shape without batch and channels, `weight` the weights' shape.
    """
    return math.prod(places) * math.prod(weight)


def difference(mine, wanted):
    """Return the largest difference over the largest value."""
    return float(np.abs(np.asarray(mine) - wanted).max() / np.abs(wanted).max())


def moved(before, mine, wanted):
    """Return how far weights moved otherwise than torchvision's, over how far those moved.

    Each is a dict of arrays by torchvision's names; the length is that of all entries together.
    """
    names = sorted(before)
    apart = sum(float(((mine[name] - wanted[name]) ** 2).sum()) for name in names)
    way = sum(float(((wanted[name] - before[name]) ** 2).sum()) for name in names)
    return (apart / way) ** 0.5


def moved_parts(before, mine, wanted):
    """Return `moved` of the trained weights, and of BatchNorm's moving statistics."""
    parts = {"weights": [], "statistics": []}
    for name in before:
        parts["statistics" if ".running_" in name else "weights"].append(name)
    return {
        part: moved(*({name: one[name] for name in names} for one in (before, mine, wanted)))
        for part, names in parts.items()
    }


def section(reference, prefix):
    """Return a reference's entries that begin with a prefix, by what follows it."""
    return {
        name[len(prefix) :]: reference[name] for name in reference.files if name.startswith(prefix)
    }


def count_multiply_adds(layers, hook, forward):
    """Return those of `forward()`, counted at the layers, whose method `hook` takes what counts."""
    counts = []

    def count(layer, _images, output):
        counts.append(multiply_adds(output.shape[2:], layer.weight.shape))

    for layer in layers:
        getattr(layer, hook)(count)
    forward()
    return sum(counts)


def tell(**found):
    """Print the differences, and the multiply-adds, for the test that started this script."""
    print("found:", json.dumps(found))
