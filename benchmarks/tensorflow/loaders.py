"""Where a rank's batches come from: synthetic data, or JPEGs through tf.data or NVIDIA's DALI.

`batches` is an endless iterator of (images, labels) on the rank's device: images of shape (batch,
size, size, 3), or (batch, 3, size, size) for channels_first, normalised, in the type that the
network computes with; labels of shape (batch,), int64. There is no epoch boundary: a small sample
would otherwise put the restart of the loader inside the measured window.
"""

import math
import os

import tensorflow as tf
from common.arguments import CLASSES, PIXEL_MEAN, PIXEL_STD

TRIES = 10  # at a crop, before the middle is taken
AREAS = (0.08, 1.0)  # of an image
RATIOS = (3 / 4, 4 / 3)  # width over height
OPEN_FILES = 16  # of records, read in turn
SHUFFLED_RECORDS = 1024  # among which the next one is drawn


def random_batch(args, dtype, rank):
    """Return a batch of random pixels and labels, another one for each rank."""
    size = (args.image_size, args.image_size)
    shape = (*size, 3) if args.layout == "channels_last" else (3, *size)
    seed = (args.seed, rank)
    images = tf.random.stateless_normal((args.batch_size, *shape), seed)
    labels = tf.random.stateless_uniform((args.batch_size,), seed, 0, CLASSES, tf.int64)
    return tf.cast(images, dtype), labels


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


def cropped_image(data, image_size):
    """Return a random crop of an image file's bytes, flipped or not, in uint8.

    Of a JPEG, only the crop is decoded.
    """

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
            tf.io.decode_image(tf.io.read_file(paths[index]))  # another crop could miss the damage
        except tf.errors.InvalidArgumentError:
            path = paths[index].numpy().decode("utf-8", "replace")
            raise RuntimeError("damaged image %s: %s" % (path, error.message)) from error
    raise error


def record_files(folder):
    """Return the files of records in a folder."""
    return sorted(tf.io.gfile.glob(os.path.join(folder, "train-*-of-*")))


