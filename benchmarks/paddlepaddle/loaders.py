"""Where a rank's batches come from: synthetic data, paddle.io's loader, or NVIDIA's DALI.

Each function returns an endless iterator of (images, labels) on the rank's device: images of
shape (batch, 3, size, size), float32, normalised; labels of shape (batch,), int64. There is no
epoch boundary: a small sample would otherwise put the restart of the loader inside the measured
window.
"""

import os

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


def listed(folder):
    """Return the images of a file list, and their labels."""
    with open(os.path.join(folder, "train_list.txt"), errors="surrogateescape") as lines:
        pairs = (line.rstrip("\n").rpartition(" ") for line in lines)
        return [(path, int(label)) for path, _, label in pairs]


def in_class_folders(folder):
    """Return the images below class folders, and their labels."""
    return paddle.vision.datasets.DatasetFolder(folder, extensions=EXTENSIONS).samples


class Crops(paddle.io.Dataset):
    """Images, cropped and flipped at random: uint8 (3, size, size), label."""

    def __init__(self, samples, size):
        """Take the images' files, and their labels."""
        from paddle.vision import transforms

        super().__init__()
        self.samples = samples
        self.augment = transforms.Compose(
            [transforms.RandomResizedCrop(size), transforms.RandomHorizontalFlip()]
        )

    def __len__(self):
        """Return how many images there are."""
        return len(self.samples)

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
    find = listed if args.loader == "filelist" else in_class_folders
    images = Crops(find(args.data), args.image_size)
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


def dali(args, rank, world_size):
    """Read, decode, crop, flip and normalise in the threads of NVIDIA's DALI, on the CPU.

    Its plugin for PaddlePaddle needs a GPU: batches are taken from the pipeline itself.
    """
    from common.dali import batches_in_memory

    for batch in batches_in_memory(args, rank, world_size):
        images, labels = map(np.asarray, batch)
        yield paddle.to_tensor(images), paddle.to_tensor(labels[:, 0], dtype="int64")


def batches(args, rank, world_size):
    """Return the iterator that `--loader` names; without `--data`, synthetic batches."""
    if not args.data:
        return synthetic(args, rank, world_size)
    read = dali if args.loader == "dali-cpu" else paddle_io
    return read(args, rank, world_size)
