"""Parameter servers hold the weights; a coordinator has each worker do its part of every step.

Workers read the weights, and have the servers update them with their own gradients, each as soon
as it is done: within a step they do not wait for each other. The coordinator schedules a batch for
each worker, and a step has ended when it has joined them all.

Servers and workers serve until the launcher ends them. What a worker's log is to say, the
coordinator, which is no rank, has the worker print.
"""

import sys
import time

import keras
import loaders
import network
import numpy as np
import tensorflow as tf
from common import arguments, checks
from common.step_log import StepLog
from optimiser import MomentumSGD
from step import make_replica_step

worker_index = tf.distribute.coordinator.experimental_get_current_worker_index


def run(args, job):
    """Do what is this process's task in the job; return the exit code."""
    if args.compile:
        raise RuntimeError("XLA compiles no step whose weights lie on servers: leave COMPILE out")
    if args.data and args.loader == "dali-cpu":
        raise RuntimeError("workers read datasets of tf.data alone: choose another LOADER")
    cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    workers = len(job["cluster"]["worker"])
    if cluster.task_type == "chief":
        return Coordinator(args, cluster, workers).train()
    serve(args, cluster, workers)
    return 0


def serve(args, cluster, workers):
    """Serve as a worker or as a parameter server until this process is ended."""
    config = tf.compat.v1.ConfigProto()
    config.intra_op_parallelism_threads = args.threads
    config.inter_op_parallelism_threads = workers + 1  # that many may wait for each other here
    task = {"job_name": cluster.task_type, "task_index": cluster.task_id}
    tf.distribute.Server(cluster.cluster_spec(), config=config, **task).join()


class WorkersLog(StepLog):
    """The log of one rank, which its worker has begun and goes on to print."""

    def __init__(self, rank):
        """Print where worker `rank` does."""
        self.rank = rank

    def write(self, text):
        """Return when the worker has printed the text."""
        with tf.device(processor(self.rank)):
            say(tf.constant(text)).numpy()


@tf.function
def say(text):
    """Print a text where this is executed."""
    tf.print(text, end="", output_stream=sys.stdout)
    return tf.constant(0)


def processor(rank):
    """Return what TensorFlow calls the processor of a worker."""
    return "/job:worker/replica:0/task:%d/device:CPU:0" % rank


class ServedSGD(MomentumSGD):
    """Momentum SGD of weights, and in the same way of a tally.

    That has an element for each worker, which its updates alone move away from zero.
    """

    def __init__(self, weights, workers):
        """Keep the tally with the weights, on the servers."""
        self.tally = keras.Variable(tf.zeros(workers))
        super().__init__([*weights, self.tally])

    def apply(self, gradients, rate):
        """Do one step with gradients of the worker that executes this."""
        count = tf.one_hot(worker_index(), self.tally.shape[0])
        super().apply([*gradients, count], rate)


