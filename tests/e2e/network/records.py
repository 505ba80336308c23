"""Images whose crops, flips, colours and shares can be read off the batches of a loader.

`write_images` writes them, where the driver runs; the frameworks' scripts look at what loaders give
of the records that were made of them. A script's `batches_of(folder, batch_size, rank, ranks)`
yields images as the network is given them, as arrays (batch_size, 3, size, size), and labels.
"""

import io
from itertools import islice

import crops
import numpy as np

COLOURS = np.array([(255, 0, 0), (0, 128, 0), (0, 0, 64), (124, 116, 104)])
SHARED = 12  # images, each of a class of its own
MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
COPIES = 8


def gradient(height, width):
    """Return a JPEG whose red grows from left to right and whose green grows from top to bottom."""
    from PIL import Image

    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[..., 0] = np.round(np.linspace(0, 255, width))
    pixels[..., 1] = np.round(np.linspace(0, 255, height))[:, None]
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=100, subsampling=0)
    return file.getvalue()


def place(pixels, height, width):
    """Return which crop of `gradient` these pixels (size, size, 3) are: as in crops.py."""

    def stretch(values, length):
        middles = (np.arange(len(values)) + 0.5) / len(values)
        slope, begin = np.polyfit(middles, values * (length - 1) / 255 + 0.5, 1)
        begin = min(max(round(begin), 0), length - 1)
        return begin, min(max(1, round(slope)), length - begin)

    left, across = stretch(pixels[..., 0].mean(axis=0), width)
    top, down = stretch(pixels[..., 1].mean(axis=1), height)
    return top, left, down, across


def write_images(folder, sizes):
    """Write class folders: `crops0`, ... with gradients of the sizes, `colours` and `shares`."""
    from PIL import Image

    def put(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    for number, size in enumerate(sizes):
        for copy in range(COPIES):
            put(folder / f"crops{number}" / "0" / f"{copy}.JPEG").write_bytes(gradient(*size))
    for label, colour in enumerate(COLOURS.tolist()):
        image = Image.new("RGB", (50, 40), tuple(colour))
        image.save(put(folder / "colours" / str(label) / "i.png"))
        jpeg = put(folder / "colours-jpeg" / str(label) / "i.JPEG")
        image.save(jpeg, quality=100, subsampling=0)
    for label in range(SHARED):
        path = put(folder / "shares" / f"{label:02}" / "i.JPEG")
        Image.new("RGB", (50, 40)).save(path)


def require_torchvisions(file, folder, batches_of, sizes=3):
    """Compare crops of the first sizes with those of torchvision_crops.py; half are flipped."""
    flipped = seen = 0

    def crop_of(number, height, width):
        def every_crop():
            nonlocal flipped, seen
            for images, _ in batches_of(folder / f"crops{number}", COPIES, 0, 1):
                for image in images:
                    pixels = (image.transpose(1, 2, 0) * STD + MEAN) * 255
                    turned = pixels[:, 0, 0].mean() > pixels[:, -1, 0].mean()
                    flipped, seen = flipped + bool(turned), seen + 1
                    yield place(pixels[:, ::-1] if turned else pixels, height, width)

        return every_crop().__next__

    numbers = iter(range(1000))
    crops.require_torchvisions(file, lambda *size: crop_of(next(numbers), *size), 3, sizes)
    # One fair coin in a million is outside.
    assert abs(flipped - seen / 2) < 4.9 * (seen / 4) ** 0.5, (flipped, seen)


def require_colours(folder, batches_of):
    """Ask for what the pixels of one colour must come to, and for their labels."""
    for images, labels in islice(batches_of(folder / "colours", 4, 0, 1), 3):
        assert sorted(labels.tolist()) == [0, 1, 2, 3]
        require_colours_of(images, labels, 1e-5)


def require_colours_of(images, labels, tolerance):
    """Ask for the colours that the labels stand for."""
    wanted = (COLOURS[labels] / 255 - MEAN) / STD
    assert np.abs(images - wanted[:, :, None, None]).max() < tolerance


def shares_of(folder, batches_of, epochs, ranks=2, batch_size=3):
    """Return the images, told by their labels, that each rank is given in some epochs."""
    batches = epochs * SHARED // ranks // batch_size
    return [
        [
            int(label)
            for _, labels in islice(batches_of(folder / "shares", batch_size, rank, ranks), batches)
            for label in labels
        ]
        for rank in range(ranks)
    ]


def require_dalis(file, folder, batches_of):
    """Ask for crops, colours and shares as a rank is given them by DALI.

    Where no crop fits, DALI takes the largest from anywhere, and not from the middle.
    """
    require_torchvisions(file, folder, batches_of, sizes=1)
    require_colours(folder, batches_of)
    halves = [set(one) for one in shares_of(folder, batches_of, epochs=8)]
    assert halves[0] | halves[1] == set(range(SHARED)), halves
