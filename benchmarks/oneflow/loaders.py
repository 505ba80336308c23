"""Where a rank's batches come from: synthetic data, flowvision's images, or OneFlow's records.

Each function returns an endless iterator of (images, labels) of this rank: images of shape
(batch, 3, size, size), float32, normalised; labels of shape (batch,), int64. There is no epoch
boundary: a small sample would otherwise put the restart of the loader inside the measured window.
"""

import itertools
from pathlib import Path

import numpy as np
import oneflow as flow
from common.arguments import CLASSES, PIXEL_MEAN, PIXEL_STD
from common.images import EXTENSIONS, EndlessBatches, die_with_rank


def synthetic(args, rank, world_size):
    """Return one fixed batch of random pixels again and again, another one on each rank.

    On equal data the ranks' weights would agree even if their gradients were never averaged.
    """
    random = np.random.default_rng(args.seed * world_size + rank)
    shape = (args.batch_size, 3, args.image_size, args.image_size)
    images = flow.tensor(random.standard_normal(shape, dtype=np.float32))
    labels = flow.tensor(random.integers(CLASSES, size=args.batch_size))
    while True:
        yield images, labels


def open_image(path):
    """Return an image as PIL has it; a damaged file is named."""
    from PIL import Image

    try:
        with Image.open(path) as file:
            return file.convert("RGB")
    except OSError as error:
        raise RuntimeError(f"damaged image {path}: {error}") from error


def to_pixels(image):
    """Return an image's uint8 pixels, channels first."""
    return np.ascontiguousarray(np.asarray(image).transpose(2, 0, 1))


def together(samples):
    """Return a batch's images and labels as arrays."""
    images, labels = zip(*samples)
    return np.stack(images), np.array(labels)


def images_of(folder, size):
    """Return the images below class folders, cropped and flipped at random, and their labels."""
    from flowvision import datasets, transforms

    crops = [transforms.RandomResizedCrop(size), transforms.RandomHorizontalFlip()]
    to_array = transforms.Compose([*crops, to_pixels])
    return datasets.DatasetFolder(folder, open_image, EXTENSIONS, to_array)


def from_flowvision(args, rank, world_size):
    """Read, decode, crop and flip in worker processes; normalise in the rank."""
    images = images_of(args.data, args.image_size)
    loader = flow.utils.data.DataLoader(
        images,
        batch_sampler=EndlessBatches(len(images), args.batch_size, rank, world_size, args.seed),
        num_workers=args.workers,
        collate_fn=together,
        worker_init_fn=die_with_rank,
    )
    mean = flow.tensor(PIXEL_MEAN, dtype=flow.float32).reshape(1, 3, 1, 1)
    scale = 1 / flow.tensor(PIXEL_STD, dtype=flow.float32).reshape(1, 3, 1, 1)
    for pixels, labels in loader:
        yield (flow.tensor(pixels).to(flow.float32) - mean) * scale, flow.tensor(labels)


class Records(flow.nn.Module):
    """Reads a batch of records, decodes, crops, flips and normalises it in OneFlow's threads.

    With a placement and how a batch is split, images and labels are global tensors and the batch
    is the job's; without, they are local, and OneFlow gives each rank other files.
    """

    def __init__(self, args, world_size, batch_size, **place):
        """Find the files, which ranks share out among them."""
        super().__init__()
        files = len(list(Path(args.data).glob("part-*")))
        if files < world_size:
            raise RuntimeError(
                f"{args.data} has {files} files for {world_size} ranks, and OneFlow wants one for "
                "each: convert with --shards"
            )
        self.read = flow.nn.OFRecordReader(
            args.data,
            batch_size,
            files,
            part_name_suffix_length=5,
            random_shuffle=True,
            shuffle_after_epoch=True,
            random_seed=args.seed,
            **place,
        )
        self.label = flow.nn.OFRecordRawDecoder("class/label", shape=(), dtype=flow.int32)
        self.crop = flow.nn.OFRecordImageDecoderRandomCrop(
            "encoded",
            color_space="RGB",
            random_seed=args.seed,
            random_area=[0.08, 1.0],
            random_aspect_ratio=[3 / 4, 4 / 3],
        )
        size = (args.image_size, args.image_size)
        self.resize = flow.nn.image.Resize(size, interpolation_type="bilinear")
        self.coin = flow.nn.CoinFlip(batch_size, args.seed, **place)
        self.normalise = flow.nn.CropMirrorNormalize("RGB", mean=PIXEL_MEAN, std=PIXEL_STD)

    def forward(self):
        """Return a batch's images and labels."""
        records = self.read()
        images = self.resize(self.crop(records))[0]
        return self.normalise(images, self.coin()), self.label(records)


def read_by_graph(args):
    """Tell whether the graph of the strategy `global` reads batches itself, while it computes."""
    return bool(args.data) and args.loader == "ofrecord" and args.strategy != "ddp"


def from_records(args, rank, world_size):
    """Read records before each step; where the graph does so, give it nothing."""
    del rank  # OneFlow knows
    if read_by_graph(args):
        return itertools.repeat(())
    records = Records(args, world_size, args.batch_size)
    return (records() for _ in itertools.count())


def batches(args, rank, world_size):
    """Return the iterator that `--loader` names; without `--data`, synthetic batches."""
    if not args.data:
        return synthetic(args, rank, world_size)
    read = from_records if args.loader == "ofrecord" else from_flowvision
    return read(args, rank, world_size)
