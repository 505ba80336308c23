"""Running one repeat of a case: start, watch, end, record."""

import hashlib
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from subprocess import Popen

from results.case import Case
from results.failure import Ending, explain, tail_of
from results.logs.failures import ENDED
from results.record import NodeCommand, RepeatRecord, write_record
from results.script_output import output_of
from runners import processes
from runners.emulated_network import network
from runners.log_tail import Enough, PhaseReader, read_logs

POLL_SECONDS = 0.05
# How long the other nodes may go on after one has failed: they cannot finish without it.
LEFT_BEHIND_SECONDS = 10.0


class Interrupted(KeyboardInterrupt):
    """The user asked to stop (Ctrl-C, SIGTERM, SIGHUP)."""


def token_of(folder: Path) -> str:
    """Return the mark for the processes of the repeat in `folder`, the same at each attempt."""
    return hashlib.blake2b(os.fsencode(folder.absolute()), digest_size=16).hexdigest()


def free_port() -> int:
    """Return a port that nothing on this machine listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run_repeat(
    case: Case,
    repeat: int,
    commands: list[NodeCommand],
    folder: Path,
    *,
    token: str,
    timeout: float,
    on_phase: Callable[[str], None] = lambda _: None,
    endless: bool = False,
) -> RepeatRecord:
    """Run the commands of one repeat to their end and write `run.json` beside their logs.

    Those of an `endless` script are ended once their output holds the window.

    Whatever happens, no process of the repeat is left, nor one of an earlier attempt whose driver
    was killed. `timeout` is in seconds. An interruption is recorded and raised again as
    `Interrupted`.
    """
    processes.end_all(token)
    folder.mkdir(parents=True)
    # Launchers, loaders and compilers leave their temporary files behind: all go with the repeat.
    scratch = tempfile.mkdtemp(prefix="dlscale-")
    started, clock = datetime.now(UTC), time.monotonic()
    kills = _oom_kills()
    running: list[Popen[bytes]] = []
    interrupted = hung = False
    enough = Enough(case, folder) if endless else None
    emulated = ExitStack()
    try:
        places = emulated.enter_context(_places(commands))
        for command, place in zip(commands, places, strict=True):
            log = folder / f"launcher{command.node}.log"
            running.append(processes.start(command, log, scratch, place))
        hung = not _wait(running, PhaseReader(folder / "rank0.log"), on_phase, timeout, enough)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        codes = [process.poll() for process in running]
        well = bool(codes) and all(code == 0 for code in codes)
        ended = enough is not None and enough.reached and not any(codes)
        try:
            if ended:
                _mark_end(folder)
            processes.end_all(token, grace=1.0 if well or hung else 5.0)
        except KeyboardInterrupt:  # comes once (commands/bench.py), here while they are ended
            interrupted = True
            processes.end_all(token, grace=1.0)
        for process in running:
            process.wait()
        emulated.close()
        shutil.rmtree(scratch, ignore_errors=True)
    if ended:
        ending = Ending("completed")
    elif interrupted and not well:
        ending = Ending("interrupted", "interrupted by the user")
    elif hung:
        ending = Ending(
            "hung", f"still running after {timeout:g} s, ended", tail_of(read_logs(folder))
        )
    else:
        ending = explain(codes, read_logs(folder), oom_kills=_oom_kills() - kills)
    record = RepeatRecord(
        case=case,
        repeat=repeat,
        commands=commands,
        started=started.isoformat(timespec="seconds"),
        ended=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=round(time.monotonic() - clock, 3),
        exit_codes=codes,
        outcome=ending.outcome,
        reason=ending.reason,
        tail=list(ending.tail),
    )
    write_record(folder, record)
    if interrupted:
        raise Interrupted
    return record


def _mark_end(folder: Path) -> None:
    """Write into each log that what printed it is ended; it goes on appending to it."""
    for path in output_of(folder).values():
        with suppress(OSError), path.open("ab") as file:  # a full disk: it is ended all the same
            file.write(b"\n" + ENDED + b"\n")


def _places(commands: list[NodeCommand]) -> AbstractContextManager[list[list[str]]]:
    """Return what leads to where each command is to run, such as a network namespace."""
    if commands[0].address:
        return network(len(commands))
    return nullcontext([[] for _ in commands])


def _wait(
    running: list[Popen[bytes]],
    phases: PhaseReader,
    on_phase: Callable[[str], None],
    timeout: float,
    enough: Enough | None,
) -> bool:
    """Wait until all nodes have ended, or one has failed; False where the time ran out.

    Returns also when the output shows `enough`.
    """
    deadline = time.monotonic() + timeout
    failed_at: float | None = None
    while any(process.poll() is None for process in running):
        now = time.monotonic()
        if now > deadline:
            return False
        if failed_at is None and any(process.poll() for process in running):
            failed_at = now
        if failed_at is not None and now > failed_at + LEFT_BEHIND_SECONDS:
            return True
        for phase in phases.news():
            on_phase(phase)
        if enough is not None and enough.is_there():
            return True
        time.sleep(POLL_SECONDS)
    return True


def _oom_kills() -> int:
    """Return how often the kernel has killed for lack of memory since it started."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
