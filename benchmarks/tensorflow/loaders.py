"""Where a rank's batches come from: synthetic data, or JPEGs through tf.data.

Each function returns an endless iterator of (images, labels) on the rank's device: images of
shape (batch, size, size, 3), or (batch, 3, size, size) for channels_first, normalised, in the type
that the network computes with; labels of shape (batch,), int64. There is no epoch boundary: a
small sample would otherwise put the restart of the loader inside the measured window.
"""

import math
import os

import tensorflow as tf
from common.arguments import CLASSES, PIXEL_MEAN, PIXEL_STD

TRIES = 10  # at a crop, before the middle is taken
AREAS = (0.08, 1.0)  # of an image
RATIOS = (3 / 4, 4 / 3)  # width over height


def synthetic(args, dtype, rank, world_size):
    """Return one fixed batch of random pixels again and again, another one on each rank.

    On equal data the ranks' weights would agree even if their gradients were never averaged.
    """
    random = tf.random.Generator.from_seed(args.seed * world_size + rank)
    size = (args.image_size, args.image_size)
    shape = (*size, 3) if args.layout == "channels_last" else (3, *size)
    images = tf.cast(random.normal((args.batch_size, *shape)), dtype)
    labels = random.uniform((args.batch_size,), 0, CLASSES, tf.int64)
    while True:
        yield images, labels


def image_files(folder):
    """Return the files of a tree of class folders, and the class of each."""
    names = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir())
    files = [
        (os.path.join(folder, name, file), label)
        for label, name in enumerate(names)
        for file in sorted(os.listdir(os.path.join(folder, name)))
    ]
    paths, labels = zip(*files)
    return tf.constant(paths), tf.constant(labels, tf.int64)


def endless_order(images, rank, world_size, seed):
    """Return a rank's share of one shuffled order after another; the shares do not overlap."""
    order = tf.data.Dataset.range(images).shuffle(images, seed).repeat()
    return order.shard(world_size, rank)


def random_crop(height, width):
    """Return (top, left, height, width) of a crop, distributed as torchvision's RandomResizedCrop.

    Its area is uniform in AREAS, the logarithm of its ratio in RATIOS; the first of ten tries that
    fits is taken, and the middle of the image where none does.
    """
    sides = tf.cast([height, width], tf.float32)
    area = sides[0] * sides[1] * tf.random.uniform((TRIES,), *AREAS)
    ratio = tf.exp(tf.random.uniform((TRIES,), math.log(RATIOS[0]), math.log(RATIOS[1])))
    tries = tf.round(tf.sqrt(tf.stack([area / ratio, area * ratio], axis=1)))
    # Behind the tries stands the largest crop whose ratio is still within RATIOS.
    most = tf.round(tf.minimum(sides, tf.reverse(sides, [0]) * [1 / RATIOS[0], RATIOS[1]]))
    candidates = tf.concat([tries, [most]], axis=0)
    fits = tf.reduce_all((candidates > 0) & (candidates <= sides), axis=1)
    chosen = tf.argmax(fits)  # the first that fits
    size = candidates[chosen]
    room = sides - size
    middle = tf.floor(room / 2)
    anywhere = tf.floor(tf.random.uniform((2,)) * (room + 1))
    corner = tf.where(chosen == TRIES, middle, anywhere)
    return tf.cast(tf.concat([corner, size], axis=0), tf.int32)


def read_image(path, image_size):
    """Return a random crop of a file, flipped or not, in uint8; only the crop is decoded."""
    data = tf.io.read_file(path)

    def from_jpeg():
        shape = tf.io.extract_jpeg_shape(data)
        crop = random_crop(shape[0], shape[1])
        return tf.io.decode_and_crop_jpeg(data, crop, channels=3)

    def from_another():
        image = tf.io.decode_image(data, channels=3, expand_animations=False)
        shape = tf.shape(image)
        top, left, height, width = tf.unstack(random_crop(shape[0], shape[1]))
        return image[top : top + height, left : left + width]

    image = tf.cond(tf.io.is_jpeg(data), from_jpeg, from_another)
    image = tf.image.random_flip_left_right(image)
    image = tf.image.resize(image, (image_size, image_size))
    return tf.cast(tf.round(image), tf.uint8)


def name_damaged(order, paths, args, batches, error):
    """Raise `error` again with the name of the file that caused it, in the batch that failed."""
    for index in order.skip(batches * args.batch_size).take(args.batch_size):
        try:
            read_image(paths[index], args.image_size)
        except tf.errors.InvalidArgumentError:
            path = paths[index].numpy().decode("utf-8", "replace")
            raise RuntimeError("damaged image %s: %s" % (path, error.message)) from error
    raise error


def from_files(args, dtype, rank, world_size):
    """Read, decode, crop, flip and resize in tf.data's threads; normalise on the device."""
    paths, labels = image_files(args.data)
    workers = max(1, args.workers)
    options = tf.data.Options()
    options.threading.private_threadpool_size = workers
    options.autotune.enabled = False

    @tf.function
    def normalise(pixels):
        scale = 1 / tf.constant(PIXEL_STD)
        images = (tf.cast(pixels, tf.float32) - tf.constant(PIXEL_MEAN)) * scale
        if args.layout == "channels_first":
            images = tf.transpose(images, (0, 3, 1, 2))
        return tf.cast(images, dtype)

    def order():
        return endless_order(len(paths), rank, world_size, args.seed)

    def read(index):
        return read_image(paths[index], args.image_size), labels[index]

    files = order().map(read, num_parallel_calls=workers)
    files = files.batch(args.batch_size, drop_remainder=True).prefetch(2).with_options(options)
    given = iter(files)
    for batches in range(2**63):
        try:
            pixels, classes = next(given)
        except tf.errors.InvalidArgumentError as error:
            name_damaged(order(), paths, args, batches, error)
        yield normalise(pixels), classes


def batches(args, dtype, rank, world_size):
    """Return the iterator that `--loader` names; without `--data`, synthetic batches."""
    read = from_files if args.data else synthetic
    return read(args, dtype, rank, world_size)
