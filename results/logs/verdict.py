"""What one log comes to: a throughput, or why there is none."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from results.counted import counted
from results.failure import printable
from results.logs.contradictions import contradictions, implied_batch
from results.logs.facts import Facts, merge
from results.logs.failures import Failure, cause
from results.logs.format import Format
from results.logs.reading import LogReading
from results.logs.streams import Streams, split
from results.logs.track import Track, track_of
from results.logs.uniform import LogWindow, window_of

Status = Literal["ok", "short", "failed", "no training", "unreadable"]

# From this share of its time on, a step is bound by its input.
INPUT_BOUND = 0.5


@dataclass(frozen=True, kw_only=True)
class LogResult:
    """What one log comes to by the `uniform` rule.

    `throughput` is in images/s of the whole job, None where `status` is neither `ok` nor `short`,
    or where the log has times and nothing says its batch size. `steps` is how many the last run
    in the log shows. `step_seconds` is the window's mean time per step, where it is known.
    `devices_assumed` is how many devices the throughput is of, where nothing says how many there
    were. `reasons` say what could not be used and why, with lines, counted from 1.
    """

    log: str
    status: Status
    format: str | None = None
    throughput: float | None = None
    steps: int = 0
    step_seconds: float | None = None
    devices_assumed: int | None = None
    window: LogWindow | None = None
    facts: Facts = field(default_factory=Facts)
    reasons: tuple[str, ...] = ()
    reading: LogReading | None = None
    tracks: tuple[Track, ...] = ()
    dlperf_v1: float | None = None
    dlperf_v1_note: str = ""


def unreadable(log: str, reason: str, facts: Facts) -> LogResult:
    """Return the result of a log whose bytes cannot be had."""
    return LogResult(log=log, status="unreadable", facts=facts, reasons=(reason,))


def judge_log(
    log: str, reading: LogReading, path: Facts, given: Facts, *, warmup: int, steps: int
) -> LogResult:
    """Judge a log that was read. `path` and `given` are what its path and the user say of it."""
    facts, notes = merge(reading.said, path, given)
    form = reading.format
    if form is None or not reading.entries:
        return _without_steps(log, reading, facts, notes)
    streams = split(
        reading.entries,
        job_rate=form.scope == "job",
        ranks=_printing(facts),
        begins=reading.rank_begins,
    )
    if facts.world_size is None and all(rank[0].rank is not None for rank in streams.ranks):
        facts.ranks = len(streams.ranks)
    notes += _notes_on_streams(reading, streams)
    tracks = [track for rank in streams.ranks if (track := track_of(rank, form))]
    count = _steps(reading, tracks)
    failed, more = _failure(reading, streams)
    notes += more
    result = LogResult(
        log=log,
        status="failed",
        format=form.name,
        steps=count,
        facts=facts,
        reading=reading,
        tracks=tuple(tracks),
        reasons=tuple(notes),
    )
    if failed:
        return replace(result, reasons=(failed, *notes))
    if streams.stuck:
        return replace(result, status="short", steps=0, reasons=(_stuck(streams), *notes))
    windows = [window for track in tracks if (window := window_of(track, warmup, steps))]
    if not windows:
        return replace(result, status="short", reasons=(_why_no_window(reading, tracks), *notes))
    return _measured(result, form, windows, steps)


def _measured(
    result: LogResult, form: Format, windows: Sequence[LogWindow], steps: int
) -> LogResult:
    """Return a result with its throughput: all the images over the slowest rank's time."""
    slowest = max(windows, key=lambda window: window.cost / window.steps)
    reasons = list(result.reasons)
    whole = [window for window in windows if window.whole]
    status: Status = "ok" if whole else "short"
    if whole and len(whole) < len(windows):
        reasons.append(f"{len(windows) - len(whole)} of {len(windows)} ranks end before the window")
        slowest = max(whole, key=lambda window: window.cost / window.steps)
    if not whole:
        reasons.insert(0, _short(slowest, steps))
    facts = result.facts
    per_second = slowest.steps / slowest.cost
    throughput: float | None
    step_seconds: float | None
    if result.tracks[0].source == "rate" and form.rate_counts == "images":
        throughput = per_second * _ranks_for_rates(form, len(windows), facts, reasons)
        step_seconds = facts.job_batch / throughput if facts.job_batch else None
        assumed = len(windows) if form.scope == "rank" and not facts.world_size else None
    else:
        batch, assumed = _job_batch(facts, form, windows, slowest, reasons)
        throughput = per_second * batch if batch else None
        step_seconds = 1 / per_second
    if form.rates_averaged and any(interval.steps > 1 for interval in slowest.intervals):
        reasons.append("a printed rate is the mean of its steps' rates: above work over time")
    if any(track.unsure for track in result.tracks):
        reasons.append(
            "its figures are means, so far or since the line before: taken for the latter"
        )
    reasons += _notes_on_window(slowest)
    reasons += contradictions(slowest, facts, form)
    return replace(
        result,
        status=status,
        throughput=_positive(throughput),
        step_seconds=_positive(step_seconds),
        devices_assumed=assumed,
        window=slowest,
        reasons=tuple(reasons),
    )


