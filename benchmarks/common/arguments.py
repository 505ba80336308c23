"""The arguments that every training script takes; the driver fills them in from the case."""

import argparse

# DLPerf v1.0 trained with these (README of each implementation): momentum SGD with NGC's weight
# decay and label smoothing, a learning rate of global batch / 1000 warmed up over eight epochs.
MOMENTUM = 0.875
WEIGHT_DECAY = 3.0517578125e-5
LABEL_SMOOTHING = 0.1
WARMUP_EPOCHS = 8
IMAGENET_TRAIN_IMAGES = 1281167
CLASSES = 1000
# Trainable parameters of ResNet-50 v1.5 with 1,000 classes (torchvision's resnet50).
PARAMETERS = 25557032
# Channel means and standard deviations of ImageNet, for pixels from 0 to 255.
PIXEL_MEAN = (0.485 * 255, 0.456 * 255, 0.406 * 255)
PIXEL_STD = (0.229 * 255, 0.224 * 255, 0.225 * 255)


def parse_arguments(description):
    """Return the arguments of a training script as a namespace.

    Sizes: `batch_size` in images per device, `global_batch` in images of the whole job,
    `image_size` in pixels, `warmup` and `steps` in optimiser updates.
    """
    parser = argparse.ArgumentParser(description=description)
    add = parser.add_argument
    add("--device", choices=("cpu", "cuda"), default="cpu", help="what a rank computes on")
    add("--batch-size", type=int, default=8, help="images per device and step")
    add("--global-batch", type=int, default=0, help="images per step of the job; checked if given")
    add("--image-size", type=int, default=224, help="side of the square input, in pixels")
    add("--precision", choices=("fp32", "tf32", "amp"), default="fp32")
    add("--amp-dtype", choices=("", "bf16", "fp16"), default="", help="the 16-bit type of amp")
    add("--layout", choices=("channels_last", "channels_first"), default="channels_last")
    add("--compile", action="store_true", help="use the framework's compiler")
    add("--strategy", default="", help="how ranks are kept in step; empty: the usual way")
    add("--backend", default="", help="what ranks talk through; empty: the usual one")
    add("--devices-per-rank", type=int, default=1, help="devices that this process drives")
    add("--loader", default="", help="what reads the images")
    add("--data", default="", help="a folder of class folders of images; empty: synthetic data")
    add("--workers", type=int, default=1, help="loader processes or threads per rank")
    add("--threads", type=int, default=1, help="compute threads per rank, on CPUs")
    add("--warmup", type=int, default=20, help="steps before the window")
    add("--steps", type=int, default=100, help="steps in the window")
    add("--seed", type=int, default=0)
    add("--log-dir", default="", help="folder for rank<N>.log; empty: standard output")
    args = parser.parse_args()
    args.total_steps = args.warmup + args.steps
    return args


def require_global_batch(args, world_size):
    """Return the images per step of the job; exit where they are not those asked for."""
    devices = world_size * args.devices_per_rank
    images = args.batch_size * devices
    if args.global_batch not in (0, images):
        raise SystemExit(
            "the global batch is %d (%d devices x %d), not %d as asked"
            % (images, devices, args.batch_size, args.global_batch)
        )
    return images


def learning_rate(step, global_batch):
    """Return the learning rate of a step (from 1): batch / 1000, warmed up over eight epochs."""
    warmup_steps = WARMUP_EPOCHS * IMAGENET_TRAIN_IMAGES / global_batch
    return global_batch / 1000.0 * min(1.0, step / warmup_steps)
