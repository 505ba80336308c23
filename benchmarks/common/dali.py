"""NVIDIA's DALI over class folders of images: crops, flips and normalises as torchvision would.

Needs DALI, and is imported where a loader of it is asked for.
"""

import os
import re

from common.arguments import PIXEL_MEAN, PIXEL_STD
from nvidia.dali import fn, pipeline_def, types


def training_pipeline(
    args, rank, world_size, device_id=None, decoder="cpu", dtype=types.FLOAT, layout="CHW"
):
    """Return a rank's pipeline, not yet built, of images and labels (int32, of shape (batch, 1)).

    With `device_id` it normalises on that GPU, and with `decoder="mixed"` it decodes there too.
    """
    on_gpu = device_id is not None

    @pipeline_def(
        batch_size=args.batch_size,
        num_threads=max(1, args.workers),
        device_id=device_id,
        seed=args.seed + rank,
        prefetch_queue_depth=2,
    )
    def training_input():
        files, labels = fn.readers.file(
            name="images",
            file_root=args.data,
            random_shuffle=True,
            shard_id=rank,
            num_shards=world_size,
            pad_last_batch=True,
        )
        # The crop of RandomResizedCrop: 8 to 100 % of the area, aspect ratio 3:4 to 4:3.
        images = fn.decoders.image_random_crop(
            files,
            device=decoder,
            output_type=types.RGB,
            random_aspect_ratio=[3 / 4, 4 / 3],
            random_area=[0.08, 1.0],
        )
        images = fn.resize(images, resize_x=args.image_size, resize_y=args.image_size)
        images = fn.crop_mirror_normalize(
            images.gpu() if on_gpu else images,
            dtype=dtype,
            output_layout=layout,
            mean=PIXEL_MEAN,
            std=PIXEL_STD,
            mirror=fn.random.coin_flip(),
        )
        return images, labels.gpu() if on_gpu else labels

    return training_input()


def batches_in_memory(args, rank, world_size, layout="CHW"):
    """Yield a rank's batches as DALI's own tensors on the CPU: images and labels.

    A damaged image is named. Whoever takes a tensor by DLPack takes its memory, which DALI then
    leaves alone. There is no end of an epoch, and DALI makes the next batches meanwhile.
    """
    pipeline = training_pipeline(args, rank, world_size, layout=layout)
    pipeline.build()
    while True:
        try:
            outputs = pipeline.run()
        except RuntimeError as error:
            damaged = re.search(r"Failed to decode sample #\d+ : (.+)", str(error))
            if not damaged:
                raise
            path = os.path.join(args.data, damaged[1])
            raise RuntimeError("damaged image %s" % path) from error
        yield tuple(one.as_tensor() for one in outputs)
