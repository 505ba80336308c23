"""Train ResNet-50 v1.5 with PyTorch, and log when each step ended.

The network is torchvision's resnet50; ranks are kept in step by DistributedDataParallel or FSDP2
(NCCL on GPUs, gloo on CPUs), or by Horovod (gloo or MPI), or there is but one, whose GPUs
DataParallel feeds. Start it with torchrun or horovodrun, or alone for one rank:

    python train.py --batch-size 32 --warmup 5 --steps 20 --data DIR/train
"""

import contextlib
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `common`

from common import arguments, checks
from common.step_log import StepLog

args = arguments.parse_arguments(__doc__)


def from_launcher(alone, *names):
    """Return what torchrun, horovodrun or Open MPI's mpirun told this process."""
    return int(next((os.environ[name] for name in names if name in os.environ), alone))


rank = from_launcher(0, "RANK", "HOROVOD_RANK", "OMPI_COMM_WORLD_RANK")
local_rank = from_launcher(0, "LOCAL_RANK")
world_size = from_launcher(1, "WORLD_SIZE", "HOROVOD_SIZE", "OMPI_COMM_WORLD_SIZE")
by_horovod = args.strategy == "horovod" and world_size > 1
log = StepLog(args.log_dir, rank, world_size)  # before the long imports: their errors belong there

import loaders
import torch
import torchvision
from torch import distributed
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

if by_horovod:
    import horovod.torch as hvd


class HostClock:
    """Stamps steps of a device that works in step with the host, such as a CPU."""

    def __init__(self):
        """Start at zero."""
        self.start = time.perf_counter()
        self.stamps = []

    def step_done(self):
        """Stamp the end of a step."""
        self.stamps.append(time.perf_counter())

    def ends(self):
        """Return the end of each step, in seconds."""
        return [stamp - self.start for stamp in self.stamps]


class CudaClock:
    """Stamps steps on the device's own queue, without making the host wait for it."""

    def __init__(self):
        """Start at zero."""
        self.start = self._event()
        self.events = []

    @staticmethod
    def _event():
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def step_done(self):
        """Stamp the end of a step."""
        self.events.append(self._event())

    def ends(self):
        """Wait for the device and return the end of each step, in seconds."""
        torch.cuda.synchronize()
        return [self.start.elapsed_time(event) / 1000 for event in self.events]


def build_network():
    """Return ResNet-50 v1.5, ready to be trained."""
    return torchvision.models.resnet50(num_classes=arguments.CLASSES).train()


def build_loss():
    """Return cross entropy with label smoothing."""
    return torch.nn.CrossEntropyLoss(label_smoothing=arguments.LABEL_SMOOTHING)


def build_optimiser(model, learning_rate):
    """Return momentum SGD with the weight decay added to the gradient of every parameter."""
    sharded = any(isinstance(weight, DTensor) for weight in model.parameters())
    return torch.optim.SGD(
        model.parameters(),
        lr=learning_rate,
        momentum=arguments.MOMENTUM,
        weight_decay=arguments.WEIGHT_DECAY,
        fused=not sharded,  # of shards it knows none
    )


def keep_in_step(model, compiled):
    """Return what is called to train: the network, with gradients averaged over all devices."""
    if args.strategy == "dp":
        return torch.nn.DataParallel(compiled, list(range(args.devices_per_rank)))
    if world_size == 1:
        return compiled
    if by_horovod:  # which averages in its optimiser
        hvd.broadcast_parameters(model.state_dict(), root_rank=0)
        return compiled
    if args.strategy == "fsdp":
        for block in model.modules():
            if isinstance(block, torchvision.models.resnet.Bottleneck):
                fully_shard(block)
        fully_shard(model)
        return compiled
    ids = [local_rank] if args.device == "cuda" else None
    return DistributedDataParallel(compiled, ids, gradient_as_bucket_view=True)


