"""What a log and its path say about the case: batch, devices, precision, versions."""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

import msgspec

from results.logs.format import Format

_WORDS = {
    "fp32": "fp32", "float32": "fp32", "float": "fp32", "tf32": "tf32",
    "fp16": "amp", "float16": "amp", "half": "amp", "amp": "amp", "bf16": "amp",
    "bfloat16": "amp", "mixed_float16": "amp", "mixed_bfloat16": "amp",
    "true": "amp", "false": "fp32", "none": "fp32", "o0": "fp32", "o1": "amp", "o2": "amp",
    "o3": "amp",
}  # fmt: skip
WHOLE = ("batch_size", "node_batch", "global_batch", "devices", "nodes", "ranks")

# `4n8g`, `10n8g`: a folder of DLPerf's layout, or a part of a name.
_LABEL = re.compile(r"(?<![0-9a-z])(\d{1,5})n(\d{1,4})g(?![0-9a-z])", re.IGNORECASE)
_BATCH = re.compile(
    r"(?<![0-9a-z])(?:b|bs|bz|batch|batch_size)[-_]?(\d{1,6})(?![0-9a-z])", re.IGNORECASE
)
_PRECISION = re.compile(
    r"(?<![0-9a-z])(fp32|tf32|fp16|amp|bf16|float32|float16)(?![0-9])", re.IGNORECASE
)
_DEVICES = re.compile(
    r"(?<![0-9a-z])(\d{1,4})[-_]?(?:gpu|hpu|npu|device|pc)s?(?![0-9a-z])", re.IGNORECASE
)
# DLPerf: `r50_b128_fp32_3.log`; ours: `r50_b128_fp32_torchvision_3`.
_REPEAT = re.compile(r"^(?:.*[a-z][^/]*)_(\d{1,6})$", re.IGNORECASE)
# So many parts of a path, the file's name among them, can be about the log.
NEAR = 4
# One file per rank: Paddle's `workerlog.0`, msrun's `worker_0.log`, `x_rank0.log`; torchrun's
# `attempt_0/3/stdout.log`.
_RANK = re.compile(
    r"(?:^|[._-])(?:workerlog|worker|trainer|rank|node)[._-]?\d{1,6}(?![^.])", re.IGNORECASE
)
_RANK_FOLDER = re.compile(r"/\d{1,6}/std(?:out|err)(?:\.log)?$")
_NUMBERS = re.compile(r"\d+")
_SUFFIXES = (".gz", ".xz", ".bz2", ".log", ".txt", ".out", ".err")


class Facts(msgspec.Struct, kw_only=True):
    """What is known of a case. `batch_size` is in images per device, `devices` per node.

    `node_batch` and `global_batch` are in images per step of a node and of the whole job; `ranks`
    are the processes that train.
    """

    batch_size: int | None = None
    node_batch: int | None = None
    global_batch: int | None = None
    devices: int | None = None
    nodes: int | None = None
    ranks: int | None = None
    precision: str | None = None
    model: str | None = None
    version: str | None = None
    repeat: int | None = None

    @property
    def world_size(self) -> int | None:
        """Devices of the whole job."""
        if self.ranks:
            return self.ranks
        return self.devices * (self.nodes or 1) if self.devices else None

    @property
    def job_batch(self) -> int | None:
        """Images per step of the whole job."""
        if self.global_batch:
            return self.global_batch
        if self.node_batch:
            return self.node_batch * (self.nodes or 1)
        return self.batch_size * self.world_size if self.batch_size and self.world_size else None

    @property
    def label(self) -> str | None:
        """Nodes and devices per node, such as `4n8g`."""
        return f"{self.nodes or 1}n{self.devices}g" if self.devices else None


def find_facts(block: bytes, form: Format) -> dict[str, Any]:
    """Return what a cleaned part of a log says of its case; of several values the last."""
    found: dict[str, Any] = {}
    for name, pattern in form.facts.items():
        values = [value for match in pattern.finditer(block) for value in match.groups() if value]
        if values:
            value = _value(name, values[-1].decode("utf-8", "replace").strip())
            if value is not None:
                found[name] = value
    return found


def facts_of_path(path: PurePath) -> Facts:
    """Return what a log's path says: its name, or else the folders nearest to it."""
    name = _stem(path)
    parts = [name, *reversed(path.parent.parts)][:NEAR]
    label = next((found for part in parts if (found := _LABEL.search(part))), None)
    devices = next((int(found[1]) for part in parts if (found := _DEVICES.search(part))), None)
    batch = next((int(found[1]) for part in parts if (found := _BATCH.search(part))), None)
    precision = next((found[1] for part in parts if (found := _PRECISION.search(part))), None)
    repeat = _REPEAT.match(name)
    return Facts(
        nodes=int(label[1]) or None if label else None,
        devices=(int(label[2]) if label else devices) or None,
        batch_size=batch or None,
        precision=_WORDS[precision.lower()] if precision else None,
        repeat=int(repeat[1]) if repeat else None,
    )


