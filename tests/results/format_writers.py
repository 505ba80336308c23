"""Lines of every format from known step times, after the scripts that print them."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np


@dataclass(frozen=True)
class Truth:
    """A training: `seconds` of each rank's steps, shape (ranks, steps); `batch` images per device.

    An entry is printed every `interval` steps; an epoch has `epoch` steps; `pause` seconds lie
    between two epochs, for validation and the like. `loss` is what is printed for it. The ranks
    are shared out among `nodes`.
    """

    seconds: np.ndarray
    batch: int = 128
    interval: int = 1
    epoch: int = 10**6
    pause: float = 0.0
    nodes: int = 1
    loss: str = "6.9315"
    start: datetime = datetime(2020, 10, 22, 16, 28, 53, 498443)  # noqa: DTZ001
    nan_from: int = 10**9  # the first step, from 0, whose loss is nan

    @property
    def ranks(self) -> int:
        return len(self.seconds)

    @property
    def steps(self) -> int:
        return self.seconds.shape[1]

    def throughput(self, first: int, last: int) -> float:
        """Images per second of the job over the steps after `first` up to `last`."""
        slowest = self.seconds[:, first:last].sum(axis=1).max()
        return self.ranks * self.batch * (last - first) / slowest

    def ends(self, rank: int) -> np.ndarray:
        """End of each step of a rank, in seconds."""
        pauses = (np.arange(self.steps) // self.epoch) * self.pause
        return np.cumsum(self.seconds[rank]) + pauses

    def entries(self, rank: int, first: int = 0) -> Iterator["Printed"]:
        """Yield what is printed of a rank: at each `interval`-th step of an epoch.

        With `first` 0 the first step of an epoch is printed too, and counts from 0.
        """
        ends, seconds = self.ends(rank), self.seconds[rank]
        for step in range(self.steps):
            epoch, place = divmod(step, self.epoch)
            if (place + first) % self.interval:
                continue
            begin = epoch * self.epoch
            covered = seconds[step - min(place, self.interval - 1) : step + 1]
            yield Printed(
                step=step,
                epoch=epoch,
                place=place,
                end=float(ends[step]),
                one=float(seconds[step]),
                mean=float(seconds[begin : step + 1].mean()),
                covered=len(covered),
                spent=float(covered.sum()),
                so_far=float(seconds[: step + 1].sum()),
                loss="nan" if step >= self.nan_from else self.loss,
            )

    def clock(self, end: float, form: str) -> str:
        return (self.start + timedelta(seconds=end)).strftime(form)


@dataclass(frozen=True)
class Printed:
    """A step that is printed: `place` in its epoch, from 0; `covered` steps in `spent` seconds."""

    step: int
    epoch: int
    place: int
    end: float
    one: float
    mean: float
    covered: int
    spent: float
    so_far: float
    loss: str


Line = tuple[float, str]


def truth(
    steps: int = 130, ranks: int = 1, *, seed: int = 0, jitter: float = 0.05, **more: object
) -> Truth:
    """Return a training whose first step takes long and whose others vary."""
    random_ = np.random.default_rng(seed)
    common = 0.3 * (1 + jitter * random_.random(steps))
    common[0] = 20.0
    common[1:20] *= 2
    own = 0.002 * random_.random((ranks, steps))
    return Truth(common + own, **more)


def pytorch_examples(t: Truth, rank: int) -> Iterator[Line]:
    for p in t.entries(rank):
        loss = "nan" if p.loss == "nan" else f"{float(p.loss):.4e}"
        yield (
            p.end,
            f"Epoch: [{p.epoch}][{p.place:4d}/5005]\tTime {p.one:6.3f} ({p.mean:6.3f})"
            f"\tData {0.011:6.3f} ({0.013:6.3f})\tLoss {loss} ({loss})"
            f"\tAcc@1 {0.39:6.2f} ({0.12:6.2f})\tAcc@5 {1.17:6.2f} ({0.55:6.2f})",
        )


def ngc_pytorch(t: Truth, rank: int) -> Iterator[Line]:
    del rank
    for p in t.entries(0, first=1):
        steps = t.seconds[0, p.step + 1 - p.covered : p.step + 1]
        rate = t.batch * t.ranks * float((1 / steps).mean())
        yield (
            p.end,
            f"DLL {t.clock(p.end, '%Y-%m-%d %H:%M:%S.%f')} - Epoch: {p.epoch} Iteration: "
            f"{p.place + 1}  train.loss : {float(p.loss):.5f}  train.compute_ips : {2 * rate:.2f} "
            f"img/s train.total_ips : {rate:.2f} img/s train.lr : 0.1 ",
        )


def ngc_tensorflow(t: Truth, rank: int) -> Iterator[Line]:
    del rank
    for p in t.entries(0):
        rate = t.batch * t.ranks * p.covered / p.spent
        yield (
            p.end,
            f"DLL {t.clock(p.end, '%Y-%m-%d %H:%M:%S.%f')} - ({p.epoch}, {p.step}) imgs_per_sec : "
            f"{rate}  cross_entropy : {p.loss}  l2_loss : 0.66  total_loss : 7.59  "
            "learning_rate : 0.10318",
        )


def ngc_pytorch_json(t: Truth, rank: int) -> Iterator[Line]:
    del rank
    for p in t.entries(0):
        rate = t.batch * t.ranks * p.covered / p.spent
        data = {"train.loss": float(p.loss), "train.compute_ips": 2 * rate, "train.total_ips": rate}
        yield p.end, _dlll(t, p, data)


def ngc_tensorflow_json(t: Truth, rank: int) -> Iterator[Line]:
    del rank
    for p in t.entries(0):
        rate = t.batch * t.ranks * p.covered / p.spent
        data = {"imgs_per_sec": rate, "cross_entropy": float(p.loss), "learning_rate": 0.103}
        yield p.end, _dlll(t, p, data)


def ngc_mxnet_dllogger(t: Truth, rank: int) -> Iterator[Line]:
    del rank
    for p in t.entries(0, first=1):
        rate = t.batch * t.ranks * p.covered / p.spent
        yield (
            p.end,
            f"DLL {t.clock(p.end, '%Y-%m-%d %H:%M:%S.%f')} - Epoch: {p.epoch} Iteration: {p.place} "
            f" train.loss : {float(p.loss)}  train.ips : {rate} images/s train.lr : 0.1 ",
        )


def ngc_mxnet_json(t: Truth, rank: int) -> Iterator[Line]:
    del rank
    for p in t.entries(0, first=1):
        rate = t.batch * t.ranks * p.covered / p.spent
        yield p.end, _dlll(t, p, {"train.loss": float(p.loss), "train.ips": rate, "train.lr": 0.1})


def _dlll(t: Truth, p: "Printed", data: dict[str, float]) -> str:
    line = {
        "timestamp": str(t.start.timestamp() + p.end),
        "datetime": t.clock(p.end, "%Y-%m-%d %H:%M:%S.%f"),
        "elapsedtime": str(p.end),
        "type": "LOG",
        "step": [p.epoch, p.place],
        "data": data,
    }
    return f"DLLL {json.dumps(line)}"


def ngc_mxnet(t: Truth, rank: int) -> Iterator[Line]:
    for p in t.entries(rank, first=1):
        rate = t.batch * t.ranks * p.covered / p.spent
        yield (
            p.end,
            f"{t.clock(p.end, '%Y-%m-%d %H:%M:%S,%f')[:-3]}:INFO: Epoch[{p.epoch}] "
            f"Batch [{p.place + 1 - p.covered}-{p.place}]\tSpeed: {rate} samples/sec\tLR: 8.1e-05\t",
        )


def gluon_cv(t: Truth, rank: int) -> Iterator[Line]:
    del rank
    for p in t.entries(0, first=1):
        rate = t.batch * t.ranks * p.covered / p.spent
        yield (
            p.end,
            f"Epoch[{p.epoch}] Batch [{p.place}]\tSpeed: {rate:f} samples/sec"
            "\taccuracy=0.003496\tlr=0.003133",
        )


def tensorflow_models(t: Truth, rank: int) -> Iterator[Line]:
    del rank
    for p in t.entries(0, first=1):
        rate = t.batch * t.ranks * p.covered / p.spent
        yield (
            p.end,
            f"I{t.clock(p.end, '%m%d %H:%M:%S.%f')} 139785487877952 keras_utils.py:145] TimeHistory: "
            f"{p.spent:.2f} seconds, {rate:.2f} examples/second between steps "
            f"{p.step + 1 - p.covered} and {p.step + 1}",
        )


def tf_cnn_benchmarks(t: Truth, rank: int) -> Iterator[Line]:
    del rank
    for p in t.entries(0, first=1):
        rate = t.batch * t.ranks * (p.step + 1) / p.so_far
        yield (
            p.end,
            f"{p.step + 1}\timages/sec: {rate:.1f} +/- 0.3 (jitter = 0.9)\t{float(p.loss):.3f}",
        )


def horovod_synthetic(t: Truth, rank: int) -> Iterator[Line]:
    del rank
    for p in t.entries(0, first=1):
        yield p.end, f"Iter #{p.step}: {t.batch / p.one:.1f} img/sec per GPU"


def paddle_models(t: Truth, rank: int) -> Iterator[Line]:
    for p in t.entries(rank):
        yield (
            p.end,
            f"[Pass {p.epoch}, train batch {p.place}] \tloss {float(p.loss):.5f}, acc1 0.00391, "
            f"acc5 0.00391, lr 0.00100, elapse {p.one:.4f} sec",
        )


def oneflow_benchmark(t: Truth, rank: int) -> Iterator[Line]:
    del rank
    start = t.start.timestamp()
    for p in t.entries(0, first=1):
        rate = t.batch * t.ranks * p.covered / p.spent
        yield (
            p.end,
            f"train: epoch {p.epoch}, iter {p.place + 1}, loss: {float(p.loss):.6f}, top_1: 0.000000, "
            f"top_k: 0.000000, samples/s: {rate:.3f} {start + p.end:.7f}",
        )


def mindspore_model_zoo(t: Truth, rank: int) -> Iterator[Line]:
    for p in t.entries(rank, first=1):
        yield (
            p.end,
            f"epoch: {(p.step + 1) // t.interval} step: {t.interval}, loss is {p.loss}\n"
            f"epoch time: {p.spent * 1000:.3f} ms, per step time: {p.spent * 1000 / p.covered:.3f} ms",
        )


def torchvision_references(t: Truth, rank: int) -> Iterator[Line]:
    del rank
    for p in t.entries(0):
        window = t.seconds[0, max(0, p.step - 19) : p.step + 1].mean()
        yield (
            p.end,
            f"Epoch: [{p.epoch}]  [{p.place:4d}/5005]  eta: 1:06:01  lr: 0.1  "
            f"img/s: {t.batch / p.one}  loss: {float(p.loss):.4f} (6.9315)  acc1: 0.0000 (0.1000)  "
            f"acc5: 0.0000 (0.5000)  time: {window:.4f}  data: 0.0012  max mem: 6789",
        )


def mxnet_speedometer(t: Truth, rank: int) -> Iterator[Line]:
    del rank
    for p in t.entries(0, first=0):
        if p.place == 0:
            continue  # it prints from the second batch on
        rate = t.batch * t.ranks * p.covered / p.spent
        yield (
            p.end,
            f"{t.clock(p.end, '%Y-%m-%d %H:%M:%S,%f')[:-3]} Node[0] Epoch[{p.epoch}] "
            f"Batch [{p.place - p.covered}-{p.place}]\tSpeed: {rate:.2f} samples/sec\taccuracy=0.0125",
        )


def mxnet_gluon_example(t: Truth, rank: int) -> Iterator[Line]:
    del rank
    for p in t.entries(0, first=1):
        yield (
            p.end,
            f"INFO:root:Epoch[{p.epoch}] Batch [{p.place}]\tSpeed: "
            f"{t.batch * t.ranks / p.one:f} samples/sec\taccuracy=0.011250, top_k_accuracy_5=0.05",
        )


def tensorflow_controller(t: Truth, rank: int) -> Iterator[Line]:
    del rank
    for p in t.entries(0, first=1):
        text = (
            f"train | step: {p.step + 1: 6d} | steps/sec: {p.covered / p.spent: 6.1f} | output: \n"
            f"    {{'train_accuracy': 0.64, 'train_loss': {p.loss}}}"
        )
        yield p.end, f"I{t.clock(p.end, '%m%d %H:%M:%S.%f')} 1397 controller.py:458] {text}\n{text}"


def paddle_clas(t: Truth, rank: int, *, running: bool = False) -> Iterator[Line]:
    del rank
    for p in t.entries(0):
        begin = p.epoch * t.epoch
        first = begin + 5 if running and p.place >= 5 else begin  # the mean begins anew at the 6th
        last_print = p.step - t.interval + 1 if p.place else p.step
        since = max(first if running else begin, first if running else last_print)
        cost = t.seconds[0, since : p.step + 1].mean()
        yield (
            p.end,
            f"[{t.clock(p.end, '%Y/%m/%d %H:%M:%S')}] ppcls INFO: [Train][Epoch {p.epoch + 1}/120]"
            f"[Iter: {p.place}/5005]lr(LinearWarmup): 0.00100000, top1: 0.00159, CELoss: 6.9, "
            f"loss: {float(p.loss):.5f}, batch_cost: {cost:.5f}s, reader_cost: 0.01837, "
            f"ips: {t.batch / cost:.5f} samples/s, eta: 5:08:34",
        )


def paddle_clas_2_0(t: Truth, rank: int) -> Iterator[Line]:
    del rank
    for p in t.entries(0):
        begin = p.epoch * t.epoch
        first = begin + 10 if p.place >= 10 else begin
        cost = t.seconds[0, first : p.step + 1].mean()
        yield (
            p.end,
            f"{t.clock(p.end, '%Y-%m-%d %H:%M:%S')} INFO: epoch:{p.epoch:<3d}, train step:"
            f"{p.place:<4d}, top1: 0.00000, top5: 0.00000, loss: {float(p.loss):.5f}, lr: 0.100000, "
            f"batch_cost: {cost:.5f} s, reader_cost: 0.00056 s, ips: {t.batch / cost:.5f} images/sec.",
        )


def paddle_clas_1(t: Truth, rank: int) -> Iterator[Line]:
    del rank
    for p in t.entries(0):
        yield (
            p.end,
            f"{t.clock(p.end, '%Y-%m-%d %H:%M:%S')} INFO: epoch:{p.epoch:<3d} train step:"
            f"{p.place:<4d} loss:  {float(p.loss):.4f} top1: 0.0 lr: 0.00375 elapse: {p.one:.5f}s",
        )


def oneflow_models(t: Truth, rank: int) -> Iterator[Line]:
    for p in t.entries(rank, first=1):
        clock = t.clock(p.end, "%Y-%m-%d %H:%M:%S.%f")[:-3]
        yield (
            p.end,
            f"[rank:{rank}] [train], epoch: {p.epoch}/50, iter: {p.place + 1}/3336, "
            f"loss: {float(p.loss):.5f}, lr: 0.004604, top1: 0.00208, "
            f"throughput: {t.batch * p.covered / p.spent:.2f} | {clock}",
        )


def mindspore_models(t: Truth, rank: int) -> Iterator[Line]:
    del rank
    for p in t.entries(0, first=1):
        yield (
            p.end,
            f"{t.clock(p.end, '%Y-%m-%d %H:%M:%S,%f')[:-3]}:INFO:epoch: "
            f"[{(p.step + 1) // t.interval}/90] loss: {float(p.loss):.6f}, epoch time: {p.spent:.3f} s, "
            f"per step time: {p.spent * 1000 / p.covered:.3f} ms",
        )


def mindspore_models_steps(t: Truth, rank: int) -> Iterator[Line]:
    del rank
    for p in t.entries(0, first=1):
        yield (
            p.end,
            f"{t.clock(p.end, '%Y-%m-%d %H:%M:%S,%f')[:-3]}:INFO:epoch: [{p.epoch + 1}/10] step: "
            f"[{p.place + 1}/5005], lr: 0.001000, loss: {float(p.loss):.6f}, "
            f"per step time: {p.spent * 1000 / p.covered:.3f} ms",
        )


def mindcv(t: Truth, rank: int) -> Iterator[Line]:
    del rank
    for p in t.entries(0, first=1):
        yield (
            p.end,
            f"[{t.clock(p.end, '%Y-%m-%d %H:%M:%S')}] mindcv.utils.callbacks INFO - Epoch: "
            f"[{p.epoch + 1}/90], batch: [{p.place + 1}/5005], loss: {float(p.loss):.6f}, "
            f"lr: 0.001000, time: {p.spent:.6f}s",
        )


def timm(t: Truth, rank: int) -> Iterator[Line]:
    del rank
    for p in t.entries(0):
        rates = [t.batch * t.ranks / seconds for seconds in (p.one, p.mean)]
        yield (
            p.end,
            f"Train: {p.epoch} [{p.place:>4d}/5005 ({(p.place + 1) / 50.05:>3.0f}%)]  "
            f"Loss: {float(p.loss):#.3g} ({float(p.loss):#.3g})  "
            f"Time: {p.one:.3f}s, {rates[0]:>7.2f}/s  ({p.mean:.3f}s, {rates[1]:>7.2f}/s)  "
            f"LR: 1.000e-05  Data: {0.011:.3f} ({0.043:.3f})",
        )


WRITERS: dict[str, Callable[[Truth, int], Iterator[Line]]] = {
    "pytorch-examples": pytorch_examples,
    "ngc-pytorch": ngc_pytorch,
    "ngc-tensorflow": ngc_tensorflow,
    "ngc-pytorch-json": ngc_pytorch_json,
    "ngc-tensorflow-json": ngc_tensorflow_json,
    "ngc-mxnet": ngc_mxnet,
    "ngc-mxnet-dllogger": ngc_mxnet_dllogger,
    "ngc-mxnet-json": ngc_mxnet_json,
    "gluon-cv": gluon_cv,
    "tensorflow-models": tensorflow_models,
    "tf-cnn-benchmarks": tf_cnn_benchmarks,
    "horovod-synthetic": horovod_synthetic,
    "paddle-models": paddle_models,
    "oneflow-benchmark": oneflow_benchmark,
    "mindspore-model-zoo": mindspore_model_zoo,
    "torchvision-references": torchvision_references,
    "mxnet-speedometer": mxnet_speedometer,
    "mxnet-gluon-example": mxnet_gluon_example,
    "tensorflow-controller": tensorflow_controller,
    "paddle-clas": paddle_clas,
    "paddle-clas-2.0": paddle_clas_2_0,
    "paddle-clas-1": paddle_clas_1,
    "oneflow-models": oneflow_models,
    "mindspore-models": mindspore_models,
    "mindspore-models-steps": mindspore_models_steps,
    "mindcv": mindcv,
    "timm": timm,
}
