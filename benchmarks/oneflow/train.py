"""Train ResNet-50 v1.5 with OneFlow, and log when each step ended.

The network is flowvision's resnet50. Ranks are kept in step by global tensors in a graph (`global`:
weights broadcast, batches split), or eagerly by DistributedDataParallel (`ddp`). Start it with
oneflow.distributed.launch, or alone for one rank:

    python train.py --batch-size 32 --warmup 5 --steps 20 --data DIR/train
"""

import os
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for `common`

from common import arguments, checks
from common.images import require_whole_records
from common.step_log import StepLog

args = arguments.parse_arguments(__doc__)
rank = int(os.environ.get("RANK", "0"))
world_size = int(os.environ.get("WORLD_SIZE", "1"))
log = StepLog(args.log_dir, rank, world_size)  # before the long imports: their errors belong there

import flowvision
import loaders
import oneflow as flow


def build_network():
    """Return ResNet-50 v1.5, ready to be trained."""
    return flowvision.models.resnet50(num_classes=arguments.CLASSES).train()


def build_loss():
    """Return cross entropy with label smoothing."""
    return flow.nn.CrossEntropyLoss(label_smoothing=arguments.LABEL_SMOOTHING)


def build_optimiser(model, global_batch):
    """Return momentum SGD and its learning rates, those of `arguments.learning_rate`.

    A graph knows no function of the step; a straight line over the warm-up's whole steps it does.
    """
    whole = int(arguments.WARMUP_EPOCHS * arguments.IMAGENET_TRAIN_IMAGES / global_batch)
    base = global_batch / 1000
    optimiser = flow.optim.SGD(
        model.parameters(),
        lr=base,
        momentum=arguments.MOMENTUM,
        weight_decay=arguments.WEIGHT_DECAY,
    )
    rates = flow.optim.lr_scheduler.LinearLR(
        optimiser,
        start_factor=arguments.learning_rate(1, global_batch) / base,
        end_factor=arguments.learning_rate(whole, global_batch) / base,
        total_iters=whole - 1,
    )
    return optimiser, rates


class TrainingGraph(flow.nn.Graph):
    """Forward pass, backward pass and update as one graph over all ranks.

    With `records`, it reads its batches itself.
    """

    def __init__(self, model, loss, optimiser, rates, records=None):
        """Take what the graph is made of."""
        super().__init__()
        self.model, self.loss, self.records = model, loss, records
        self.add_optimizer(optimiser, lr_sch=rates)

    def build(self, *batch):
        """Return the loss of a batch, after telling the graph to go back from it."""
        images, labels = batch or self.records()
        loss = self.loss(self.model(images), labels)
        loss.backward()
        return loss


def global_step(model, loss, global_batch):
    """Return a function that trains one step on a rank's part of the batch; the loss is the job's.

    Weights are global tensors with a copy on each rank, images and labels are split between them.
    """
    everyone = flow.placement("cpu", range(world_size))
    shared_out = {"placement": everyone, "sbp": flow.sbp.split(0)}
    model.to_global(placement=everyone, sbp=flow.sbp.broadcast)
    records = None
    if loaders.read_by_graph(args):
        records = loaders.Records(args, world_size, global_batch, **shared_out)
    graph = TrainingGraph(model, loss, *build_optimiser(model, global_batch), records)

    def step(*batch):
        value = graph(*(part.to_global(**shared_out) for part in batch))
        return value.to_global(sbp=flow.sbp.broadcast).to_local()

    return step


def ddp_step(model, loss, global_batch):
    """Return a function that trains one step eagerly; gradients are averaged by DDP."""
    if world_size > 1:
        model = flow.nn.parallel.DistributedDataParallel(model)
    optimiser, rates = build_optimiser(model, global_batch)

    def step(images, labels):
        value = loss(model(images), labels)
        value.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=False)  # DDP's gradients are views of its buckets
        rates.step()
        return value.detach()

    return step


STRATEGIES = {"global": global_step, "ddp": ddp_step}


def here(tensor):
    """Return a tensor's values on this rank as an array, once they are computed."""
    return (tensor.to_local() if tensor.is_global else tensor).detach().numpy()


def main():
    """Train, log, check; return the exit code."""
    log.phase("build")
    log.event("framework_version", flow.__version__)
    flow.manual_seed(args.seed)
    global_batch = arguments.require_global_batch(args, world_size)
    log.event("global_batch_size", global_batch)
    log.event("opt_name", "sgd")
    log.event("opt_base_learning_rate", global_batch / 1000)

    model = build_network()
    parameters = sum(weight.numel() for weight in model.parameters())
    log.event("parameter_count", parameters)
    train = STRATEGIES[args.strategy or "global"](model, build_loss(), global_batch)
    batches = iter(loaders.batches(args, rank, world_size))

    log.event("run_start", None, "INTERVAL_START")
    log.phase("warm-up")
    start = time.perf_counter()
    losses, waits, ends = [], [], []
    for step in range(1, args.total_steps + 1):
        asked = time.perf_counter()
        batch = next(batches)
        waits.append(time.perf_counter() - asked)
        losses.append(train(*batch))
        if step == args.warmup:
            log.phase("window")  # the last line before the window ends
        here(model.fc.bias)  # the calls return at once: this waits for the step's update
        ends.append(time.perf_counter() - start)

    log.phase("check")
    if args.loader == "ofrecord":
        require_whole_records(args.data, args.log_dir, rank)
    losses = [loss.numpy().item() for loss in losses]
    log.steps(ends, losses, waits)
    mine = checks.weights_digest(here(weight) for weight in model.parameters())
    log.event("weights_checksum", mine)
    fault = checks.find_fault(losses, everyones(mine), parameters)
    log.stop(fault)
    return 1 if fault else 0


def everyones(digest):
    """Return the hexadecimal digests of all ranks, given this one's."""
    if world_size == 1:
        return [digest]
    words = flow.tensor(list(bytes.fromhex(digest)), dtype=flow.int32)
    gathered = [flow.zeros_like(words) for _ in range(world_size)]
    flow.comm.all_gather(gathered, words)
    return [bytes(one.numpy().astype("uint8")).hex() for one in gathered]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception:  # noqa: BLE001 - whatever it is
        # At its end OneFlow waits for the other ranks, and they for this one.
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
