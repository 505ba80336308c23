"""Run by PyTorch's environment: python reference.py FILE.npz

Writes what all frameworks must come to: weights, images and labels; the logits of inference and of
training (with the batch's statistics); the smoothed losses of three SGD steps, and the weights
after them. The steps are in float64: in float32 a gradient of this network is good to 1 or 2 % only
(PyTorch's against its own in float64), and the steps make more of it.
"""

import sys
from pathlib import Path

import numpy as np
import torch

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
sys.path[:0] = [str(BENCHMARKS / "pytorch"), str(BENCHMARKS)]
OUTPUT, sys.argv[1:] = sys.argv[1], []

import train

IMAGES, SIZE, LEARNING_RATE, STEPS = 4, 96, 0.01, 3

torch.manual_seed(0)
model = train.build_network()
with torch.no_grad():  # a fresh BatchNorm is the identity: faults in it would not show
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if name.endswith(("running_mean", "bias")):
            tensor.normal_(std=0.1)
        elif tensor.is_floating_point() and ("bn" in name or "downsample.1" in name):
            tensor.uniform_(0.5, 1.5)  # weights of BatchNorm, and running variances
found = {f"weight:{name}": t.numpy().copy() for name, t in model.state_dict().items()}
images = torch.randn(IMAGES, 3, SIZE, SIZE)
labels = torch.arange(IMAGES) * 77
found |= {"images": images.numpy(), "labels": labels.numpy()}
with torch.no_grad():
    found["inference"] = model.eval()(images).numpy()
    found["training"] = model.train()(images).numpy()
model.double()
loss_of, optimiser = train.build_loss(), train.build_optimiser(model, LEARNING_RATE)
losses = []
for _ in range(STEPS):
    loss = loss_of(model(images.double()), labels)
    loss.backward()
    optimiser.step()
    optimiser.zero_grad()
    losses.append(loss.item())
found["losses"] = np.array(losses)
found |= {f"trained:{name}": p.detach().numpy() for name, p in model.named_parameters()}
found["learning_rate"] = np.array(LEARNING_RATE)
np.savez(OUTPUT, **found)
