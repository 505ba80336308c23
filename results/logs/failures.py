"""Lines that say that a training ended badly."""

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "out of memory", "not a number", "nothing measured", "interrupted", "hung", "crashed"
]

# What is looked for first, since a search for a literal is quick; then the pattern decides.
_KINDS: tuple[tuple[Kind, tuple[bytes, ...], re.Pattern[bytes]], ...] = (
    (
        "out of memory",
        (b"emory", b"OOM", b"oom", b"bad_alloc", b"RESOURCE_EXHAUSTED", b"ResourceExhausted"),
        re.compile(
            rb"(?:out of|lack of) memory|Out of memory|OutOfMemory|OOM when allocating"
            rb"|oom[-_]kill|std::bad_alloc|MemoryError\b|cudaErrorMemoryAllocation"
            rb"|RESOURCE_EXHAUSTED|ResourceExhaustedError|Cannot allocate memory"
        ),
    ),
    (
        "not a number",
        (b"nan", b"NaN", b"NAN", b"diverged", b"Invalid loss"),
        re.compile(
            rb"[Ll]oss[^\n]{0,24}?[ :=(\[](?:nan|NaN|NAN)\b|NanLossDuringTraining|NaN loss"
            rb"|[Mm]odel diverged|Invalid loss, terminating"
        ),
    ),
    (
        "interrupted",
        (b"KeyboardInterrupt", b"SIGINT", b"SIGTERM", b"CANCELLED", b"TIME LIMIT", b"Terminated"),
        re.compile(
            rb"KeyboardInterrupt|\bSIG(?:INT|TERM)\b|\*\*\* (?:STEP|JOB)[^\n]{0,80}CANCELLED"
            rb"|DUE TO TIME LIMIT|^Terminated\s*$",
            re.MULTILINE,
        ),
    ),
    (
        "hung",
        (b"timeout", b"Timeout", b"timed out", b"talled", b"DEADLINE_EXCEEDED", b"DeadlineExc"),
        re.compile(
            rb"[Ww]atchdog caught collective operation timeout|collective[^\n]{0,60}timed out"
            rb"|Stalled (?:ranks|ops)|DEADLINE_EXCEEDED|DeadlineExceeded"
            rb"|(?:socket|barrier|store|rendezvous|process group)[^\n]{0,80}timed out"
            rb"|(?:barrier|rendezvous|[Cc]onnection)[^\n]{0,40}[Tt]imeout"
        ),
    ),
    (
        "crashed",
        (
            b"Traceback (", b"egmentation fault", b"ore dumped", b"Aborted", b"terminate called",
            b"Fatal", b"us error", b"NCCL error", b"CUDA error", b"Check fail", b"MPI_ABORT",
            b"on-zero", b"No space left", b"mpirun noticed", b"ailures:", b"Error: ", b"SIGKILL",
            b"aborted", b"Killed",
        ),
        re.compile(
            rb"Traceback \(most recent call last\)|[Ss]egmentation fault|core dumped"
            rb"|^Aborted(?: \(core dumped\))?\s*$|terminate called"
            rb"|Fatal Python error|[Bb]us error|NCCL error"
            rb"|CUDA error|Check fail(?:ed|ure)|MPI_ABORT was invoked"
            rb"|exited (?:on signal|with non-zero)|returned (?:a )?non-zero exit"
            rb"|No space left on device|mpirun noticed that process|^(?:Root Cause|Failures:)"
            rb"|^[\w.]{0,60}(?:Error|Exception): |\bSIGKILL\b|^Killed\s*$"
            rb'|"status": "aborted"',
            re.MULTILINE,
        ),
    ),
)  # fmt: skip
# Says of itself that it is none (TensorFlow's allocator), or is about the data of another line.
_HARMLESS = re.compile(
    rb"not a failure|[Ii]gnor(?:ed|ing)|WARN|[Ww]arning|\bW \w|^W\d{4} |NCCL INFO|retry"
)
# What dlscale writes into a log when it ends a script that would go on: what launchers and ranks
# say of that behind it is no failure.
ENDED = b"dlscale: the window is in this log; what ran is ended here"
MOST_OF_A_LINE = 2000
MOST_KEPT = 64


@dataclass(frozen=True)
class Failure:
    """A line that tells of a failure: its number, counted from 1, and what it says."""

    line: int
    kind: Kind
    text: str


def failures_of(block: bytes, first_line: int = 1) -> list[Failure]:
    """Return the lines of a cleaned block that tell of a failure, in their order.

    A line counts once, as the first of the kinds that it fits; of each kind in a row the first.
    """
    found: dict[int, Failure] = {}
    for kind, literals, pattern in _KINDS:
        if not any(literal in block for literal in literals):
            continue
        place = 0
        while len(found) < MOST_KEPT and (match := pattern.search(block, place)):
            begin = block.rfind(b"\n", 0, match.start()) + 1
            end = block.find(b"\n", match.end())
            end = len(block) if end < 0 else end
            place = end + 1  # one look at a line is enough, however long it is
            near = block[max(begin, match.start() - 200) : min(end, match.end() + 200)]
            if begin in found or _HARMLESS.search(near):
                continue
            text = block[begin:end] if end - begin <= MOST_OF_A_LINE else near
            line = first_line + block.count(b"\n", 0, begin)
            found[begin] = Failure(line, kind, text.decode("utf-8", "replace"))
    return [found[begin] for begin in sorted(found)]


def cause(failures: list[Failure]) -> Failure | None:
    """Return the failure that says most: a crash is what the others look like in the end."""
    order: tuple[Kind, ...] = (
        "out of memory", "not a number", "nothing measured", "interrupted", "hung", "crashed",
    )  # fmt: skip
    crashes = [failure for failure in failures if failure.kind == "crashed"]
    if crashes:  # the last line of a traceback names the error
        named = [f for f in crashes if "Traceback" not in f.text]
        crashes = named or crashes
    for kind in order:
        mine = crashes if kind == "crashed" else [f for f in failures if f.kind == kind]
        if mine:
            return mine[0]
    return None
