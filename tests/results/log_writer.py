"""Writes logs of any format from known step times, so that the true figure is known.

`write` puts a whole log together; every oddity that a log can have is a switch of it.
"""

import gzip
import io
import random
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, replace

from format_writers import WRITERS, Truth, truth

__all__ = ["WRITERS", "Oddities", "Truth", "archive", "truth", "write"]

# Of a rank's rates, some formats print each rank's own, some the job's by every rank.
EVERY_RANK_PRINTS = {"pytorch-examples", "ngc-mxnet", "mindspore-model-zoo", "oneflow-models"}
HEADERS: dict[str, Callable[[Truth], str]] = {
    "pytorch-examples": lambda t: "".join(
        f"Use GPU: {k} for training\n=> creating model 'resnet50'\n" for k in range(t.ranks)
    ),
    "ngc-pytorch": lambda t: (
        f"+ python multiproc.py --nnodes {t.nodes} --nproc_per_node {t.ranks // t.nodes} "
        f"main.py -b {t.batch}\n"
        f"DLL {t.clock(0, '%Y-%m-%d %H:%M:%S.%f')} - PARAMETER data : /data/image  "
        f"arch : resnet50  batch_size : {t.batch}  amp : False\nRUNNING EPOCHS FROM 0 TO 1\n"
    ),
    "gluon-cv": lambda t: (
        f"Namespace(batch_norm=False, batch_size={t.batch}, dtype='float32', log_interval=1, "
        f"model='resnet50_v1b', num_gpus={t.ranks})\n"
    ),
    "horovod-synthetic": lambda t: (
        f"Model: resnet50\nBatch size: {t.batch}\nNumber of GPUs: {t.ranks}\n"
        "Running warmup...\nRunning benchmark...\n"
    ),
    "tf-cnn-benchmarks": lambda t: (
        f"Model:       resnet50\nBatch size:  {t.batch * t.ranks} global\n"
        f"             {t.batch} per device\nRunning warm up\nDone warm up\n"
        "Step\tImg/sec\ttotal_loss\n"
    ),
    "oneflow-benchmark": lambda t: (
        f"model = resnet50\nbatch_size_per_device = {t.batch}\n"
        f"gpu_num_per_node = {t.ranks // t.nodes}\nnum_nodes = {t.nodes}\n"
    ),
    "tensorflow-models": lambda t: f"Global batch size: {t.batch * t.ranks}\n",
}
VALIDATION: dict[str, str] = {
    "pytorch-examples": "Test: [ 0/49]\tTime  5.975 ( 5.975)\tLoss 9.2e-01 (9.2e-01)\tAcc@1 75.1",
    "ngc-pytorch": "DLL 2020-10-22 17:00:00.000001 - Epoch: 0 Iteration: 9  val.loss : 6.52518  "
    "val.top1 : 0.1  val.total_ips : 99999.99 img/s",
    "gluon-cv": "[Epoch 0] validation: err-top1=0.939852 err-top5=0.837771",
    "oneflow-benchmark": "validation: epoch 0, iter 195, top_1: 0.7, top_k: 0.9, samples/s: 9475.0",
    "paddle-models": "[Pass 0, test  batch 10] \tloss 6.9, acc1 0.1, acc5 0.2, elapse 0.1 sec",
    "ngc-mxnet": "[1,0]<stderr>:INFO: Epoch[0] Validation-accuracy=0.1",
    "tensorflow-models": "195/195 - 12s - loss: 1.93 - accuracy: 0.64",
}
OUT_OF_MEMORY = "RuntimeError: CUDA out of memory. Tried to allocate 98.00 MiB (GPU 0; 15.78 GiB)"
NOISE = (
    "libibverbs: Warning: no userspace device-specific driver found for /sys/class/infiniband",
    (
        "W0727 tensorflow/core: Allocator ran out of memory trying to allocate 2.1GiB. The caller "
        "indicates that this is not a failure"
    ),
    "I0727 09:28:28.773988162    8411 ev_epoll_linux.c:82]        Use of signals is disabled.",
)


