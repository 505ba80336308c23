"""Why the processes of a repeat ended badly, read off their exit codes and logs."""

import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from results.record import Outcome

TAIL_LINES = 20
MOST_OF_A_LINE = 4096  # looked at: a longer one is no message
_OUT_OF_MEMORY = re.compile(
    r".*(?:out of memory|OutOfMemoryError|can't allocate memory|Cannot allocate memory|"
    r"OOM when allocating|std::bad_alloc|MemoryError|ENOMEM|Failed to allocate CPU Memory|"
    r"Error: allocate failed).*"
)
_DISK_FULL = re.compile(r".*No space left on device.*")
_ABORTED = re.compile(r'.*"key": "run_stop".*"status": "aborted", "reason": "([^"]+)".*')
# The last line of a Python traceback, or an `error:` of a program; not the head of what MXNet puts
# into an error, a traceback of its own.
_ERROR = re.compile(
    r"^(?!.*Traceback \(most recent call last\):$)"
    r"(?:[\w.]*(?:Error|Exception|Interrupt|Exit)\b:?.*|.*\berror: .*)$"
)
# What ranks that are left and launchers say when a rank has gone, what PaddlePaddle says when its
# loader has failed, and TensorFlow on a machine without a GPU: never the cause.
_CONSEQUENCE = re.compile(
    r"Connection (?:reset|closed|refused)|connection closed by peer|Broken pipe|ChildFailedError|"
    r"gloo::\w*Exception|Error Message Summary|(?:Process abort|Termination) signal|"
    r"SignalException|DistBackendError|DistNetworkError|Timed out waiting|torchrun_|exitcode|"
    r"errors_impl\.(?:Unavailable|Aborted|Cancelled)Error|Socket closed|failed call to cuInit|"
    r"data reader raises an exception|subprocess\.CalledProcessError|Exception in thread|"
    r"Horovod detected that|Horovod has been shut down|HorovodInternalError|Exit code: \d+$|"
    r"io_event_poller\.cpp.*EPOLLERR"
)
# How torchrun, start.py and OneFlow's launcher say that a rank was ended by a signal.
_SIGNAL = re.compile(r"Signal \d+ \(\w+\)|Signals\.SIG\w+")
# What frameworks and launchers put before a rank's line: `[rank1]: `, `[1,3]<stderr>:`.
_PREFIX = re.compile(r"^(?:\[[\w,. -]+\](?:<std(?:out|err)>)?:\s?)+")
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[^\t\x20-\x7e\xa0-\U0010ffff]")


@dataclass(frozen=True)
class Ending:
    """How a repeat ended; `tail` are the last lines of the log that shows it."""

    outcome: Outcome
    reason: str = ""
    tail: tuple[str, ...] = ()


def explain(exit_codes: Sequence[int | None], logs: Mapping[str, str], *, oom_kills: int) -> Ending:
    """Explain how a repeat ended from its nodes' exit codes and its logs.

    `logs` maps a log's name to its text, those of ranks before those of launchers; `oom_kills`
    is how many processes the kernel killed for memory meanwhile.
    """
    if all(code == 0 for code in exit_codes):
        return Ending("completed")
    lines = {name: clean_lines(text) for name, text in logs.items()}
    for name, text in lines.items():
        found = next((one for one in text if _OUT_OF_MEMORY.match(one[:MOST_OF_A_LINE])), None)
        if found:
            return Ending("out of memory", f"{name}: {_short(found)}", _tail(text))
    killed = any("SIGKILL" in line or "exitcode: -9" in line for t in lines.values() for line in t)
    if oom_kills and (killed or -9 in exit_codes):
        reason = "the kernel killed a rank for lack of memory"
        return Ending("out of memory", reason, _tail(next(iter(lines.values()), [])))
    for patterns in ((_DISK_FULL, _ABORTED), (_ERROR,)):
        for name, text in lines.items():
            for line in reversed(text):
                match = next((m for p in patterns if (m := p.match(line[:MOST_OF_A_LINE]))), None)
                if match and not _CONSEQUENCE.search(line):
                    said = match[1] if match.re is _ABORTED else line
                    return Ending("failed", f"{name}: {_short(said)}", _tail(text))
    what = next(code for code in exit_codes if code != 0)
    why = "ended by us" if what is None else _exit(what)
    last = next((text for text in reversed(lines.values()) if text), [])
    signals = _SIGNAL.findall("\n".join(last))
    # SIGTERM is what the launcher sent to the ranks that were left.
    gone = next((said for said in signals if "SIGTERM" not in said), "")
    said = [f"a rank had {gone}"] if gone else []
    # A rank that is left can abort, and be the first that the launcher finds.
    said += [_silent(lines)] if not gone or "SIGABRT" in gone else []
    return Ending("failed", "; ".join([f"launcher {why}", *filter(None, said)]), _tail(last))


def _silent(lines: Mapping[str, Sequence[str]]) -> str:
    """Return which ranks' logs break off, if others say that they were left: those were killed."""
    ranks = {name: text for name, text in lines.items() if not name.startswith("launcher")}
    silent = [
        name
        for name, text in ranks.items()
        if not any('"key": "run_stop"' in line or _CONSEQUENCE.search(line) for line in text)
    ]
    if not silent or len(silent) == len(ranks):
        return ""
    return f"{', '.join(silent)} broke off without a word, as when killed"


def printable(text: str) -> str:
    """Return text without escape sequences, control characters and halves of characters."""
    whole = text.encode("utf-8", "replace").decode()
    return _CONTROL.sub("", whole.replace("\n", " "))


def tail_of(logs: Mapping[str, str]) -> tuple[str, ...]:
    """Return the last lines of the first log that has any, cleaned."""
    return _tail(next((lines for text in logs.values() if (lines := clean_lines(text))), []))


def clean_lines(text: str) -> list[str]:
    """Return the lines of a log without rank prefixes, colours and control characters."""
    cleaned = (_PREFIX.sub("", _CONTROL.sub("", raw)).rstrip() for raw in text.splitlines())
    return [line for line in cleaned if line]


def _tail(lines: Sequence[str]) -> tuple[str, ...]:
    said = [line for line in lines if ":::MLLOG" not in line] or list(lines)
    return tuple(line[:500] for line in said[-TAIL_LINES:])


def _short(line: str) -> str:
    line = line.strip()
    return line if len(line) <= 200 else line[:199] + "…"


def _exit(code: int) -> str:
    if code < 0:
        return f"was ended by signal {-code}"
    # A launcher that passes a rank's own code on, -9, exits with 247.
    name = next((one.name for one in signal.Signals if one == 256 - code), "")
    return f"exited with {code}" + (f", as if a rank had {name}" if name else "")
