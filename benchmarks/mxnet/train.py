"""Train ResNet-50 v1.5 with MXNet, and log when each step ended.

The network is GluonCV's resnet50_v1b; ranks are kept in step by Horovod, or by MXNet's parameter
servers. Start it with horovodrun or with start.py, or alone for one rank:

    python train.py --batch-size 32 --warmup 5 --steps 20 --data DIR/train
"""

import functools
import math
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `common`

from common import arguments, checks
from common.images import require_whole_records
from common.step_log import StepLog

args = arguments.parse_arguments(__doc__)


def from_launcher(what, alone):
    """Return this process's RANK or SIZE as start.py, horovodrun or Open MPI's mpirun told it."""
    names = ("KVSTORE_" + what, "HOROVOD_" + what, "OMPI_COMM_WORLD_" + what)
    return int(next((os.environ[name] for name in names if name in os.environ), alone))


rank, world_size = from_launcher("RANK", 0), from_launcher("SIZE", 1)
log = StepLog(args.log_dir, rank, world_size)  # before the long imports: their errors belong there

import loaders
import mxnet as mx
from mxnet.contrib import amp

if args.precision == "amp":
    if " avx512bw " not in Path("/proc/cpuinfo").read_text(errors="replace"):
        raise RuntimeError("MXNet's convolutions in bf16 need a processor with AVX-512")
    amp.init(target_dtype="bfloat16")  # changes the operators that networks are then made of

import optimiser
import strategies
from gluoncv.model_zoo import resnet50_v1b


def trained_parameters(model):
    """Return what the optimiser changes; BatchNorm's running statistics are no such parameters."""
    return [one for one in model.collect_params().values() if one.grad_req != "null"]


def build_network(image_size):
    """Return ResNet-50 v1.5, with weights as GluonCV's own training script draws them."""
    model = resnet50_v1b(classes=arguments.CLASSES)
    model.infer_shape(mx.nd.zeros((1, 3, image_size, image_size)))
    model.initialize(mx.init.MSRAPrelu())
    model.hybridize(static_alloc=True, static_shape=True)
    return model


def build_loss():
    """Return cross entropy with label smoothing, of each image."""
    smooth = arguments.LABEL_SMOOTHING / arguments.CLASSES
    entropy = mx.gluon.loss.SoftmaxCrossEntropyLoss(sparse_label=False)
    entropy.hybridize(static_alloc=True, static_shape=True)

    def loss_of(logits, labels):
        right = 1 - arguments.LABEL_SMOOTHING + smooth
        wanted = mx.nd.one_hot(labels, arguments.CLASSES, right, smooth, dtype=logits.dtype)
        return entropy(logits, wanted)

    return loss_of


def main():
    """Train, log, check; return the exit code."""
    log.phase("build")
    log.event("framework_version", mx.__version__)
    mx.random.seed(args.seed)
    batches = loaders.batches(args, rank, world_size)  # its processes fork before there are threads
    global_batch = arguments.require_global_batch(args, world_size)
    log.event("global_batch_size", global_batch)
    log.event("opt_name", "sgd")
    log.event("opt_base_learning_rate", global_batch / 1000)

    model = build_network(args.image_size)
    parameters = sum(math.prod(p.shape) for p in trained_parameters(model))
    log.event("parameter_count", parameters)
    loss_of = build_loss()
    rate_of_step = functools.partial(arguments.learning_rate, global_batch=global_batch)
    ranks = strategies.choose(args, rank, world_size)
    trainer = ranks.trainer(model, optimiser.MomentumSGD(rate_of_step))

    log.event("run_start", None, "INTERVAL_START")
    log.phase("warm-up")
    start = time.perf_counter()
    losses, waits, ends = [], [], []
    for step in range(1, args.total_steps + 1):
        asked = time.perf_counter()
        images, labels = next(batches)
        waits.append(time.perf_counter() - asked)
        with mx.autograd.record():
            loss = loss_of(model(images), labels)
        loss.backward()
        trainer.step(ranks.images_per_update(args.batch_size))
        losses.append(loss.mean())
        mx.nd.waitall()  # MXNet only queues what is above; the step is done when the queue is
        if step == args.warmup:
            log.phase("window")  # the last line before the window ends
        ends.append(time.perf_counter() - start)

    log.phase("check")
    if args.loader == "recordio":
        require_whole_records(args.data, args.log_dir, rank)
    losses = [float(loss.asscalar()) for loss in losses]
    log.steps(ends, losses, waits)
    mine = checks.weights_digest(one.data().asnumpy() for one in trained_parameters(model))
    log.event("weights_checksum", mine)
    fault = checks.find_fault(losses, ranks.gather(mine), parameters)
    log.stop(fault)
    return 1 if fault else 0


def leave_at_once(*error):
    """Print an error and end: else a rank would first wait for those that wait for it."""
    sys.__excepthook__(*error)
    sys.stderr.flush()
    os._exit(1)


if __name__ == "__main__":
    sys.excepthook = leave_at_once
    sys.exit(main())
