"""Where a rank's batches come from: synthetic data, or paddle.io's loader.

Each function returns an endless iterator of (images, labels) on the rank's device: images of
shape (batch, 3, size, size), float32, normalised; labels of shape (batch,), int64. There is no
epoch boundary: a small sample would otherwise put the restart of the loader inside the measured
window.
"""

import numpy as np
import paddle
from common.arguments import CLASSES, PIXEL_MEAN, PIXEL_STD
from common.images import EXTENSIONS, EndlessBatches, die_with_rank


def synthetic(args, rank, world_size):
    """Return one fixed batch of random pixels again and again, another one on each rank.

    On equal data the ranks' weights would agree even if their gradients were never averaged.
    """
    random = np.random.default_rng(args.seed * world_size + rank)
    shape = (args.batch_size, 3, args.image_size, args.image_size)
    images = paddle.to_tensor(random.standard_normal(shape, dtype=np.float32))
    labels = paddle.to_tensor(random.integers(CLASSES, size=args.batch_size))
    while True:
        yield images, labels


class Crops(paddle.vision.datasets.DatasetFolder):
    """Images below class folders, cropped and flipped at random: uint8 (3, size, size), label."""

    def __init__(self, folder, size):
        """Find the images."""
        from paddle.vision import transforms

        super().__init__(folder, extensions=EXTENSIONS)
        self.augment = transforms.Compose(
            [transforms.RandomResizedCrop(size), transforms.RandomHorizontalFlip()]
        )

    def __getitem__(self, index):
        """Return an image and its label; a damaged file is named."""
        from PIL import Image

        path, label = self.samples[index]
        try:
            with Image.open(path) as file:
                image = self.augment(file.convert("RGB"))
        except OSError as error:
            raise RuntimeError("damaged image %s: %s" % (path, error)) from error
        return np.ascontiguousarray(np.asarray(image).transpose(2, 0, 1)), np.int64(label)


def paddle_io(args, rank, world_size):
    """Read, decode, crop and flip in worker processes; normalise on the device."""
    images = Crops(args.data, args.image_size)
    loader = paddle.io.DataLoader(
        images,
        batch_sampler=EndlessBatches(len(images), args.batch_size, rank, world_size, args.seed),
        num_workers=args.workers,
        prefetch_factor=2,
        worker_init_fn=die_with_rank,
    )
    mean = paddle.to_tensor(PIXEL_MEAN, dtype="float32").reshape([1, 3, 1, 1])
    scale = 1 / paddle.to_tensor(PIXEL_STD, dtype="float32").reshape([1, 3, 1, 1])
    for pixels, labels in loader:
        yield (pixels.astype("float32") - mean) * scale, labels


def batches(args, rank, world_size):
    """Return the iterator that `--loader` names; without `--data`, synthetic batches."""
    read = paddle_io if args.data else synthetic
    return read(args, rank, world_size)
