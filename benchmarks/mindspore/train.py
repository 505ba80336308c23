"""Train ResNet-50 v1.5 with MindSpore, and log when each step ended.

The network is mindcv's resnet50 with torchvision's padding of its max-pool; ranks are kept in step
by a DistributedGradReducer over MindSpore's own collective library, mccl. Start it with start.py,
or alone for one rank:

    python train.py --batch-size 32 --warmup 5 --steps 20 --data DIR/train
"""

import ctypes
import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `common`

from common import arguments, checks
from common.step_log import StepLog

args = arguments.parse_arguments(__doc__)
scheduler = os.environ.get("MS_ROLE") == "MS_SCHED"  # msrun starts this script once more as that
rank = int(os.environ.get("RANK_ID", "0"))
world_size = int(os.environ.get("MS_WORKER_NUM", "1"))
# msrun gives ranks a session of their own and says nothing to them when it is killed.
if "MS_ROLE" in os.environ:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # 1: PR_SET_PDEATHSIG
# Before the long imports: their errors belong there.
log = None if scheduler else StepLog(args.log_dir, rank, world_size)

# On an AMD processor with AVX-512, MindSpore's oneDNN gives 3x3 convolutions its reference kernel,
# 30 times as slow as the one for AVX2.
processor = Path("/proc/cpuinfo").read_text(errors="replace")
if " avx512f " in processor and "GenuineIntel" not in processor:
    os.environ.setdefault("DNNL_MAX_CPU_ISA", "AVX2")

import loaders
import mindspore
from mindcv.models import resnet
from mindspore import mint, nn, ops
from mindspore.communication import init
from mindspore.device_context.cpu import op_tuning


def build_network():
    """Return ResNet-50 v1.5, ready to be trained."""
    model = resnet.resnet50(num_classes=arguments.CLASSES)
    # mindcv's own pads one side alone ("same"): another network than torchvision's.
    model.max_pool = nn.MaxPool2d(3, stride=2, pad_mode="pad", padding=1)
    return model.set_train()


def build_loss():
    """Return cross entropy with label smoothing."""
    return nn.CrossEntropyLoss(label_smoothing=arguments.LABEL_SMOOTHING)


def build_optimiser(parameters, learning_rates):
    """Return momentum SGD with a learning rate for each step.

    Only in a group of its own is a parameter of BatchNorm given its weight decay.
    """
    group = {"params": parameters, "weight_decay": arguments.WEIGHT_DECAY}
    return nn.Momentum([group], learning_rates, arguments.MOMENTUM)


def build_step(model, loss_of, optimiser, average):
    """Return what trains on one batch and returns its loss, once the weights are updated."""

    def forward(images, labels):
        return loss_of(model(images), labels)

    differentiate = mindspore.value_and_grad(forward, None, optimiser.parameters)

    def step(images, labels):
        loss, gradients = differentiate(images, labels)
        return ops.depend(loss, optimiser(average(gradients)))

    return step


def main():
    """Train, log, check; return the exit code."""
    log.phase("build")
    log.event("framework_version", mindspore.__version__)
    log.event("dnnl_max_cpu_isa", os.environ.get("DNNL_MAX_CPU_ISA", ""))
    mindspore.set_seed(args.seed)
    mindspore.set_device("CPU")
    op_tuning.threads_num(args.threads)

    if "MS_ROLE" in os.environ:
        init("mccl")  # also of one rank: the scheduler waits for it
    if world_size > 1:
        mindspore.set_auto_parallel_context(
            parallel_mode="data_parallel", gradients_mean=True, device_num=world_size
        )
    global_batch = arguments.require_global_batch(args, world_size)
    log.event("global_batch_size", global_batch)
    log.event("opt_name", "sgd")
    log.event("opt_base_learning_rate", global_batch / 1000)

    model = build_network()
    weights = model.trainable_params()
    parameters = sum(weight.size for weight in weights)
    log.event("parameter_count", parameters)
    rates = [arguments.learning_rate(s, global_batch) for s in range(1, args.total_steps + 1)]
    optimiser = build_optimiser(weights, rates)
    average = nn.Identity()
    if world_size > 1:
        average = nn.DistributedGradReducer(optimiser.parameters, mean=True, degree=world_size)
    train = build_step(model, build_loss(), optimiser, average)
    if args.compile:
        train = mindspore.jit(train)
    batches = iter(loaders.batches(args, rank, world_size))

    log.event("run_start", None, "INTERVAL_START")
    log.phase("warm-up")
    start = time.perf_counter()
    losses, waits, ends = [], [], []
    for step in range(1, args.total_steps + 1):
        asked = time.perf_counter()
        images, labels = next(batches)
        waits.append(time.perf_counter() - asked)
        losses.append(float(train(images, labels).asnumpy()))  # calls return before their end
        if step == args.warmup:
            log.phase("window")  # the last line before the window ends
        ends.append(time.perf_counter() - start)

    log.phase("check")
    log.steps(ends, losses, waits)
    mine = checks.weights_digest(weight.asnumpy() for weight in weights)
    log.event("weights_checksum", mine)
    checksums = [mine] * world_size
    if world_size > 1:
        mint.distributed.all_gather_object(checksums, mine)
    fault = checks.find_fault(losses, checksums, parameters)
    log.stop(fault)
    return 1 if fault else 0


if __name__ == "__main__":
    if scheduler:
        init("mccl")  # serves the ranks until they have left
    else:
        sys.exit(main())
