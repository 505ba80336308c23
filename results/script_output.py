"""Judging a repeat of a script that is not ours: from what it prints, by the rule for all logs."""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from results.case import Case
from results.formats import formats
from results.logs.entry import Entry
from results.logs.facts import Facts
from results.logs.format import Format
from results.logs.track import Interval
from results.logs.verdict import LogResult
from results.parse_logs import Wanted, judged
from results.rank_log import Floats
from results.record import RepeatRecord
from results.verdict import RepeatResult
from results.window import Window

_OUTPUT = re.compile(r"launcher(\d+)\.log")


def output_of(folder: Path) -> dict[int, Path]:
    """Return the files that hold what each node printed."""
    found = ((path, _OUTPUT.fullmatch(path.name)) for path in folder.iterdir() if path.is_file())
    return {int(match[1]): path for path, match in sorted(found) if match}


def judge_output(record: RepeatRecord, logs: Mapping[int, Path]) -> RepeatResult:
    """Judge a repeat from what its nodes printed, by node.

    It counts only if its processes ended well, or were ended by us with the window behind them, and
    each log has a whole window and nothing that speaks against it. Parameters and the agreement of
    weights cannot be looked at: such scripts do not say.
    """
    case = record.case
    missing = sorted({command.node for command in record.commands} - set(logs))
    if reason := record.fault or (f"no log of node {missing[0]}" if missing else ""):
        return RepeatResult(record, None, reason)
    try:
        for path in logs.values():
            if reason := _not_on_gpus(case, path):
                return RepeatResult(record, None, f"{path.stem}: {reason}")
        nodes = [judge_node(case, path) for path in _printed(case, logs)]
    except OSError as error:
        return RepeatResult(record, None, f"a log cannot be read: {error.strerror}")
    for node, result in enumerate(nodes):
        if result.status != "ok" or result.throughput is None or result.window is None:
            why = result.reasons[0] if result.reasons else f"no figure ({result.status})"
            return RepeatResult(record, None, f"launcher{node}: {why}")
    slowest = min(nodes, key=lambda result: result.throughput or 0.0)
    throughput = slowest.throughput or 0.0
    return RepeatResult(
        record,
        Window(case.global_batch * case.steps / throughput, throughput),
        step_seconds=_step_seconds(slowest, case),
        data_seconds=_data_seconds(slowest),
    )


def judge_node(case: Case, path: Path) -> LogResult:
    """Return what a node's log comes to; it may still be growing."""
    given = Facts(
        batch_size=case.batch_size, nodes=case.nodes, devices=case.devices, model="resnet50"
    )
    return judged(path, Wanted(case.warmup, case.steps, given, case.log_format))


def is_settled(case: Case, logs: Mapping[int, Path]) -> bool:
    """Whether what is printed so far settles the matter.

    Every rank whose output is here has printed its window and a step behind it, or a loss is lost.
    """
    if not logs:
        return False
    whole = case.warmup + case.steps
    for path in _printed(case, logs):
        try:
            result = judge_node(case, path)
        except OSError:
            return False
        if any(_is_lost(interval.entry) for track in result.tracks for interval in track.intervals):
            return True
        done = [track.done[-1] for track in result.tracks if track.done]
        if result.status != "ok" or not done or min(done) <= whole:
            return False
    return True


def _printed(case: Case, logs: Mapping[int, Path]) -> list[Path]:
    """Return the logs that a script prints its steps into, in the order of the nodes."""
    first_alone = any(form.first_alone for form in _formats(case))
    return [path for node, path in sorted(logs.items()) if node == 0 or not first_alone]


def _not_on_gpus(case: Case, path: Path) -> str:
    """Return what says that it was not trained on the GPUs that were asked for."""
    if case.device != "cuda":
        return ""
    text = path.read_bytes()
    for form in _formats(case):
        if form.no_gpu and (match := form.no_gpu.search(text)):
            return f"it trained on the CPU: {match[0].decode('utf-8', 'replace')!r}"
    return ""


def _formats(case: Case) -> list[Format]:
    return [form for form in formats() if form.name == case.log_format]


def _is_lost(entry: Entry) -> bool:
    return entry.loss is not None and not math.isfinite(entry.loss)


def _intervals(result: LogResult) -> tuple[Interval, ...]:
    return result.window.intervals if result.window else ()


def _step_seconds(result: LogResult, case: Case) -> Floats:
    """Return the seconds of each step that was printed by itself."""
    by_rate = bool(result.tracks) and result.tracks[0].source == "rate"
    return np.array(
        [
            interval.cost * (case.batch_size if by_rate else 1)
            for interval in _intervals(result)
            if interval.cost is not None and interval.steps == 1
        ]
    )


def _data_seconds(result: LogResult) -> Floats:
    singles: Sequence[float | None] = [
        interval.entry.wait for interval in _intervals(result) if interval.steps == 1
    ]
    return np.array([np.nan if wait is None else wait for wait in singles])