class Coordinator:
    """Trains with all workers, and writes their logs."""

    def __init__(self, args, cluster, workers):
        """Wait for all servers and workers."""
        tf.config.threading.set_intra_op_parallelism_threads(args.threads)
        self.args, self.workers = args, workers
        self.strategy = tf.distribute.ParameterServerStrategy(cluster)
        self.coordinator = tf.distribute.coordinator.ClusterCoordinator(self.strategy)
        self.logs = [WorkersLog(rank) for rank in range(workers)]

    def event(self, key, value, *more):
        """Tell all logs."""
        for log in self.logs:
            log.event(key, value, *more)

    def make_train_step(self, model, optimiser, dtype):
        """Return the function that reads a batch and does its part of a step, on a worker.

        It returns the worker's rank, its loss, and the seconds that it waited for its data.
        """
        normalise = loaders.make_normalise(self.args, dtype)
        replica_step = make_replica_step(
            model, optimiser, None, compiled=self.args.compile, one_copy=True
        )

        @tf.function
        def train_step(iterator, rate):
            asked = tf.timestamp()
            with tf.control_dependencies([asked]):
                images, labels = next(iterator)
            with tf.control_dependencies([images]):
                waited = tf.timestamp() - asked
            if self.args.data:
                images = normalise(images)
            loss = self.strategy.run(replica_step, (images, labels, rate))
            return worker_index(), loss, waited

        return train_step

    def make_batches(self, dtype):
        """Return each worker's iterator over its share of the data."""

        def share(_):
            return loaders.dataset(self.args, dtype, worker_index(), self.workers)

        @tf.function
        def on_worker():
            return self.strategy.distribute_datasets_from_function(share)

        return iter(self.coordinator.create_per_worker_dataset(on_worker))

    def join(self, step):
        """Wait until all workers have done their parts; name the image that one could not read."""
        try:
            self.coordinator.join()
        except (tf.errors.InvalidArgumentError, tf.errors.DataLossError) as error:
            for rank in range(self.workers) if self.args.data else ():
                _, name_fault = loaders.pixels(self.args, rank, self.workers)
                try:
                    name_fault(step - 1, error)
                except tf.errors.OpError:
                    continue  # it is not in this rank's batch
            raise

    def checksums(self, model):
        """Return a checksum of the weights as each worker reads them from the servers."""

        @tf.function
        def fingerprints():
            flat = [tf.reshape(weight.value, (1, -1)) for weight in model.trainable_variables]
            return tf.concat([tf.fingerprint(weight) for weight in flat], axis=0)

        found = []
        for rank in range(self.workers):
            with tf.device(processor(rank)):
                found += [checks.weights_digest([fingerprints().numpy()])]
        return found

    def train(self):
        """Train, log, check; return the exit code."""
        args = self.args
        self.event("phase", "build")
        self.event("framework_version", tf.__version__)
        keras.utils.set_random_seed(args.seed)
        amp = args.precision == "amp"
        keras.config.set_dtype_policy("mixed_bfloat16" if amp else "float32")
        dtype = keras.config.dtype_policy().compute_dtype
        global_batch = arguments.require_global_batch(args, self.workers)
        self.event("global_batch_size", global_batch)
        self.event("opt_name", "sgd")
        self.event("opt_base_learning_rate", args.batch_size / 1000)

        with self.strategy.scope():
            model = network.resnet50(args.image_size, args.layout, self.workers)
            optimiser = ServedSGD(model.trainable_variables, self.workers)
        parameters = sum(int(np.prod(weight.shape)) for weight in model.trainable_variables)
        self.event("parameter_count", parameters)
        train_step = self.make_train_step(model, optimiser, dtype)
        batches = self.make_batches(dtype)

        self.event("run_start", None, "INTERVAL_START")
        self.event("phase", "warm-up")
        start = time.perf_counter()
        ends, parts = [], []
        for step in range(1, args.total_steps + 1):
            # Each worker's update is as long as its share of the global batch.
            rate = tf.constant(arguments.learning_rate(step, global_batch) / self.workers)
            todo = [(batches, rate)] * self.workers
            parts.append([self.coordinator.schedule(train_step, one) for one in todo])
            self.join(step)
            if step == args.warmup:
                self.event("phase", "window")  # the last line before the window ends
            ends.append(time.perf_counter() - start)

        self.event("phase", "check")
        table = np.array([[one.fetch() for one in step] for step in parts], np.float64)
        checksums = self.checksums(model)
        for rank, log in enumerate(self.logs):
            _, losses, waits = table[table[:, :, 0] == rank].T
            log.steps(ends, losses.tolist(), waits.tolist())
            log.event("weights_checksum", checksums[rank])
        fault = checks.find_fault(table[:, :, 1].ravel().tolist(), checksums, parameters)
        fault = fault or self.find_missing(table[:, :, 0], optimiser.tally.numpy())
        for log in self.logs:
            log.stop(fault)
        return 1 if fault else 0

    def find_missing(self, ranks, tally):
        """Return which worker did not do its part of a step, or did it in vain; empty for none.

        `ranks` are those that did the parts of each step.
        """
        for step, found in enumerate(ranks, start=1):
            if sorted(found) != list(range(self.workers)):
                return "the parts of step %d were done by ranks %s" % (step, found.astype(int))
        for rank in np.flatnonzero(tally == 0):
            return "no update of rank %d has reached the weights" % rank
        return ""
