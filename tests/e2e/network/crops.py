"""What every loader's crops and shares of the images are asked for."""

from itertools import islice

import numpy as np


def largest_distance(mine, wanted, blur=0):
    """Return how far the distributions of two samples are apart, where values are off by `blur`.

    Without one it is the Kolmogorov-Smirnov distance.
    """

    def share(sample, values):
        return np.searchsorted(np.sort(sample), values, "right") / len(sample)

    values = np.concatenate([mine, wanted, mine + blur, wanted + blur])
    return max(
        (share(mine, values - blur) - share(wanted, values)).max(),
        (share(wanted, values - blur) - share(mine, values)).max(),
    )


def require_torchvisions(file, crop_of, blur=0, sizes=3):
    """Compare crops with those of torchvision_crops.py, of the first sizes of images.

    `crop_of(height, width)` returns a function whose every call chooses a crop: top, left, height
    and width, in pixels, right to `blur` of them.
    """
    given = np.load(file)
    pairs = zip(given["sizes"], given["crops"], strict=True)
    for (height, width), wanted in islice(pairs, sizes):
        crop = crop_of(int(height), int(width))
        mine = np.array([crop() for _ in wanted])
        assert (mine >= [0, 0, 1, 1]).all()
        assert (mine[:, :2] + mine[:, 2:] <= [height, width]).all()
        # One in a million pairs of samples from one distribution is further apart.
        limit = 2.7 * (2 / len(wanted)) ** 0.5
        for place, name in enumerate(("top", "left", "height", "width")):
            distance = largest_distance(mine[:, place], wanted[:, place], blur)
            assert distance < limit, (height, width, name, distance)


def require_shared_out(shares, images):
    """Ask for shuffled epochs of all images; `shares`: the indices that each rank was given."""
    order = [index for turn in zip(*shares, strict=True) for index in turn]
    epochs = [order[start : start + images] for start in range(0, len(order), images)]
    assert all(sorted(epoch) == list(range(images)) for epoch in epochs), order
    assert epochs[0] != epochs[1] != epochs[2]


def require_flipped_half_the_time(flip):
    """Ask of a function of PIL images that it turns half of them round."""
    from PIL import Image  # which TensorFlow's environment has not

    pixels = np.tile(np.arange(8, dtype=np.uint8), (8, 1))
    image = Image.fromarray(np.stack([pixels] * 3, axis=2))
    flipped = sum(int(np.asarray(flip(image))[0, 0, 0]) == 7 for _ in range(4000))
    assert 1845 < flipped < 2155, flipped  # one fair coin in a million is outside


def require_normalised(folder, batches_of, size):
    """Ask for what pixels must come to: images of one colour each, and a kind of file of its own.

    `batches_of(folder)` yields the four as arrays (4, 3, size, size), and their labels.
    """
    from PIL import Image

    colours = np.array([(255, 0, 0), (0, 128, 0), (0, 0, 64), (124, 116, 104)])
    for label, (kind, colour) in enumerate(
        zip(("png", "bmp", "tiff", "ppm"), colours, strict=True)
    ):
        (folder / str(label)).mkdir()
        Image.new("RGB", (50, 40), tuple(colour.tolist())).save(folder / str(label) / f"i.{kind}")
    for batch, labels in islice(batches_of(folder), 3):
        assert batch.shape == (4, 3, size, size)
        assert sorted(labels.tolist()) == [0, 1, 2, 3]
        wanted = (colours[labels] / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
        assert np.abs(batch - wanted[:, :, None, None]).max() < 1e-5
