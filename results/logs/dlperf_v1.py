"""The rule `dlperf-v1`: what DLPerf's own extractors computed, one function for each.

Source: github.com/Oneflow-Inc/DLPerf at c89430bac64f64caabb0445ff7eb80175641454c, the file named at
each function. They read the lines in the order of the log, from its beginning, whatever comes in
between. Where one cannot go through a log it says why, as `RuleError`. Only the arithmetic is
theirs: a figure that a pattern of theirs misread (`Time 12.054` as 2.054) is read right here.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from results.logs.entry import Entry
from results.logs.facts import Facts

WARMUP, END = 20, 120


class RuleError(Exception):
    """DLPerf's extractor gives no figure for this log; the message says why."""


@dataclass(frozen=True)
class DlperfFigure:
    """What an extractor computes: `throughput` in images/s, and how, as a phrase.

    `rates` are those that a mean was taken of, empty where it is work over time. `indices` are the
    smallest and the largest of the lines that it is about, where they are not those of its name.
    """

    throughput: float
    how: str
    rates: tuple[float, ...] = ()
    indices: tuple[int, int] | None = None


def dlperf_v1(form: str, entries: Sequence[Entry], facts: Facts) -> DlperfFigure:
    """Return DLPerf's figure for a log of a format; `RuleError` where there is none."""
    rule = _RULES.get(form)
    if rule is None:
        raise RuleError(f"DLPerf v1.0 read no logs of {form}")
    figure = rule(entries, facts)
    if not 0 < figure.throughput < float("inf"):
        raise RuleError("its extractor comes to no positive figure")
    return figure


def _pytorch(entries: Sequence[Entry], facts: Facts) -> DlperfFigure:
    """Follow PyTorch/resnet50v1.5/extract_pytorch_logs_time.py, lines 62-83."""
    lines = [entry for entry in entries if (entry.step or 0) > 5]
    _need(lines, END, "lines with an index above 5")
    seconds = sum(entry.seconds or 0.0 for entry in lines[WARMUP:END])
    if seconds <= 0:
        raise RuleError("the times of its lines are all 0")
    how = "lines of all ranks together: those with an index above 5, the 21st to the 120th"
    indices = [entry.step or 0 for entry in lines[WARMUP:END]]
    rate = round(_batch(facts) / (seconds / (END - WARMUP)), 2)
    return DlperfFigure(rate, how, indices=(min(indices), max(indices)))


def _ngc_pytorch(entries: Sequence[Entry], facts: Facts) -> DlperfFigure:
    """Follow NVIDIADeepLearningExamples/PyTorch/resnet50v1.5/extract_pytorch_logs_time.py."""
    lines = [entry for entry in entries if (entry.step or 0) > 5]
    _need(lines, END, "lines with an iteration above 5")
    seconds = _between(lines[WARMUP - 1], lines[END - 1])
    how = "stamps of the 20th and the 120th line with an iteration above 5"
    return DlperfFigure(round(_batch(facts) / (seconds / (END - WARMUP)), 2), how)


def _tensorflow(entries: Sequence[Entry], facts: Facts) -> DlperfFigure:
    """Follow TensorFlow/resnet50v1.5/extract_tensorflow_logs.py (100 and 600 batches)."""
    del facts
    return _mean(_rates(entries)[1:6], "the second to the sixth TimeHistory line")


def _ngc_tensorflow(entries: Sequence[Entry], facts: Facts) -> DlperfFigure:
    """Follow NVIDIADeepLearningExamples/TensorFlow/.../extract_tensorflow_logs.py."""
    del facts
    return _mean(_rates(entries)[: END - WARMUP], "the first 100 lines")


def _gluon_cv(entries: Sequence[Entry], facts: Facts) -> DlperfFigure:
    """Follow MxNet/Classification/RN50v1b/extract_mxnet_logs.py."""
    del facts
    rates = _rates([entry for entry in entries if entry.epoch == 0])
    if len(rates) < END:
        raise RuleError(f"its extractor needs {END} lines of epoch 0, here are {len(rates)}")
    return _mean(rates[WARMUP:END], "lines 21 to 120")