def _stem(path: PurePath) -> str:
    """Return a log's name without its suffixes, and without its rank."""
    name = path.name
    while name.lower().endswith(_SUFFIXES):
        name = name[: name.rindex(".")]
    rank = _RANK.search(name)
    return name[: rank.start()] if rank else name


def job_of(path: PurePath) -> str:
    """Return what the files of one job's ranks have in common: folder, and name without rank."""
    if _RANK_FOLDER.search(path.as_posix()):
        return str(path.parent.parent)
    stem = _stem(path)
    plain = path.name.startswith(stem) and _RANK.search(path.name[len(stem) :]) is None
    return str(path) if plain else str(path.parent / stem)


def without_numbers(path: PurePath) -> str:
    """Return a log's name without its repeat's number, and `#` for every other number.

    Logs whose names differ in more than that are not taken for repeats of one case.
    """
    name = _stem(path)
    if repeat := _REPEAT.match(name):
        name = name[: repeat.start(1) - 1]
    return _NUMBERS.sub("#", name)


def is_label(folder: str) -> bool:
    """Tell whether a folder is named after nodes and devices alone, such as `4n8g`."""
    return _LABEL.fullmatch(folder) is not None


def merge(said: Mapping[str, Any], path: Facts, given: Facts) -> tuple[Facts, list[str]]:
    """Return what holds, and where the sources disagree.

    What the user gives wins over what the log says, and that over what its path says.
    """
    log = Facts(**said)
    if log.devices and log.nodes is None and log.ranks is None and path.devices == log.devices:
        log.nodes = path.nodes  # a launcher's arguments name the devices of its node alone
    found = _first_of(log, path)
    if log.ranks:
        _devices_of_ranks(found, log.ranks)
    if log.batch_size is None and (log.node_batch or log.global_batch):
        log.batch_size = _share(found)
    disagreements = list(_against_path(log, path)) + list(_replaced(given, found))
    return _with_given(found, given), disagreements


def _first_of(log: Facts, path: Facts) -> Facts:
    """Return what the log says, and its path where the log is mute."""
    found = _either(log, path)
    if log.batch_size is None and (log.node_batch or log.global_batch):
        found.batch_size = _share(found) or found.batch_size
    return found


def _either(first: Facts, second: Facts) -> Facts:
    """Return what the first says, and where it is mute the second."""
    names = Facts.__struct_fields__
    return Facts(**{name: getattr(first, name) or getattr(second, name) for name in names})


def _share(facts: Facts) -> int | None:
    """Return a device's share of the job's batch."""
    job, devices = facts.job_batch, facts.world_size
    return job // devices if job and devices else None


def _with_given(found: Facts, given: Facts) -> Facts:
    """Return facts with those replaced that the user gives, and what follows from them."""
    facts = _either(given, found)
    if given.devices or given.nodes:
        facts.ranks = None
    if given.batch_size:
        facts.node_batch = facts.global_batch = None
    elif facts.batch_size is None or facts.world_size != found.world_size:
        facts.batch_size = _share(facts) or facts.batch_size
    return facts


def _against_path(log: Facts, path: Facts) -> Iterator[str]:
    for name in ("batch_size", "precision"):
        one, other = getattr(log, name), getattr(path, name)
        if one and other and one != other:
            yield _disagreement(name.replace("_", " "), one, other)
    if log.world_size and path.world_size and log.world_size != path.world_size:
        yield _disagreement("devices", log.world_size, path.world_size)
    elif log.nodes and log.label and path.label and log.label != path.label:
        yield _disagreement("nodes and devices", log.label, path.label)


def _replaced(given: Facts, found: Facts) -> Iterator[str]:
    """Yield what the user gives otherwise than the log, or its path, has it."""
    for name, option in (("batch_size", "batch"), ("nodes", "nodes"), ("devices", "devices")):
        one, other = getattr(given, name), getattr(found, name)
        if one and other and one != other:
            yield f"--{option} {one} replaces {other}, which the log or its path says"


def _devices_of_ranks(facts: Facts, ranks: int) -> None:
    """Let nodes and devices fit the number of ranks that the log states."""
    if (facts.nodes or 1) * (facts.devices or 0) != ranks:
        nodes = facts.nodes if facts.nodes and ranks % facts.nodes == 0 else 1
        facts.nodes, facts.devices = nodes, ranks // nodes


def _disagreement(what: str, log: object, path: object) -> str:
    return f"{what}: the log says {log}, its path {path}; the log's is taken"


def _value(name: str, text: str) -> object:
    if name in WHOLE:
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
    if name == "precision":
        return _WORDS.get(text.strip("'\"").lower())
    return text[:100] or None