def whole(weight):
    """Return a weight on the CPU, its shards put together."""
    weight = weight.full_tensor() if isinstance(weight, DTensor) else weight
    return weight.detach().cpu().contiguous()


def main():
    """Train, log, check; return the exit code."""
    log.phase("build")
    log.event("framework_version", torch.__version__)
    torch.manual_seed(args.seed)
    if args.device == "cuda":
        device = torch.device("cuda", local_rank)
        torch.cuda.set_device(device)
        log.event("device_name", torch.cuda.get_device_name(device))
        torch.backends.cudnn.benchmark = True
        torch.backends.cudnn.allow_tf32 = args.precision == "tf32"
        torch.backends.cuda.matmul.allow_tf32 = args.precision == "tf32"
    else:
        device = torch.device("cpu")
        torch.set_num_threads(args.threads)
    layout = getattr(torch, {"channels_first": "contiguous_format"}.get(args.layout, args.layout))
    amp = args.precision == "amp"
    dtype = (
        {"bf16": torch.bfloat16, "fp16": torch.float16}[args.amp_dtype] if amp else torch.float32
    )

    if by_horovod:
        hvd.init()
    elif world_size > 1:
        through = args.backend or {"cuda": "nccl", "cpu": "gloo"}[args.device]
        distributed.init_process_group(through)
    global_batch = arguments.require_global_batch(args, world_size)
    log.event("global_batch_size", global_batch)
    log.event("opt_name", "sgd")
    log.event("opt_base_learning_rate", global_batch / 1000)
    args.batch_size *= args.devices_per_rank  # one loader feeds all devices of its rank

    model = build_network()
    parameters = sum(p.numel() for p in model.parameters() if p.requires_grad)
    log.event("parameter_count", parameters)
    # FSDP cuts weights along their first dimension, and Horovod sends memory as it lies: both take
    # weights in the usual order alone.
    usual = args.strategy in {"fsdp", "horovod"} and world_size > 1
    model = model.to(device, memory_format=torch.contiguous_format if usual else layout)
    trained = keep_in_step(model, torch.compile(model) if args.compile else model)
    loss_of = build_loss().to(device)
    optimiser = build_optimiser(model, arguments.learning_rate(1, global_batch))
    if by_horovod:
        optimiser = hvd.DistributedOptimizer(optimiser, model.named_parameters())
    scaler = torch.amp.GradScaler(args.device, enabled=dtype == torch.float16)
    autocast = torch.autocast(args.device, dtype=dtype) if amp else contextlib.nullcontext()
    batches = iter(loaders.batches(args, device, dtype, layout, rank, world_size))

    log.event("run_start", None, "INTERVAL_START")
    log.phase("warm-up")
    clock = CudaClock() if args.device == "cuda" else HostClock()
    losses, waits = [], []
    for step in range(1, args.total_steps + 1):
        asked = time.perf_counter()
        images, labels = next(batches)
        waits.append(time.perf_counter() - asked)
        optimiser.param_groups[0]["lr"] = arguments.learning_rate(step, global_batch)
        with autocast:
            loss = loss_of(trained(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimiser)
        scaler.update()
        optimiser.zero_grad()  # lets go of them
        losses.append(loss.detach())
        if step == args.warmup:
            log.phase("window")  # the last line before the window ends
        clock.step_done()

    ends = clock.ends()
    log.phase("check")
    losses = [float(loss) for loss in losses]
    log.steps(ends, losses, waits)
    weights = [whole(weight).numpy() for weight in model.parameters()]
    checksums = [checks.weights_digest(weights)]
    log.event("weights_checksum", checksums[0])
    if by_horovod:
        checksums = hvd.allgather_object(checksums[0])
    elif world_size > 1:
        everyone = [None] * world_size
        distributed.all_gather_object(everyone, checksums[0])
        checksums = everyone
        distributed.destroy_process_group()
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
    sys.exit(main())
