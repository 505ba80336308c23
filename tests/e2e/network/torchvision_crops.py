"""Writes crops as torchvision's RandomResizedCrop chooses them; runs in PyTorch's environment.

    python torchvision_crops.py FILE.npz

FILE holds `sizes` (N, 2): height and width of images, and `crops` (N, CROPS, 4): top, left,
height, width.
"""

import sys

import numpy as np
import torch
from torchvision.transforms import RandomResizedCrop

# One that fits nearly always, and two whose crop often has to be taken from the middle.
SIZES = [(375, 500), (100, 900), (900, 60)]
CROPS = 4000


def main(path):
    torch.manual_seed(0)
    crop = RandomResizedCrop(224)
    crops = [
        [crop.get_params(torch.empty(3, *size), crop.scale, crop.ratio) for _ in range(CROPS)]
        for size in SIZES
    ]
    np.savez(path, sizes=SIZES, crops=crops)


if __name__ == "__main__":
    main(sys.argv[1])
