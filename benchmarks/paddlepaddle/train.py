"""Train ResNet-50 v1.5 with PaddlePaddle, and log when each step ended.

The network is paddle.vision's resnet50; ranks are kept in step by paddle.DataParallel over gloo. A
step on a CPU is done when its call returns. Start it with paddle.distributed.launch, or alone for
one rank:

    python train.py --batch-size 32 --warmup 5 --steps 20 --data DIR/train
"""

import math
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `common`

from common import arguments, checks
from common.step_log import StepLog

args = arguments.parse_arguments(__doc__)
rank = int(os.environ.get("PADDLE_TRAINER_ID", "0"))
world_size = int(os.environ.get("PADDLE_TRAINERS_NUM", "1"))
log = StepLog(args.log_dir, rank, world_size)  # before the long imports: their errors belong there

# The MKL in PaddlePaddle's wheel, of 2019, gives processors that are not Intel's its oldest
# kernels: a third of the speed. 5 means those for AVX2.
processor = Path("/proc/cpuinfo").read_text(errors="replace")
if " avx2 " in processor and "GenuineIntel" not in processor:
    os.environ.setdefault("MKL_DEBUG_CPU_TYPE", "5")
log.event("mkl_cpu_type", os.environ.get("MKL_DEBUG_CPU_TYPE", ""))

import loaders
import paddle
from paddle import distributed


def trained_parameters(model):
    """Return what the optimiser changes; BatchNorm's running statistics are no such parameters."""
    return [parameter for parameter in model.parameters() if not parameter.stop_gradient]


def build_network():
    """Return ResNet-50 v1.5, ready to be trained."""
    model = paddle.vision.models.resnet50(num_classes=arguments.CLASSES)
    model.train()
    return model


def build_loss():
    """Return cross entropy with label smoothing."""
    return paddle.nn.CrossEntropyLoss(label_smoothing=arguments.LABEL_SMOOTHING)


def build_optimiser(model, learning_rate):
    """Return momentum SGD with the weight decay added to the gradient of every parameter."""
    return paddle.optimizer.Momentum(
        learning_rate=learning_rate,
        momentum=arguments.MOMENTUM,
        weight_decay=paddle.regularizer.L2Decay(arguments.WEIGHT_DECAY),
        parameters=trained_parameters(model),
    )


def main():
    """Train, log, check; return the exit code."""
    log.phase("build")
    log.event("framework_version", paddle.__version__)
    paddle.seed(args.seed)
    paddle.device.set_device("cpu")

    if world_size > 1:
        distributed.init_parallel_env()
    global_batch = arguments.require_global_batch(args, world_size)
    log.event("global_batch_size", global_batch)
    log.event("opt_name", "sgd")
    log.event("opt_base_learning_rate", global_batch / 1000)

    model = build_network()
    parameters = sum(math.prod(p.shape) for p in trained_parameters(model))
    log.event("parameter_count", parameters)
    trained = paddle.jit.to_static(model) if args.compile else model
    if world_size > 1:
        trained = paddle.DataParallel(trained)
    loss_of = build_loss()
    optimiser = build_optimiser(model, arguments.learning_rate(1, global_batch))
    batches = iter(loaders.batches(args, rank, world_size))

    log.event("run_start", None, "INTERVAL_START")
    log.phase("warm-up")
    start = time.perf_counter()
    losses, waits, ends = [], [], []
    for step in range(1, args.total_steps + 1):
        asked = time.perf_counter()
        images, labels = next(batches)
        waits.append(time.perf_counter() - asked)
        optimiser.set_lr(arguments.learning_rate(step, global_batch))
        loss = loss_of(trained(images), labels)
        loss.backward()
        optimiser.step()
        optimiser.clear_grad()
        losses.append(loss.detach())
        if step == args.warmup:
            log.phase("window")  # the last line before the window ends
        ends.append(time.perf_counter() - start)

    log.phase("check")
    losses = [float(loss) for loss in losses]
    log.steps(ends, losses, waits)
    mine = checks.weights_digest(weight.numpy() for weight in trained_parameters(model))
    log.event("weights_checksum", mine)
    checksums = [] if world_size > 1 else [mine]
    if world_size > 1:
        distributed.all_gather_object(checksums, mine)
    fault = checks.find_fault(losses, checksums, parameters)
    log.stop(fault)
    return 1 if fault else 0


if __name__ == "__main__":
    sys.exit(main())
