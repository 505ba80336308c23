"""`BATCH=max`: the largest batch per device that trains, found by short runs.

DLPerf's tables have it as bsz=max, and its authors found it by hand.
"""

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
from rich.console import Console
from rich.markup import escape

from results.case import Case
from results.errors import BenchmarkError, InputError
from results.failure import printable
from results.files import write_atomically
from results.record import REPEAT_FILE, RepeatRecord, read_repeat
from results.store import judge_repeat
from runners.bench import Place, disk_error, run_one, set_aside
from runners.lock_file import held
from runners.machine import memory_is_limited

FOLDER = "largest-batch"
ANSWER = "answer.json"
# A second step is needed: the first leaves behind what the optimiser keeps.
TRIAL_WARMUP, TRIAL_STEPS = 1, 2
# Of what trains, what is left unsearched: batches nearer to the largest train no faster.
FINENESS = 32
MOST = 65_536
CRASHED = "crashed under the limit of memory"
TOO_LARGE = {"out of memory", CRASHED}
_CRASH = re.compile(r"SIGSEGV|SIGABRT|SIGBUS")


class Trial(msgspec.Struct, frozen=True):
    """A batch per device that was tried, and how that ended."""

    batch_size: int
    outcome: str
    seconds: float


class Answer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`answer.json`: the largest batch of a case on a machine, and the trials that showed it.

    `case` is as it was tried, its batch size that which was found; `machine` and `framework` are
    those of a run's record.
    """

    schema: Literal["dlscale.largest-batch/1"] = "dlscale.largest-batch/1"
    case: Case
    trials: list[Trial]
    machine: dict[str, Any]
    framework: dict[str, Any]

    @property
    def note(self) -> str:
        """The answer in a sentence for the reader of a run."""
        case, tried = self.case, len(self.trials)
        too_large = [one.batch_size for one in self.trials if one.batch_size > case.batch_size]
        beyond = f"{min(too_large)} is too large" if too_large else "larger ones were not tried"
        through = f" {case.strategy} over {case.backend}" if case.backend else ""
        return (
            f"largest batch of {case.implementation}{through}: {case.batch_size} per device trains "
            f"on {case.label}, {beyond} ({tried} short runs)"
        )


@dataclass(frozen=True)
class Search:
    """Where searches are kept and shown, and what their answers depend on beside the case."""

    home: Path
    machine: dict[str, Any]
    console: Console

    def largest(self, case: Case, framework: dict[str, Any], place: Place) -> Answer:
        """Return the largest batch that a case trains with, as found now or before.

        The case's own batch is the first to be tried. Trials that an interrupted search has made
        count. Raises `BenchmarkError` where a trial fails for another reason than memory.
        """
        case = msgspec.structs.replace(case, warmup=TRIAL_WARMUP, steps=TRIAL_STEPS)
        asked = msgspec.json.encode([case, self.machine, framework], order="deterministic")
        key = hashlib.sha256(asked).hexdigest()[:12]
        folder = self.home / f"{case.implementation}-{key}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with held(folder, f"The search for the largest batch in {folder} is going on in"):
                answer = kept_answer(folder, case)
                if answer is None:
                    trials: list[Trial] = []
                    batch = largest(self._trains(case, place, folder, trials), case.batch_size)
                    if not batch:
                        raise BenchmarkError(
                            f"{case.implementation}: not even one image per device fits into "
                            f"memory on {case.label}; the logs are in {folder}."
                        )
                    answer = Answer(
                        case=msgspec.structs.replace(case, batch_size=batch),
                        trials=trials,
                        machine=self.machine,
                        framework=framework,
                    )
                    text = msgspec.json.format(msgspec.json.encode(answer), indent=2)
                    write_atomically(folder / ANSWER, text + b"\n")
        except OSError as error:
            raise disk_error(folder, error) from error
        self.console.print(f"{answer.note}; kept in {folder}", highlight=False, soft_wrap=True)
        return answer

    def _trains(
        self, case: Case, place: Place, folder: Path, trials: list[Trial]
    ) -> Callable[[int], bool]:
        def trains(batch: int) -> bool:
            tried = msgspec.structs.replace(case, batch_size=batch)
            home = folder / f"b{batch}"
            record = _ended(home, tried) or self._run(tried, place, home)
            trials.append(Trial(batch, _outcome(record), record.seconds))
            if _outcome(record) in TOO_LARGE:
                return False
            if fault := judge_repeat(record, home).reason:
                raise BenchmarkError(
                    f"{case.implementation}: the search for the largest batch on {case.label} ends "
                    f"at {batch}, which fails for another reason than memory: "
                    f"{fault.removesuffix('.')}; its logs are in {home}."
                )
            return True

        return trains

    def _run(self, case: Case, place: Place, home: Path) -> RepeatRecord:
        what = escape(f"{case.implementation} {case.label}: batch {case.batch_size}")
        with self.console.status(what) as status:
            set_aside(home.parent, home)
            record = run_one(
                case, 1, place, home, lambda phase: status.update(f"{what}: {escape(phase)}")
            )
        ended = {"completed": "trains"}.get(record.outcome, f"{record.outcome}: {record.reason}")
        if _outcome(record) in TOO_LARGE:
            ended = f"is too large: {_outcome(record)}"
        ended = printable(ended)
        self.console.print(f"[dim]{what}[/] {escape(ended)}", highlight=False, soft_wrap=True)
        return record


def largest(trains: Callable[[int], bool], first: int) -> int:
    """Return the largest batch that trains, to about a thirty-second, by doubling and bisection.

    `trains` says it of a number of images per device, and is asked once for each; `first` is a
    power of two. Returns 0 where one image is too many.
    """
    low = first
    if trains(low):
        while low < MOST and trains(2 * low):
            low *= 2
        if low >= MOST:
            return low
        high = 2 * low
    else:
        while low > 1:
            low //= 2
            if trains(low):
                break
        else:
            return 0
        high = 2 * low
    fine = max(1, low // FINENESS)
    while high - low > fine:
        middle = low + (high - low) // fine // 2 * fine
        if trains(middle):
            low = middle
        else:
            high = middle
    return low


def to_search(cases: Iterable[Case]) -> list[Case]:
    """Return one case of each that differ in more than nodes and devices: the one that needs most.

    That has the most ranks on a machine; of those, the most nodes.
    """
    widest: dict[Case, Case] = {}
    for case in cases:
        other = widest.setdefault(case.settings, case)
        widest[case.settings] = max(other, case, key=_crowd)
    return list(widest.values())


def sized(cases: Iterable[Case], batches: dict[Case, int]) -> list[Case]:
    """Return the cases with their batches, which are given by a case's `settings`."""
    return [msgspec.structs.replace(one, batch_size=batches[one.settings]) for one in cases]


