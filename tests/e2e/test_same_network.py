"""Every framework trains the same network as PyTorch: from the same weights on the same images."""

import json

import numpy as np
import pytest
from harness import NETWORK, environment, run_here

pytestmark = pytest.mark.slow
# Of the logits in float32, and the losses of three steps: the largest difference over the largest
# value. Of the weights, of BatchNorm's statistics, and of given numbers that the optimiser alone
# moves: how far they come out apart, over how far the three steps moved them.
TOLERANCES = {
    "inference": 1e-5,
    "training": 1e-3,
    "losses": 1e-6,
    "sgd": 1e-5,
    "weights": 1e-6,
    "statistics": 1e-6,
}
# TensorFlow's fused BatchNorm is of float32, and so are its steps. What units of ReLU do that
# rounding puts on the other side of zero makes most of the difference; a momentum of 0.9 in place
# of 0.875 would make 2 %.
IN_FLOAT32_STEPS = {"losses": 1e-5, "weights": 1e-2, "statistics": 1e-4}
IN_FLOAT32 = {**IN_FLOAT32_STEPS, "channels_first": 1e-3}
# The running variance of MXNet and PaddlePaddle is the batch's own, the others' n / (n - 1) times
# that; no step of training uses it.
OWN_VARIANCE = {"statistics": 2e-2}
# OneFlow's graphs, the global strategy, are of float32; its eager steps are compared in float64.
GRAPH = {"graph": 2e-2}
FRAMEWORKS = {
    "mindspore": {**TOLERANCES, **IN_FLOAT32_STEPS},  # its convolution refuses float64
    "mxnet": {**TOLERANCES, **OWN_VARIANCE},
    "oneflow": {**TOLERANCES, **GRAPH},
    "paddlepaddle": {**TOLERANCES, **OWN_VARIANCE},
    "tensorflow": {**TOLERANCES, **IN_FLOAT32},
}


def multiply_adds():
    """Return those of ResNet-50 v1.5 on an image of 224 pixels, from its architecture.

    Convolutions and the last layer, as papers count. v1, with strides in the 1x1, has 3.86e9.
    """
    side, given = 56, 64  # behind the max-pool
    total = 112**2 * 64 * 3 * 7**2
    for channels, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            total += side**2 * given * channels  # 1x1
            if block == 0:
                side //= stride
                total += side**2 * given * 4 * channels  # the shortcut's 1x1
            total += side**2 * channels**2 * 3**2  # 3x3
            given = 4 * channels
            total += side**2 * channels * given  # 1x1
    return total + given * 1000


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    file = tmp_path_factory.mktemp("network") / "reference.npz"
    done = run_here("pytorch", environment("pytorch"), NETWORK / "reference.py", file)
    assert done.returncode == 0, done.stderr
    assert int(np.load(file)["multiply_adds"]) == multiply_adds()
    return file


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_same_multiply_adds_logits_losses_and_weights(framework, reference):
    python = environment(framework)
    done = run_here(framework, python, NETWORK / f"{framework}_network.py", reference)
    assert done.returncode == 0, done.stderr
    (line,) = [one for one in done.stdout.splitlines() if one.startswith("found:")]
    found = json.loads(line.partition(":")[2])
    assert found.pop("multiply_adds") == multiply_adds()
    wanted = FRAMEWORKS[framework]
    assert found.keys() == wanted.keys()
    assert {what: value for what, value in found.items() if not value <= wanted[what]} == {}
