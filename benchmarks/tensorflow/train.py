"""Train ResNet-50 v1.5 with TensorFlow, and log when each step ended.

The network is that of network.py, in Keras; ranks are kept in step by
MultiWorkerMirroredStrategy (NCCL on GPUs, a ring over gRPC on CPUs). Start it with start.py, or
alone for one rank:

    python train.py --batch-size 32 --warmup 5 --steps 20 --data DIR/train
"""

import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `common`

from common import arguments, checks
from common.step_log import StepLog

args = arguments.parse_arguments(__doc__)
job = json.loads(os.environ.get("TF_CONFIG", "{}"))
rank = job["task"]["index"] if job else 0
local_rank = int(os.environ.get("LOCAL_RANK", "0"))
world_size = len(job["cluster"]["worker"]) if job else 1
log = StepLog(args.log_dir, rank, world_size)  # before the long imports: their errors belong there

import keras
import loaders
import network
import numpy as np
import tensorflow as tf
from optimiser import LossScale, MomentumSGD


class Clock:
    """Stamps the end of each step by the host's clock.

    On a CPU a step has ended when its call returns. A GPU is then still at work: it is waited for
    at the two ends of the window alone, whose stamps are exact; those between say when the host
    had handed the step over.
    """

    def __init__(self, edges):
        """Start at zero; `edges` are the steps to wait for."""
        self.edges = edges if args.device == "cuda" else ()
        self.start = time.perf_counter()
        self.ends = []

    def step_done(self, loss):
        """Stamp the end of the step that gave this loss."""
        if len(self.ends) + 1 in self.edges:
            float(loss)
        self.ends.append(time.perf_counter() - self.start)


def set_up_device():
    """Give TensorFlow this rank's GPU, or its share of the cores."""
    gpus = tf.config.list_physical_devices("GPU") if args.device == "cuda" else []
    tf.config.set_visible_devices(gpus[local_rank : local_rank + 1], "GPU")
    if args.device == "cuda":
        details = tf.config.experimental.get_device_details(gpus[local_rank])
        log.event("device_name", details["device_name"])
        tf.config.experimental.enable_tensor_float_32_execution(args.precision == "tf32")
    else:
        tf.config.threading.set_intra_op_parallelism_threads(args.threads)
        tf.config.threading.set_inter_op_parallelism_threads(args.threads)


def make_strategy():
    """Return what averages gradients over the ranks; for one rank, TensorFlow's default."""
    if world_size == 1:
        return tf.distribute.get_strategy()
    through = args.backend or {"cuda": "nccl", "cpu": "ring"}[args.device]
    options = tf.distribute.experimental.CommunicationOptions(
        implementation=tf.distribute.experimental.CommunicationImplementation[through.upper()]
    )
    return tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)


def smoothed_loss(logits, labels):
    """Return the mean cross-entropy against labels that are smoothed over all classes."""
    spread = arguments.LABEL_SMOOTHING / arguments.CLASSES
    wanted = tf.one_hot(labels, arguments.CLASSES, 1 - arguments.LABEL_SMOOTHING + spread, spread)
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(wanted, logits))


def make_train_step(strategy, model, optimiser, loss_scale):
    """Return the function that does one step on a batch and returns the rank's loss.

    `loss_scale` is None but for fp16.
    """
    weights = [weight.value for weight in model.trainable_variables]

    @tf.function(jit_compile=args.compile)
    def gradients_of(images, labels, scale):
        with tf.GradientTape() as tape:
            loss = smoothed_loss(model(images, training=True), labels)
            scaled = loss * scale
        return loss, tape.gradient(scaled, weights)

    def one_rank(images, labels, rate):
        scale = tf.convert_to_tensor(loss_scale.scale) if loss_scale else 1.0
        loss, gradients = gradients_of(images, labels, scale)
        replica = tf.distribute.get_replica_context()
        gradients = replica.all_reduce(tf.distribute.ReduceOp.MEAN, gradients)
        if loss_scale:
            loss_scale.apply(optimiser, gradients, rate)
        else:
            optimiser.apply(gradients, rate)
        return loss

    @tf.function
    def train_step(images, labels, rate):
        return strategy.run(one_rank, (images, labels, rate))

    return train_step


def checksums_of_all(strategy, checksum):
    """Return the checksum of each rank."""
    if world_size == 1:
        return [checksum]
    letters = tf.constant([[float(letter) for letter in checksum.encode()]])

    @tf.function
    def gather():
        replica = tf.distribute.get_replica_context()
        return replica.all_gather(letters, axis=0)

    rows = strategy.run(gather).numpy()
    return ["".join(chr(int(letter)) for letter in row) for row in rows]


def main():
    """Train, log, check; return the exit code."""
    log.phase("build")
    log.event("framework_version", tf.__version__)
    keras.utils.set_random_seed(args.seed)
    set_up_device()
    amp_policies = {"bf16": "mixed_bfloat16", "fp16": "mixed_float16"}
    amp = args.precision == "amp"
    keras.config.set_dtype_policy(amp_policies[args.amp_dtype] if amp else "float32")
    dtype = keras.config.dtype_policy().compute_dtype

    strategy = make_strategy()
    global_batch = arguments.require_global_batch(args, world_size)
    log.event("global_batch_size", global_batch)
    log.event("opt_name", "sgd")
    log.event("opt_base_learning_rate", global_batch / 1000)

    with strategy.scope():
        model = network.resnet50(args.image_size, args.layout)
        optimiser = MomentumSGD(model.trainable_variables)
        loss_scale = LossScale() if dtype == "float16" else None
    parameters = sum(int(np.prod(weight.shape)) for weight in model.trainable_variables)
    log.event("parameter_count", parameters)
    train_step = make_train_step(strategy, model, optimiser, loss_scale)
    batches = loaders.batches(args, dtype, rank, world_size)

    log.event("run_start", None, "INTERVAL_START")
    log.phase("warm-up")
    clock = Clock({args.warmup, args.total_steps})
    losses, waits = [], []
    for step in range(1, args.total_steps + 1):
        asked = time.perf_counter()
        images, labels = next(batches)
        waits.append(time.perf_counter() - asked)
        rate = tf.constant(arguments.learning_rate(step, global_batch))
        loss = train_step(images, labels, rate)
        losses.append(loss)
        if step == args.warmup:
            log.phase("window")  # the last line before the window ends
        clock.step_done(loss)

    log.phase("check")
    losses = [float(loss) for loss in losses]
    log.steps(clock.ends, losses, waits)
    checksum = checks.weights_digest(weight.numpy() for weight in model.trainable_variables)
    log.event("weights_checksum", checksum)
    fault = checks.find_fault(losses, checksums_of_all(strategy, checksum), parameters)
    log.stop(fault)
    return 1 if fault else 0


if __name__ == "__main__":
    sys.exit(main())
