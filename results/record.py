"""What a run and each of its repeats leave beside their logs, as JSON.

Read back strictly: a record of another version, or a file that is no record, is named and refused.
"""

import shlex
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from results.case import Case
from results.errors import InputError
from results.files import write_atomically

Outcome = Literal["completed", "failed", "out of memory", "hung", "interrupted"]
RUN_FILE = "record.json"
REPEAT_FILE = "run.json"
T = TypeVar("T", bound=msgspec.Struct)


class NodeCommand(msgspec.Struct, frozen=True, kw_only=True):
    """What is executed on one node: the arguments, and the variables set beside the user's own.

    `address` is that of the network namespace an emulated node was given, empty for none.
    """

    node: int
    host: str
    arguments: list[str]
    environment: dict[str, str]
    address: str = ""


class RepeatRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`run.json`: one execution of a case, and how its processes ended.

    `started` and `ended` are UTC in ISO 8601; `seconds` is the time between them; `exit_codes`
    has one entry per node, negative for a signal, null where the launcher was ended by us.
    """

    schema: Literal["dlscale.repeat/1"] = "dlscale.repeat/1"
    case: Case
    repeat: Annotated[int, msgspec.Meta(ge=1)]
    commands: list[NodeCommand]
    started: str
    ended: str
    seconds: float
    exit_codes: list[int | None]
    outcome: Outcome
    reason: str = ""
    tail: list[str] = []

    @property
    def fault(self) -> str:
        """Why its processes did not do what was asked; empty where they did."""
        return "" if self.outcome == "completed" else self.reason or self.outcome


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`record.json`: what was asked for, the cases it came to, and where they ran.

    `request` is the command's options; `environment` describes machine, versions and commits, as
    `runners.machine` and `runners.environment` found them; `notes` say what a reader must know
    before comparing (emulated nodes, a CPU-sized problem). `left_out` says of implementations that
    were asked for why they have no cases.
    """

    schema: Literal["dlscale.run/1"] = "dlscale.run/1"
    id: str
    created: str
    request: dict[str, Any]
    repeats: Annotated[int, msgspec.Meta(ge=1)]
    cases: Annotated[list[Case], msgspec.Meta(min_length=1)]
    notes: list[str]
    environment: dict[str, Any]
    left_out: dict[str, str] = {}


def shown(command: NodeCommand) -> str:
    """Return a command as a line for a shell, quoted, its variables in front."""
    variables = [f"{key}={shlex.quote(value)}" for key, value in command.environment.items()]
    return " ".join([*variables, shlex.join(command.arguments)])


def write_record(folder: Path, record: RunRecord | RepeatRecord) -> None:
    """Write a record into its folder, whole or not at all."""
    name = RUN_FILE if isinstance(record, RunRecord) else REPEAT_FILE
    text = msgspec.json.format(msgspec.json.encode(record), indent=2)
    write_atomically(folder / name, text + b"\n")


def read_run(folder: Path) -> RunRecord:
    """Read a run's record; `InputError` names the file and the fault."""
    return _read(folder / RUN_FILE, RunRecord)


def read_repeat(folder: Path) -> RepeatRecord:
    """Read a repeat's record; `InputError` names the file and the fault."""
    return _read(folder / REPEAT_FILE, RepeatRecord)


def section(environment: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a part of a record's environment, empty where the record has none of that form."""
    part = environment.get(name)
    return part if isinstance(part, dict) else {}


def framework_facts(environment: dict[str, Any], implementation: str) -> dict[str, Any]:
    """Return what a record's environment says of an implementation and its framework.

    Records of 0.4 and older have one implementation, and say it under `framework`.
    """
    facts = section(section(environment, "frameworks"), implementation)
    return facts or section(environment, "framework")


def _read(path: Path, record: type[T]) -> T:
    try:
        if not path.is_file():  # nothing that a reader could hang on, such as a pipe
            raise InputError(f"{path} is not a file.")
        return msgspec.json.decode(path.read_bytes(), type=record)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not a record of this version of dlscale: {error}.") from error