def _positive(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) and value > 0 else None


def _steps(reading: LogReading, tracks: Sequence[Track]) -> int:
    """Return how many steps the last run shows; those that were passed over are like the others."""
    shown = max((track.done[-1] for track in tracks), default=0)
    if not reading.unread or not tracks:
        return shown
    track = max(tracks, key=lambda one: len(one.intervals))
    kept = track.intervals[:-1]  # the last comes after those that were passed over
    each = max((interval.steps for interval in kept if not interval.begins), default=1)
    return sum(interval.steps for interval in kept) + each * (reading.unread // len(tracks) + 1)


def _printing(facts: Facts) -> set[int]:
    """Return how many ranks may print into one log: all, or those of the node whose log it is."""
    return {count for count in (facts.world_size, facts.devices) if count and count > 1}


def _without_steps(log: str, reading: LogReading, facts: Facts, notes: Sequence[str]) -> LogResult:
    form = reading.format
    name = form.name if form else None
    failure = cause(reading.failures)
    status: Status = "no training"
    if failure:
        status, reason = "failed", _of_failure(failure)
    elif reading.lines == 0 and not reading.head:
        reason = "it is empty"
    elif form is None:
        reason = "no line of a known format (`dlscale parse --help` lists them)"
        if b"\0" in reading.head[:4096] or _undecodable(reading.head):
            status, reason = "unreadable", "it is not text"
    elif reading.others:
        reason = (
            f"no step of a training: {counted(reading.others, 'other line')}, such as validation"
        )
    else:
        reason = "no step of a training"
    if reading.cut:
        reason += f"; line {reading.cut} is cut"
    return LogResult(
        log=log, status=status, format=name, facts=facts, reasons=(reason, *notes), reading=reading
    )


def _undecodable(head: bytes) -> bool:
    """Tell whether bytes are no text: a third of them belong to no character."""
    text = head[:4096].decode("utf-8", "replace")
    odd = sum(sign == "\ufffd" or (sign < " " and sign not in "\t\n\r\v\f") for sign in text)
    return odd * 3 > len(text)


def _notes_on_streams(reading: LogReading, streams: Streams) -> Iterator[str]:
    first = min((rank[0].line for rank in streams.ranks if rank), default=0)
    started = len([line for line in reading.begins if line <= first])
    if streams.stuck:
        return
    if streams.runs > 1:
        yield f"the log holds {streams.runs} runs: the last, from line {first} on, counts"
    elif started > 1 and len(streams.ranks) == 1:
        yield f"the run was started {started} times: the last start, whose steps are there, counts"
    if len(streams.ranks) > 1:
        yield f"{len(streams.ranks)} ranks print into it: the slowest one's time counts"
    if streams.doubles:
        lines = counted(streams.doubles, "line")
        yield f"{lines} with the figures of the line before, taken for one printed twice"
    if reading.ends_as:
        form = reading.ends_as
        yield f"its last steps are of another format, which is not read: --format {form} reads them"
    if reading.cut:
        yield f"line {reading.cut}, the last, is cut and left out"


def _stuck(streams: Streams) -> str:
    entries = streams.ranks[0]
    return (
        f"lines {entries[0].line} to {entries[-1].line} all name one step, and have other figures: "
        f"which steps the {len(entries)} are cannot be told, so there is no figure"
    )


def _failure(reading: LogReading, streams: Streams) -> tuple[str, list[str]]:
    """Return why the last run failed, or nothing, and what looked like it and was not."""
    entries = [entry for rank in streams.ranks for entry in rank]
    for entry in entries:
        if entry.loss is not None and not math.isfinite(entry.loss):
            return f"line {entry.line}: the loss is {entry.loss}", []
    counted = reading.format is not None and reading.format.rate_counts == "images"
    for entry in entries:
        if counted and (entry.rate == 0 or entry.seconds == 0):
            what = "throughput" if entry.rate == 0 else "time"
            return f"line {entry.line}: a {what} of 0 cannot be", []
    first = min(entry.line for entry in entries)
    last = max(entry.line for entry in entries)
    fatal: list[Failure] = []
    survived: list[Failure] = []
    for failure in reading.failures:
        if failure.line < first:
            continue  # an earlier run's, or a warning before the first step
        after = sum(entry.line > failure.line for entry in entries)
        if last > failure.line and reading.unread:
            after += last - failure.line
        (survived if after > 2 * len(streams.ranks) else fatal).append(failure)
    found = cause(fatal)
    notes = [f"line {f.line}: {_said(f)}; training went on" for f in survived[:3]]
    return (_of_failure(found) if found else ""), notes


def _of_failure(failure: Failure) -> str:
    return f"line {failure.line}: {failure.kind}: {_said(failure)}"


def _said(failure: Failure) -> str:
    text = " ".join(printable(failure.text).split())
    return text if len(text) <= 160 else text[:159] + "…"


def _why_no_window(reading: LogReading, tracks: Sequence[Track]) -> str:
    if not tracks:
        return f"no step of it has a time (line {reading.entries[-1].line})"
    steps = max(track.done[-1] for track in tracks)
    return f"too short for any figure: {counted(max(steps, len(reading.entries)), 'step')}"


def _short(window: LogWindow, steps: int) -> str:
    return (
        f"shorter than the window: the figure is of {counted(window.steps, 'step')} after step "
        f"{window.first}, not of {steps}"
    )


def _notes_on_window(window: LogWindow) -> Iterator[str]:
    if window.without:
        steps = counted(window.without, "step")
        yield f"left out: {steps} at the beginning of an epoch or after a pause"
    share = _waiting(window)
    if share is not None and share >= INPUT_BOUND:
        yield f"its steps wait for their data for {share:.0%} of the time: it is bound by its input"
    if window.sampled:
        yield "not every step is printed: those that are stand for the others"


def _waiting(window: LogWindow) -> float | None:
    """Return the share of the printed steps' time that they waited for data; None where unsaid."""
    entries = [i.entry for i in window.intervals if i.entry.wait is not None and i.entry.seconds]
    total = sum(entry.seconds or 0.0 for entry in entries)
    return sum(entry.wait or 0.0 for entry in entries) / total if total else None


def _ranks_for_rates(form: Format, seen: int, facts: Facts, reasons: list[str]) -> int:
    """Return how many ranks' rates make the job's."""
    if form.scope == "job":
        return 1
    if form.scope == "process":
        if seen > 1:
            reasons.append(f"{seen} processes printed their own rate: the slowest, {seen} times")
        return seen
    world = facts.world_size
    if world is None or world == seen:
        if world is None:
            reasons.append(f"nothing says how many devices there were: {seen} printed their rate")
        return seen
    if world > seen:
        reasons.append(f"{seen} of {world} ranks printed their own rate: it is taken for each")
        return world
    reasons.append(f"{seen} ranks printed their rate, but {world} devices are named")
    return seen


def _job_batch(
    facts: Facts,
    form: Format,
    windows: Sequence[LogWindow],
    slowest: LogWindow,
    reasons: list[str],
) -> tuple[float | None, int | None]:
    """Return the images per step of the whole job, and the devices that this assumes."""
    if facts.job_batch:
        return facts.job_batch, None
    implied = implied_batch(slowest, form)
    if implied:
        return implied, None
    if facts.batch_size:
        ranks = len(windows)
        reasons.append(f"nothing says how many devices there were: {ranks} taken")
        return facts.batch_size * ranks, ranks
    seconds = slowest.cost / slowest.steps
    reasons.append(f"{seconds:.4g} s per step, but nothing says the batch size: give it (--batch)")
    return None, None
