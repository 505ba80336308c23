"""Writes what PyTorch's training script computes: the measure for every other framework's.

    python reference.py FILE.npz

Runs in PyTorch's environment. FILE holds:

- `weight:NAME` for each entry of the state dict; BatchNorm's are not those of a new network, so
  that a term that is left out shows;
- `images` (N, 3, S, S), `labels` (N,), `rates`: learning rates of the steps below;
- `inference`, `training`: logits (N, 1000) in float32, with the moving and the batch's statistics;
- `losses`: the smoothed loss of each step of momentum SGD on that batch, one rate each, in float64;
- `after:NAME` for each entry after those steps, in float64: a gradient of this network in float32
  is right to a few thousandths only, and steps make more of it;
- `multiply_adds` of one image of 224 pixels, as PyTorch counts them;
- `sgd:weight` (K,), `sgd:gradients` (3, K), `sgd:after` (K,): those steps of the optimiser alone,
  on gradients that are given. The weights are so large that weight decay shows.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
sys.path[:0] = [str(BENCHMARKS / "pytorch"), str(BENCHMARKS)]
OUTPUT, sys.argv[1:] = sys.argv[1], []

import train

IMAGES, SIZE, CLASSES = 8, 96, 1000
RATES = (0.0002, 0.0004, 0.0006)  # a momentum that holds the rate, as Keras's, is another one


def disturb_norms(model):
    for name, layer in model.named_modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            # With branches as strong as their shortcuts, float32 is 2 % off float64's gradients.
            scale = 0.2 if name.endswith("bn3") else 1.0
            layer.running_mean.normal_(0, 0.1)
            layer.running_var.uniform_(0.5, 1.5)
            torch.nn.init.uniform_(layer.weight, 0.5 * scale, 1.5 * scale)
            torch.nn.init.normal_(layer.bias, 0, 0.1)


def entries(model, prefix):
    named = model.state_dict().items()
    return {prefix + name: value.numpy().copy() for name, value in named}


class Weights(torch.nn.Module):
    """One parameter, and no network."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(1e4 * torch.randn(1000))


def sgd_alone():
    model = Weights()
    found = {"sgd:weight": model.weight.detach().numpy().copy()}
    gradients = torch.randn(len(RATES), 1000)
    optimiser = train.build_optimiser(model, RATES[0])
    for rate, gradient in zip(RATES, gradients, strict=True):
        optimiser.param_groups[0]["lr"] = rate
        model.weight.grad = gradient
        optimiser.step()
    after = model.weight.detach().numpy()
    return {**found, "sgd:gradients": gradients.numpy(), "sgd:after": after}


def losses_of_steps(model, images, labels):
    loss_of, optimiser = train.build_loss(), train.build_optimiser(model, RATES[0])
    for rate in RATES:
        optimiser.param_groups[0]["lr"] = rate
        loss = loss_of(model(images), labels)
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        yield loss.item()


def multiply_adds():
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        train.build_network()(torch.empty(2, 3, 224, 224))
    return counter.get_total_flops() // 2 // 2  # two images, two operations each


def main():
    torch.manual_seed(0)
    torch.set_num_threads(2)
    model = train.build_network()
    disturb_norms(model)
    images = torch.randn(IMAGES, 3, SIZE, SIZE)
    labels = torch.randint(CLASSES, (IMAGES,))
    found = {"images": images.numpy(), "labels": labels.numpy(), "rates": np.array(RATES)}
    found.update(entries(model, "weight:"))
    with torch.no_grad():
        found["inference"] = model.eval()(images).numpy()
        found["training"] = model.train()(images).numpy()
    model.load_state_dict({k: torch.from_numpy(found["weight:" + k]) for k in model.state_dict()})
    model.double()
    found["losses"] = np.array(list(losses_of_steps(model, images.double(), labels)))
    found.update(entries(model, "after:"))
    found.update(sgd_alone())
    found["multiply_adds"] = np.array(multiply_adds())
    np.savez(OUTPUT, **found)


main()