def _crowd(case: Case) -> tuple[int, int]:
    return case.devices * (case.nodes if case.emulated else 1), case.nodes


def kept_answer(folder: Path, case: Case) -> Answer | None:
    """Return the answer that an earlier search left, None for none; `InputError` if it is bad."""
    path = folder / ANSWER
    try:
        answer = msgspec.json.decode(path.read_bytes(), type=Answer)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} is no answer of this version of dlscale ({error}): remove {folder}, and the "
            "batch is searched again."
        ) from error
    if msgspec.structs.replace(answer.case, batch_size=case.batch_size) != case:
        raise InputError(
            f"{path} is the answer of another case: remove {folder}, and the batch is searched "
            "again."
        )
    return answer


def _ended(home: Path, case: Case) -> RepeatRecord | None:
    """Return the record of a trial that was made before and says something of memory."""
    if not (home / REPEAT_FILE).exists():
        return None
    record = read_repeat(home)
    good = record.case == case and _outcome(record) in {"completed", *TOO_LARGE}
    return record if good else None


def _outcome(record: RepeatRecord) -> str:
    """Return a trial's outcome; under ulimit, libraries crash where they get no memory."""
    crashed = record.outcome == "failed" and _CRASH.search(record.reason)
    return CRASHED if crashed and memory_is_limited() else record.outcome