def endless_records(files, rank, world_size, seed, workers):
    """Return a rank's share of the records, shuffled, in one epoch after another.

    Ranks share the files out; where there are fewer files than ranks, the records.
    """
    own_files = len(files) >= world_size
    order = tf.data.Dataset.from_tensor_slices(files)
    if own_files:
        order = order.shard(world_size, rank)
    order = order.shuffle(len(files), seed if own_files else 0).repeat()
    at_once = min(OPEN_FILES, -(-len(files) // world_size))
    records = order.interleave(
        tf.data.TFRecordDataset,
        cycle_length=at_once,
        num_parallel_calls=min(workers, at_once),
        deterministic=True,
    )
    if not own_files:
        records = records.shard(world_size, rank)
    return records.shuffle(SHUFFLED_RECORDS, seed + 1)


def parse(record):
    """Return the image's bytes, its class from 0, and its file's name."""
    features = {
        "image/encoded": tf.io.FixedLenFeature((), tf.string),
        "image/class/label": tf.io.FixedLenFeature((), tf.int64),
        "image/class/synset": tf.io.FixedLenFeature((), tf.string, ""),
        "image/filename": tf.io.FixedLenFeature((), tf.string, ""),
    }
    given = tf.io.parse_single_example(record, features)
    name = given["image/class/synset"] + "/" + given["image/filename"]
    return given["image/encoded"], given["image/class/label"], name


def name_damaged_record(records, files, args, batches, error):
    """Raise `error` again with the name of the image, or of the file, that caused it."""
    for path in files:
        try:
            for _ in tf.data.TFRecordDataset(path):
                pass
        except tf.errors.DataLossError:
            raise RuntimeError("damaged file %s: %s" % (path, error.message)) from error
    for record in records.skip(batches * args.batch_size).take(args.batch_size):
        data, _, name = parse(record)
        try:
            tf.io.decode_image(data)  # whole: another crop could miss the damage
        except tf.errors.InvalidArgumentError:
            name = name.numpy().decode("utf-8", "replace")
            raise RuntimeError("damaged image %s: %s" % (name, error.message)) from error
    raise error


def from_records(args, rank, world_size):
    """Read records of files in turn, decode, crop, flip and resize in tf.data's threads."""
    files = record_files(args.data)
    workers = max(1, args.workers)

    def records():
        return endless_records(files, rank, world_size, args.seed, workers)

    def read(record):
        data, label, _ = parse(record)
        return cropped_image(data, args.image_size), label

    def name_fault(batches, error):
        name_damaged_record(records(), files, args, batches, error)

    return records().map(read, num_parallel_calls=workers), name_fault


def from_files(args, rank, world_size):
    """Read, decode, crop, flip and resize in tf.data's threads."""
    paths, labels = image_files(args.data)
    workers = max(1, args.workers)

    def order():
        return endless_order(paths.shape[0], rank, world_size, args.seed)

    def read(index):
        return cropped_image(tf.io.read_file(paths[index]), args.image_size), labels[index]

    def name_fault(batches, error):
        name_damaged(order(), paths, args, batches, error)

    return order().map(read, num_parallel_calls=workers), name_fault


def pixels(args, rank, world_size):
    """Return the dataset of a rank's batches in uint8, and what names the image of an error.

    That is called with the number of good batches and the error that followed on them.
    """
    read = from_records if args.loader == "tfrecord" else from_files
    images, name_fault = read(args, rank, world_size)
    options = tf.data.Options()
    options.threading.private_threadpool_size = max(1, args.workers)
    options.autotune.enabled = False
    images = images.batch(args.batch_size, drop_remainder=True).prefetch(2)
    return images.with_options(options), name_fault


def make_normalise(args, dtype):
    """Return the function that makes of pixels what the network takes."""

    @tf.function
    def normalise(pixels):
        scale = 1 / tf.constant(PIXEL_STD)
        images = (tf.cast(pixels, tf.float32) - tf.constant(PIXEL_MEAN)) * scale
        if args.layout == "channels_first":
            images = tf.transpose(images, (0, 3, 1, 2))
        return tf.cast(images, dtype)

    return normalise


def synthetic(args, dtype, rank, world_size, device):
    """Yield one random batch for ever."""
    del world_size
    with tf.device(device):
        batch = random_batch(args, dtype, rank)
    while True:
        yield batch


def tf_data(args, dtype, rank, world_size, device):
    """Yield batches of files or records, normalised on the device."""
    images, name_fault = pixels(args, rank, world_size)
    normalise = make_normalise(args, dtype)
    given = iter(images)
    for good in range(2**63):
        try:
            images, labels = next(given)
        except (tf.errors.InvalidArgumentError, tf.errors.DataLossError) as error:
            name_fault(good, error)
        with tf.device(device):
            images = normalise(images)
        yield images, labels


def dali(args, dtype, rank, world_size, device):
    """Read, decode, crop, flip and normalise in the threads of NVIDIA's DALI, on the CPU.

    Its plugin for TensorFlow is compiled where it is installed: batches are taken from the pipeline
    itself, as they lie in memory.
    """
    from common.dali import batches_in_memory

    layout = {"channels_last": "HWC", "channels_first": "CHW"}[args.layout]
    for batch in batches_in_memory(args, rank, world_size, layout):
        images, labels = (tf.experimental.dlpack.from_dlpack(one.__dlpack__()) for one in batch)
        with tf.device(device):
            images = tf.identity(tf.cast(images, dtype))  # on the device, also where it is cast
        yield images, tf.cast(labels[:, 0], tf.int64)


def batches(args, dtype, rank, world_size, device=None):
    """Return the iterator that `--loader` names; without `--data`, synthetic batches."""
    read = dali if args.loader == "dali-cpu" else tf_data
    read = read if args.data else synthetic
    return read(args, dtype, rank, world_size, device)


def batches_of_replicas(args, dtype, strategy, devices):
    """Yield a batch for each of the devices, which share the images out as ranks do."""
    each = [batches(args, dtype, i, len(devices), device) for i, device in enumerate(devices)]

    def share_out(values):
        def of_replica(replica):
            return values[replica.replica_id_in_sync_group]

        return strategy.experimental_distribute_values_from_function(of_replica)

    while True:
        images, labels = zip(*[next(one) for one in each])
        yield share_out(images), share_out(labels)


def dataset(args, dtype, rank, world_size):
    """Return a rank's batches as a dataset, which a worker can read in a step; not normalised."""
    if args.data:
        return pixels(args, rank, world_size)[0]
    return tf.data.Dataset.from_tensors(random_batch(args, dtype, rank)).repeat()
