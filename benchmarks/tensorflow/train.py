"""Train ResNet-50 v1.5 with TensorFlow, and log when each step ended.

The network is that of network.py, in Keras; ranks are kept in step by
MultiWorkerMirroredStrategy (NCCL on GPUs, a ring over gRPC on CPUs), or by parameter servers
(parameter_server.py), or by Horovod (gloo or MPI); or there is but one, whose devices
MirroredStrategy or CentralStorageStrategy feeds. Start it with start.py or horovodrun, or alone for
one rank:

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


def from_horovodrun(alone, *names):
    """Return what horovodrun or Open MPI's mpirun told this process."""
    return int(next((os.environ[name] for name in names if name in os.environ), alone))


job = json.loads(os.environ.get("TF_CONFIG", "{}"))
local_rank = int(os.environ.get("LOCAL_RANK", "0"))
if job:
    rank, world_size = job["task"]["index"], len(job["cluster"]["worker"])
else:
    rank = from_horovodrun(0, "HOROVOD_RANK", "OMPI_COMM_WORLD_RANK")
    world_size = from_horovodrun(1, "HOROVOD_SIZE", "OMPI_COMM_WORLD_SIZE")
by_horovod = args.strategy == "horovod" and world_size > 1
if not job or job["task"]["type"] == "worker":  # servers and their coordinator are no ranks
    log = StepLog(args.log_dir, rank, world_size)  # before the long imports, whose errors it takes

import keras
import loaders
import network
import numpy as np
import parameter_server
import tensorflow as tf
from optimiser import LossScale, MomentumSGD
from step import make_replica_step

if by_horovod:
    import horovod.tensorflow as hvd


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
            mean_loss(loss)
        self.ends.append(time.perf_counter() - self.start)


def set_up_devices():
    """Give TensorFlow this rank's GPUs, or its share of the cores; return the devices' names."""
    count = args.devices_per_rank
    gpus = tf.config.list_physical_devices("GPU") if args.device == "cuda" else []
    tf.config.set_visible_devices(gpus[local_rank : local_rank + count], "GPU")
    if args.device == "cuda":
        details = tf.config.experimental.get_device_details(gpus[local_rank])
        log.event("device_name", details["device_name"])
        tf.config.experimental.enable_tensor_float_32_execution(args.precision == "tf32")
        return ["GPU:%d" % number for number in range(count)]
    tf.config.threading.set_intra_op_parallelism_threads(args.threads * count)
    tf.config.threading.set_inter_op_parallelism_threads(args.threads * count)
    (cpu,) = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(
        cpu, [tf.config.LogicalDeviceConfiguration()] * count
    )
    return ["CPU:%d" % number for number in range(count)]


def make_strategy(devices):
    """Return what averages gradients over ranks or devices; for one or Horovod, the default."""
    if by_horovod or world_size == len(devices) == 1:
        return tf.distribute.get_strategy()
    if args.strategy == "central_storage":
        return tf.distribute.experimental.CentralStorageStrategy(devices, "CPU:0")
    if args.strategy == "mirrored":
        operations = {
            "nccl": tf.distribute.NcclAllReduce,
            "hierarchical_copy": tf.distribute.HierarchicalCopyAllReduce,
            "one_device": tf.distribute.ReductionToOneDevice,
            "collective": lambda: None,  # its default
        }
        through = args.backend or {"cuda": "nccl", "cpu": "collective"}[args.device]
        return tf.distribute.MirroredStrategy(devices, operations[through]())
    through = args.backend or {"cuda": "nccl", "cpu": "ring"}[args.device]
    options = tf.distribute.experimental.CommunicationOptions(
        implementation=tf.distribute.experimental.CommunicationImplementation[through.upper()]
    )
    return tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)


def averaged_by_horovod(gradients):
    """Return the means of gradients over all ranks; Horovod sends those together that are there."""
    return [hvd.allreduce(gradient, op=hvd.Average) for gradient in gradients]


def make_train_step(strategy, model, optimiser, loss_scale):
    """Return the function that does one step on a batch and returns the loss of each replica.

    `loss_scale` is None but for fp16.
    """
    one_copy = args.strategy == "central_storage" and args.devices_per_rank > 1
    averaged = averaged_by_horovod if by_horovod else None
    replica_step = make_replica_step(
        model, optimiser, loss_scale, averaged, compiled=args.compile, one_copy=one_copy
    )

    @tf.function
    def train_step(images, labels, rate):
        return strategy.run(replica_step, (images, labels, rate))

    return train_step


def mean_loss(loss):
    """Return the mean of the losses of this process's replicas, once they are there."""
    return float(np.mean([float(one) for one in tf.nest.flatten(loss, expand_composites=True)]))


def checksums_here(strategy, model):
    """Return the checksum of each copy of the weights that this process holds."""
    copies = [strategy.experimental_local_results(w.value) for w in model.trainable_variables]
    return [checks.weights_digest(weight.numpy() for weight in copy) for copy in zip(*copies)]


def checksums_of_all(strategy, checksum):
    """Return the checksum of each rank."""
    if by_horovod:
        return hvd.allgather_object(checksum)
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
    devices = set_up_devices()
    amp_policies = {"bf16": "mixed_bfloat16", "fp16": "mixed_float16"}
    amp = args.precision == "amp"
    keras.config.set_dtype_policy(amp_policies[args.amp_dtype] if amp else "float32")
    dtype = keras.config.dtype_policy().compute_dtype

    if by_horovod:
        hvd.init()
    strategy = make_strategy(devices)
    global_batch = arguments.require_global_batch(args, world_size)
    log.event("global_batch_size", global_batch)
    log.event("opt_name", "sgd")
    log.event("opt_base_learning_rate", global_batch / 1000)

    with strategy.scope():
        sharers = len(devices) if args.strategy == "central_storage" else 1
        model = network.resnet50(args.image_size, args.layout, sharers)
        optimiser = MomentumSGD(model.trainable_variables)
        loss_scale = LossScale() if dtype == "float16" else None
    if by_horovod:
        hvd.broadcast_variables([weight.value for weight in model.variables], root_rank=0)
    parameters = sum(int(np.prod(weight.shape)) for weight in model.trainable_variables)
    log.event("parameter_count", parameters)
    train_step = make_train_step(strategy, model, optimiser, loss_scale)
    if len(devices) > 1:
        batches = loaders.batches_of_replicas(args, dtype, strategy, devices)
    else:
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
    losses = [mean_loss(loss) for loss in losses]
    log.steps(clock.ends, losses, waits)
    checksums = checksums_here(strategy, model)
    log.event("weights_checksum", checksums[0])
    if world_size > 1:
        checksums = checksums_of_all(strategy, checksums[0])
    fault = checks.find_fault(losses, checksums, parameters)
    log.stop(fault)
    return 1 if fault else 0


def leave_at_once(*error):
    """Print an error and end: else a rank of Horovod's would first wait for those that wait."""
    sys.__excepthook__(*error)
    sys.stderr.flush()
    os._exit(1)


if __name__ == "__main__":
    if by_horovod:
        sys.excepthook = leave_at_once
    if "ps" in job.get("cluster", ()):
        sys.exit(parameter_server.run(args, job))
    sys.exit(main())
