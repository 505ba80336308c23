"""Where a rank's batches come from: synthetic data, torchvision's loader, or NVIDIA DALI.

Each function returns an endless iterator of (images, labels) on the rank's device: images of
shape (batch, 3, size, size), normalised, in the type and memory layout that the network computes
with; labels of shape (batch,), int64. There is no epoch boundary: a small sample would otherwise
put the restart of the loader inside the measured window.
"""

import torch
from common.arguments import CLASSES, PIXEL_MEAN, PIXEL_STD
from common.images import EndlessBatches


def synthetic(args, device, dtype, layout, rank, world_size):
    """Return one fixed batch of random pixels again and again, another one on each rank.

    On equal data the ranks' weights would agree even if their gradients were never averaged.
    """
    random = torch.Generator(device).manual_seed(args.seed * world_size + rank)
    shape = (args.batch_size, 3, args.image_size, args.image_size)
    images = torch.randn(shape, device=device, generator=random)
    images = images.to(dtype=dtype, memory_format=layout)
    labels = torch.randint(CLASSES, (args.batch_size,), device=device, generator=random)
    while True:
        yield images, labels


def read_image(path):
    """Decode a file into a uint8 tensor (3, height, width); a damaged one is named."""
    from torchvision.io import ImageReadMode, decode_image

    try:
        return decode_image(path, ImageReadMode.RGB)
    except RuntimeError as error:
        raise RuntimeError("damaged image %s: %s" % (path, error)) from error


def torchvision(args, device, dtype, layout, rank, world_size):
    """Read, decode, crop and flip in worker processes; normalise on the device."""
    from torchvision.datasets import ImageFolder
    from torchvision.transforms import v2

    augment = v2.Compose(
        [
            v2.RandomResizedCrop(args.image_size, antialias=True),
            v2.RandomHorizontalFlip(),
        ]
    )
    files = ImageFolder(args.data, transform=augment, loader=read_image)
    loader = torch.utils.data.DataLoader(
        files,
        batch_sampler=EndlessBatches(len(files), args.batch_size, rank, world_size, args.seed),
        num_workers=args.workers,
        pin_memory=device.type == "cuda",
        prefetch_factor=2 if args.workers else None,
    )
    mean = torch.tensor(PIXEL_MEAN, device=device, dtype=dtype).view(1, 3, 1, 1)
    scale = 1 / torch.tensor(PIXEL_STD, device=device, dtype=dtype).view(1, 3, 1, 1)
    for pixels, labels in loader:
        images = pixels.to(device, non_blocking=True).to(dtype=dtype, memory_format=layout)
        yield images.sub_(mean).mul_(scale), labels.to(device, non_blocking=True)


def dali(args, device, dtype, layout, rank, world_size):
    """Read, decode (on the CPU, or on the GPU with `dali-gpu`), augment and normalise in DALI."""
    from common.dali import training_pipeline
    from nvidia.dali import types
    from nvidia.dali.plugin.pytorch import DALIGenericIterator

    channels_last = layout == torch.channels_last
    pipeline = training_pipeline(
        args,
        rank,
        world_size,
        device_id=device.index,
        decoder="mixed" if args.loader == "dali-gpu" else "cpu",
        dtype=types.FLOAT16 if dtype == torch.float16 else types.FLOAT,
        layout="HWC" if channels_last else "CHW",
    )
    # size=-1: without end, so that no epoch boundary falls into the window.
    for (batch,) in DALIGenericIterator([pipeline], ["images", "labels"], size=-1):
        images = batch["images"]
        if channels_last:
            images = images.permute(0, 3, 1, 2)  # same memory, seen as NCHW in channels_last
        yield images.to(dtype), batch["labels"].squeeze(1).long()


def batches(args, device, dtype, layout, rank, world_size):
    """Return the iterator that `--loader` names; without `--data`, synthetic batches."""
    if not args.data:
        return synthetic(args, device, dtype, layout, rank, world_size)
    read = dali if args.loader.startswith("dali") else torchvision
    return read(args, device, dtype, layout, rank, world_size)
