"""What every loader's crops and shares of the images are asked for."""

import numpy as np


def largest_distance(mine, wanted):
    """Return the Kolmogorov-Smirnov distance of two samples."""
    values = np.concatenate([mine, wanted])
    shares = [np.searchsorted(np.sort(one), values, "right") / len(one) for one in (mine, wanted)]
    return np.abs(shares[0] - shares[1]).max()


def require_torchvisions(file, crop_of):
    """Compare crops with those of torchvision_crops.py.

    `crop_of(height, width)` returns a function whose every call chooses a crop: top, left, height
    and width.
    """
    given = np.load(file)
    for (height, width), wanted in zip(given["sizes"], given["crops"], strict=True):
        crop = crop_of(int(height), int(width))
        mine = np.array([crop() for _ in wanted])
        assert (mine >= [0, 0, 1, 1]).all()
        assert (mine[:, :2] + mine[:, 2:] <= [height, width]).all()
        # One in a million pairs of samples from one distribution is further apart.
        limit = 2.7 * (2 / len(wanted)) ** 0.5
        for place, name in enumerate(("top", "left", "height", "width")):
            distance = largest_distance(mine[:, place], wanted[:, place])
            assert distance < limit, (height, width, name, distance)


def require_shared_out(shares, images):
    """Ask for shuffled epochs of all images; `shares`: the indices that each rank was given."""
    order = [index for turn in zip(*shares, strict=True) for index in turn]
    epochs = [order[start : start + images] for start in range(0, len(order), images)]
    assert all(sorted(epoch) == list(range(images)) for epoch in epochs), order
    assert epochs[0] != epochs[1] != epochs[2]