@dataclass(frozen=True)
class Oddities:
    """What is odd about a log; each switch alone must not change the figure.

    `order` is how the lines of several ranks lie: `prefixed` and mixed, `mixed` without a prefix,
    `blocks` one after the other.
    """

    order: str = "mixed"
    prefix: str = ""
    header: bool = True
    noise: bool = False
    validation: bool = False
    colours: bool = False
    carriage_returns: bool = False
    crlf: bool = False
    nul: bool = False
    invalid_utf8: bool = False
    utf16: bool = False
    glued: bool = False
    wrapped: int = 0
    restarts: int = 0
    ending: str = ""
    cut: int = 0
    compressed: str = ""
    seed: int = 0


PREFIXES = {
    "mpirun": "[1,{rank}]<stdout>:",
    "horovodrun": "[{rank}]<stdout>:",
    "torchrun": "[default{rank}]:",
    "torch": "[rank{rank}]: ",
    "srun": "{rank}: ",
}


def write(form: str, t: Truth, odd: Oddities | None = None) -> bytes:
    """Return a whole log of a format, with its oddities."""
    odd = odd or Oddities()
    shuffle = random.Random(odd.seed)
    runs = [replace(t, seconds=t.seconds[:, :40] * 3)] * odd.restarts + [t]
    lines: list[str] = []
    for run in runs:
        if odd.header and form in HEADERS:
            lines += HEADERS[form](run).splitlines()
        lines += _body(form, run, odd, shuffle)
    if odd.ending:
        lines.append(odd.ending)
    return _bytes(lines, odd, shuffle)


def _body(form: str, t: Truth, odd: Oddities, shuffle: random.Random) -> list[str]:
    ranks = range(t.ranks) if form in EVERY_RANK_PRINTS else range(1)
    printed = [list(WRITERS[form](t, rank)) for rank in ranks]
    if odd.order == "blocks":
        order = [(rank, k) for rank in ranks for k in range(len(printed[rank]))]
    else:
        order = []
        for k in range(len(printed[0])):
            mixed = list(ranks)
            shuffle.shuffle(mixed)
            order += [(rank, k) for rank in mixed]
    lines = []
    for place, (rank, k) in enumerate(order):
        prefix = PREFIXES[odd.prefix].format(rank=rank) if odd.prefix else ""
        text = prefix + printed[rank][k][1].replace("\n", "\n" + prefix)
        if odd.noise and place % 17 == 3:
            lines.append(shuffle.choice(NOISE))
        if odd.validation and place % 41 == 11 and form in VALIDATION:
            lines.append(VALIDATION[form])
        lines.append(text)
    return lines


def _bytes(lines: list[str], odd: Oddities, shuffle: random.Random) -> bytes:
    if odd.colours:
        lines = [f"\x1b[32m\x1b]0;title\x07{line}\x1b[0m" for line in lines]
    if odd.carriage_returns:
        lines = [f" 12%|#   | 3/130 [00:01<00:59]\r{line}" for line in lines]
    if odd.wrapped:
        lines = [
            "\n".join(line[k : k + odd.wrapped] for k in range(0, len(line), odd.wrapped)) or line
            for line in lines
        ]
    ends = ["\r\n" if odd.crlf else "\n"] * len(lines)
    if odd.glued:
        ends = [
            " " if shuffle.random() < 0.2 and k + 1 < len(ends) else e for k, e in enumerate(ends)
        ]
    text = "".join(line + end for line, end in zip(lines, ends, strict=True))
    data = text.encode("utf-16") if odd.utf16 else text.encode()
    if odd.nul:
        data = data.replace(b"\n", b"\0\n")
    if odd.invalid_utf8:
        data = b"\xff\xfe\xfa broken \xc3\n".join([b"", data]).replace(b"\n", b" \xff\n")
    if odd.cut:
        data = data[: -odd.cut]
    return gzip.compress(data) if odd.compressed == "gz" else data


def archive(logs: dict[str, bytes]) -> bytes:
    """Return a .tar.gz of logs."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, data in logs.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()
