"""The processes of a repeat: started with a token in their environment, found again by it.

torchrun gives each rank a session of its own and ranks start loader processes, so neither process
groups nor parents lead to all of them. The token does, also after a parent has died; processes
that do not carry it are never touched.
"""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from results.errors import InputError
from results.record import NodeCommand

VARIABLE = "DLSCALE_TOKEN"
# A process that the kernel holds, in a hung driver or a dead NFS mount, cannot be killed.
KILL_SECONDS = 30.0


def start(
    command: NodeCommand, log: Path, scratch: str | None = None, where: Sequence[str] = ()
) -> "subprocess.Popen[bytes]":
    """Start a node's command in a session of its own; its output goes to `log`.

    `where` goes before the command, such as what leads into a network namespace. `scratch` is the
    folder it is started in, and for its temporary files: the user's own may hold modules that
    would be imported, and launchers leave files where they are. Raises `InputError` where the
    program cannot be started, OSError where the log cannot be made.
    """
    temporary = {"TMPDIR": scratch} if scratch else {}
    with log.open("ab") as file:
        try:
            process = subprocess.Popen(
                [*where, *command.arguments],
                env={**_inherited(), **command.environment, **temporary},
                cwd=scratch,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise InputError(
                f"{command.arguments[0]} cannot be started ({error.strerror}): remove its "
                "environment's folder and try again, and it is built anew."
            ) from error
    # Where memory runs out, the kernel is to end a rank, and nothing else of the user's.
    with suppress(OSError):
        Path(f"/proc/{process.pid}/oom_score_adj").write_text("1000")
    return process


def _inherited() -> dict[str, str]:
    """Return the user's variables but those that would put other modules before the locked ones."""
    left_out = {"PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV"}
    return {name: value for name, value in os.environ.items() if name not in left_out}


def with_token(token: str) -> list[psutil.Process]:
    """Return every living process of this user that carries the token."""
    mark = f"{VARIABLE}={token}".encode()
    found = []
    for process in psutil.process_iter():
        try:
            environment = Path(f"/proc/{process.pid}/environ").read_bytes()
        except OSError:  # gone, or another user's
            continue
        if mark in environment.split(b"\0") and process.pid != os.getpid():
            found.append(process)
    return found


def end_all(token: str, *, grace: float = 5.0) -> int:
    """End every process that carries the token and return how many had to be killed.

    SIGTERM first; those left after `grace` seconds are killed. Repeats until none is found, since
    a process can start another while it is being ended.
    """
    _signal(with_token(token), signal.SIGTERM)
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline:
        if not with_token(token):
            return 0
        time.sleep(0.05)
    killed = set()
    deadline = time.monotonic() + KILL_SECONDS
    while (left := with_token(token)) and time.monotonic() < deadline:
        killed |= {process.pid for process in left}
        _signal(left, signal.SIGKILL)
        time.sleep(0.05)
    return len(killed)


def _signal(processes: list[psutil.Process], number: int) -> None:
    for process in processes:
        try:
            process.send_signal(number)  # psutil refuses a pid that was given to another process
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
