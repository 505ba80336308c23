"""Where runs lie, and reading one back: records, logs, and what else is found there."""

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from results.errors import InputError
from results.formats import mllog
from results.rank_log import RankLog
from results.record import REPEAT_FILE, RUN_FILE, RepeatRecord, RunRecord, read_repeat, read_run
from results.script_output import judge_output, output_of
from results.verdict import RepeatResult, judge

LATEST = "latest"
_RANK_LOG = re.compile(r"rank\d+\.log")
_OURS = re.compile(r"rank\d+\.log|launcher\d+\.log|run\.json")
# Earlier attempts at a repeat that was interrupted and run again.
ATTEMPTS = "interrupted"


@dataclass(frozen=True)
class StoredRun:
    """A run as it lies on disk. `notices` name what was found there and could not be used."""

    folder: Path
    record: RunRecord
    repeats: tuple[RepeatResult, ...]
    notices: tuple[str, ...]


def new_run_folder(store: Path, name: str) -> Path:
    """Make and return an empty folder for a run, named by the time (UTC) and `name`.

    Raises `InputError` where the store cannot be written.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    try:
        store.mkdir(parents=True, exist_ok=True)
        for suffix in ("", *(f"-{k}" for k in range(2, 100))):
            folder = store / f"{stamp}-{name}{suffix}"
            with suppress(FileExistsError):
                folder.mkdir()
                return folder
    except OSError as error:
        raise InputError(
            f"The results folder {store} cannot be written ({error.strerror}): "
            "make it writable, or name another with --results."
        ) from error
    raise InputError(f"The results folder {store} has 99 runs of this second already.")


def find_run(store: Path, name: str) -> Path:
    """Return a run's folder by its path, its id, or `latest`; `InputError` where there is none."""
    if name == LATEST:
        runs = sorted(path.parent for path in store.glob(f"*/{RUN_FILE}"))
        if not runs:
            raise InputError(f"There is no run in {store} yet: start one with `dlscale bench`.")
        return runs[-1]
    for folder in (Path(name), store / name):
        if (folder / RUN_FILE).is_file():
            return folder
    raise InputError(
        f"{name!r} is neither a run's folder nor a run in {store}: it holds no {RUN_FILE}."
    )


def repeat_folder(run: Path, record: RepeatRecord) -> Path:
    """Return the folder of a repeat, such as `pytorch/1n8g/r50_b128_fp32_torchvision_3`."""
    return run / f"{record.case.folder}_{record.repeat}"


def read_stored_run(folder: Path) -> StoredRun:
    """Read a run: judge each repeat from its raw logs, and name what does not belong."""
    record = read_run(folder)
    repeats, notices = [], []
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if path.is_dir() or ATTEMPTS in inside.parts or inside == Path(RUN_FILE):
            continue
        if path.name != REPEAT_FILE:
            if not _OURS.fullmatch(path.name) or not (path.parent / REPEAT_FILE).exists():
                notices.append(f"{inside}: not part of a run, left alone")
            continue
        try:
            repeat = read_repeat(path.parent)
        except InputError as error:
            notices.append(f"{inside}: {error}")
            continue
        if repeat_folder(folder, repeat) != path.parent or repeat.case not in record.cases:
            notices.append(f"{inside}: its case does not belong there, left alone")
            continue
        repeats.append(_judged(repeat, path.parent, notices, folder))
    order = {case: place for place, case in enumerate(record.cases)}
    repeats.sort(key=lambda one: (order[one.record.case], one.record.repeat))
    return StoredRun(folder, record, tuple(repeats), tuple(notices))


def judge_repeat(record: RepeatRecord, folder: Path) -> RepeatResult:
    """Judge a repeat that lies by itself, from its record and the logs beside it."""
    return _judged(record, folder, [], folder)


def _judged(record: RepeatRecord, folder: Path, notices: list[str], run: Path) -> RepeatResult:
    if record.case.log_format:
        return judge_output(record, output_of(folder))
    return judge(record, _rank_logs(folder, notices, run))


def _rank_logs(folder: Path, notices: list[str], run: Path) -> list[RankLog]:
    logs = []
    for path in folder.iterdir():
        if not _RANK_LOG.fullmatch(path.name):
            continue
        if not path.is_file():
            notices.append(f"{path.relative_to(run)}: not a file")
            continue
        try:
            logs.append(mllog.read(path.read_bytes()))
        except OSError as error:
            notices.append(f"{path.relative_to(run)}: cannot be read ({error.strerror})")
        except InputError as error:
            notices.append(f"{path.relative_to(run)}: {error}")
    return sorted(logs, key=lambda log: -1 if log.rank is None else log.rank)