def _ngc_mxnet(entries: Sequence[Entry], facts: Facts) -> DlperfFigure:
    """Follow NVIDIADeepLearningExamples/MxNet/Classification/RN50v1.5/extract_mxnet_logs.py.

    That is the one whose command its README shows; a line below it names another one, by stamps.
    """
    ranks = facts.world_size
    if not ranks:
        raise RuleError("nothing says how many ranks there were")
    rates = _rates([entry for entry in entries if entry.epoch == 0])
    if len(rates) < END * ranks:
        raise RuleError(
            f"its extractor needs {END} x {ranks} lines of epoch 0, here are {len(rates)}"
        )
    rows = [rates[k * ranks : (k + 1) * ranks] for k in range(WARMUP, END)]
    medians = [statistics.median(row) for row in rows]
    return _mean(medians, f"medians of rows of {ranks} lines, rows 21 to 120")


def _paddle(entries: Sequence[Entry], facts: Facts) -> DlperfFigure:
    """Follow PaddlePaddle/resnet50v1.5/extract_paddle_logs.py."""
    batch = _batch(facts)
    seconds = [entry.seconds for entry in entries if entry.seconds]
    rates = [round(batch / one, 4) for one in seconds[WARMUP:END]]
    return _mean(rates, "batch over time of each of the lines 21 to 120")


def _oneflow(entries: Sequence[Entry], facts: Facts) -> DlperfFigure:
    """Follow OneFlow/Classification/ConvNets/resnet50v1.5/extract_cnn_result.py."""
    last = {entry.step: entry for entry in entries}
    if WARMUP not in last or END not in last:
        raise RuleError(f"its extractor needs iterations {WARMUP} and {END}")
    seconds = _between(last[WARMUP], last[END])
    how = "stamps of iterations 20 and 120"
    return DlperfFigure(_batch(facts) * (END - WARMUP) / seconds, how)


def _mindspore(entries: Sequence[Entry], facts: Facts) -> DlperfFigure:
    """Follow MindSpore/resnet50v1.5/extract_mindspore_logs_time.py, for steps 101 to 200.

    All ranks print: their times are added, and divided by their number.
    """
    begin, end = 100, 200
    step, covered, seconds = 0, 0, 0.0
    for entry in entries:
        if entry.step is not None:
            step = entry.step * entry.epoch
        if step > end:
            break
        if step > begin:
            seconds += entry.seconds or 0.0
            covered += entry.covered or 0
    ranks = facts.world_size or 1
    if covered != (end - begin) * ranks or seconds <= 0:
        raise RuleError(
            f"it has {covered} of {(end - begin) * ranks} steps {begin + 1} to {end} of all ranks"
        )
    rate = _batch(facts) / (seconds / ((end - begin) * ranks))
    return DlperfFigure(round(rate, 2), "epoch times of all ranks, of the steps 101 to 200")


_RULES: dict[str, Callable[[Sequence[Entry], Facts], DlperfFigure]] = {
    "pytorch-examples": _pytorch,
    "ngc-pytorch": _ngc_pytorch,
    "tensorflow-models": _tensorflow,
    "ngc-tensorflow": _ngc_tensorflow,
    "gluon-cv": _gluon_cv,
    "ngc-mxnet": _ngc_mxnet,
    "paddle-models": _paddle,
    "oneflow-benchmark": _oneflow,
    "mindspore-model-zoo": _mindspore,
}


def _rates(entries: Sequence[Entry]) -> list[float]:
    return [round(entry.rate, 2) for entry in entries if entry.rate is not None]


def _mean(rates: Sequence[float], how: str) -> DlperfFigure:
    if not rates:
        raise RuleError(f"there is no line for it ({how})")
    return DlperfFigure(
        round(statistics.fmean(rates), 2), f"arithmetic mean of rates: {how}", tuple(rates)
    )


def _need(lines: Sequence[Entry], least: int, what: str) -> None:
    if len(lines) < least:
        raise RuleError(f"its extractor needs {least} {what}, here are {len(lines)}: it gives 0")


def _between(first: Entry, last: Entry) -> float:
    if first.stamp is None or last.stamp is None or last.stamp <= first.stamp:
        raise RuleError(f"lines {first.line} and {last.line} have no stamps that rise")
    return last.stamp - first.stamp


def _batch(facts: Facts) -> int:
    if not facts.job_batch:
        raise RuleError("nothing says the batch size and the number of devices")
    return facts.job_batch
