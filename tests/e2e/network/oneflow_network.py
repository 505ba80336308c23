"""Compares OneFlow's network, loss and optimiser with PyTorch's.

python oneflow_network.py REFERENCE.npz
"""

import sys
from pathlib import Path

import compare
import numpy as np

FOLDER = Path(__file__).parents[3] / "benchmarks" / "oneflow"
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]
reference = np.load(sys.argv.pop())

import oneflow as flow
import train
from common import arguments

given = compare.section(reference, "weight:")
given = {name: value for name, value in given.items() if value.ndim}  # not the counters
rates = reference["rates"].tolist()
# The rates of the steps, in the place of those that follow from a batch.
arguments.learning_rate = lambda step, _global_batch: rates[min(step, len(rates)) - 1]
arguments.WARMUP_EPOCHS, arguments.IMAGENET_TRAIN_IMAGES = 1, len(rates)


def network():
    model = train.build_network()
    state = {name: flow.tensor(value) for name, value in given.items()}
    counters = {n: v for n, v in model.state_dict().items() if n.endswith("num_batches_tracked")}
    model.load_state_dict({**state, **counters})  # strict: all names are the same
    return model


def logits(images):
    model = network()
    with flow.no_grad():
        inference = model.eval()(images).numpy()
        return inference, model.train()(images).numpy()


def steps(step_of, images, labels, dtype):
    """Train with a strategy of train.py: a global batch of 1 makes the rates those given."""
    model = network().to(dtype)
    step = step_of(model, train.build_loss(), 1)
    losses = [step(images.to(dtype), labels).numpy().item() for _ in rates]
    after = model.state_dict()
    return losses, {name: train.here(after[name]) for name in given}


class Weights(flow.nn.Module):
    """One parameter, and no network."""

    def __init__(self, values):
        super().__init__()
        self.weight = flow.nn.Parameter(flow.tensor(values))

    def forward(self, gradient):
        return (self.weight * gradient).sum()


def sgd_alone(step_of):
    sgd = compare.section(reference, "sgd:")
    model = Weights(sgd["weight"])
    step = step_of(model, lambda value, _labels: value, 1)
    for gradient in sgd["gradients"]:
        # A batch of one, as global tensors are split between ranks.
        step(flow.tensor(gradient[None]), flow.zeros(1, dtype=flow.int64))
    after = {"sgd": train.here(model.weight)}
    return compare.moved({"sgd": sgd["weight"]}, after, {"sgd": sgd["after"]})


def multiply_adds():
    """Return those of one image, counted at the layers that have weights for them."""
    model, kinds = train.build_network(), (flow.nn.Conv2d, flow.nn.Linear)
    layers = [layer for layer in model.modules() if isinstance(layer, kinds)]
    with flow.no_grad():
        return compare.count_multiply_adds(
            layers, "register_forward_hook", lambda: model(flow.zeros(compare.ONE_IMAGE))
        )


images, labels = flow.tensor(reference["images"]), flow.tensor(reference["labels"])
inference, training = logits(images)
wanted = compare.section(reference, "after:")
losses, after = steps(train.ddp_step, images, labels, flow.float64)
# A graph's optimiser is of float32.
_, after_graph = steps(train.global_step, images, labels, flow.float32)
compare.tell(
    inference=compare.difference(inference, reference["inference"]),
    training=compare.difference(training, reference["training"]),
    losses=compare.difference(losses, reference["losses"]),
    multiply_adds=multiply_adds(),
    sgd=max(sgd_alone(step_of) for step_of in train.STRATEGIES.values()),
    graph=compare.moved_parts(given, after_graph, wanted)["weights"],
    **compare.moved_parts(given, after, wanted),
)
