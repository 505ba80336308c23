"""Whether a repeat counts, and what it came to."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from results.case import Case
from results.rank_log import Floats, RankLog
from results.record import RepeatRecord
from results.window import Window, measure, step_seconds

# Trainable parameters of ResNet-50 v1.5 with 1,000 classes (torchvision's resnet50).
PARAMETERS = 25_557_032


def _no_floats() -> Floats:
    return np.empty(0)


@dataclass(frozen=True)
class RepeatResult:
    """A repeat as judged from its logs: `window`, or the `reason` why there is none.

    `step_seconds` are the durations of the slowest rank's steps in the window, and
    `data_seconds` how long each of them waited for its data, both of shape (steps,).
    """

    record: RepeatRecord
    window: Window | None
    reason: str = ""
    step_seconds: Floats = field(default_factory=_no_floats)
    data_seconds: Floats = field(default_factory=_no_floats)
    framework_version: str = ""

    @property
    def throughput(self) -> float | None:
        """Images per second of the whole job, or None where the repeat does not count."""
        return self.window.throughput if self.window else None


def judge(record: RepeatRecord, logs: Sequence[RankLog]) -> RepeatResult:
    """Judge a repeat from its record and the logs of its ranks.

    It counts only if its processes ended well, every rank reported a whole window and a finite
    loss, and the ranks' weights agree after the last step.
    """
    case = record.case
    reason = record.fault or find_fault(case, logs)
    if reason:
        return RepeatResult(record, None, reason)
    window = measure(
        [log.ends for log in logs],
        warmup=case.warmup,
        steps=case.steps,
        global_batch=case.global_batch,
    )
    durations = [step_seconds(log.ends, case.warmup, case.steps) for log in logs]
    slowest = int(np.argmax([seconds.sum() for seconds in durations]))
    waits = logs[slowest].waits[case.warmup : case.warmup + case.steps]
    return RepeatResult(
        record,
        window,
        step_seconds=durations[slowest],
        data_seconds=waits,
        framework_version=logs[0].framework_version,
    )


def find_fault(case: Case, logs: Sequence[RankLog]) -> str:
    """Return the first thing that makes a repeat not count, as a phrase; empty if nothing does."""
    ranks = [log.rank for log in logs]
    missing = sorted(set(range(case.ranks)) - set(ranks))
    if missing:
        return f"no log of rank {missing[0]} ({len(missing)} of {case.ranks} ranks missing)"
    if len(ranks) != case.ranks:
        odd = [rank for rank in ranks if ranks.count(rank) > 1 or rank not in range(case.ranks)]
        return f"{len(ranks)} logs for {case.ranks} ranks: rank {odd[0]} is one too many"
    for log in logs:
        fault = _fault_of_rank(case, log)
        if fault:
            return f"rank {log.rank}: {fault}"
    odd = [log.rank for log in logs if log.weights_checksum != logs[0].weights_checksum]
    if odd:
        return f"weights of ranks {logs[0].rank} and {odd[0]} differ after the last step"
    return ""


def _fault_of_rank(case: Case, log: RankLog) -> str:
    if log.status == "aborted":
        return log.reason or "aborted"
    whole = case.warmup + case.steps
    seconds = np.diff(np.concatenate(([0.0], log.ends)))
    finite = np.isfinite(log.losses)
    if log.world_size != case.ranks:
        return f"says it is one of {log.world_size} ranks, not of {case.ranks}"
    if log.global_batch != case.global_batch:
        return f"global batch {log.global_batch}, not {case.global_batch} as asked"
    if log.parameters != PARAMETERS:
        return f"{log.parameters} parameters, not {PARAMETERS}"
    if len(log.ends) < whole:
        return f"{len(log.ends)} steps, {whole} needed ({case.warmup} warm-up + {case.steps})"
    if not (np.isfinite(seconds).all() and (seconds > 0).all()):
        return f"time stands still or runs backwards at step {int(np.argmin(seconds)) + 1}"
    if not finite.all():
        return f"loss of step {int(np.argmin(finite)) + 1} is not finite"
    if not log.weights_checksum:
        return "no checksum of the weights"
    if log.status != "success":
        return "did not say that it ended well"
    return ""
