"""From paths to judged logs."""

import io
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import IO

from results.formats import formats
from results.logs import verdict
from results.logs.facts import Facts, facts_of_path
from results.logs.format import Format
from results.logs.reading import read
from results.logs.rules import by_dlperf_v1
from results.logs.sources import Source, UnreadableError, members, opened
from results.logs.verdict import LogResult

# Steps beside the window that are kept: epochs' beginnings are left out of it.
SPARE = 50


@dataclass(frozen=True)
class Wanted:
    """How logs are judged: `given` is what the user says of all of them."""

    warmup: int = 20
    steps: int = 100
    given: Facts = field(default_factory=Facts)
    form: str = ""

    @property
    def formats(self) -> tuple[Format, ...]:
        """The formats that are tried."""
        return tuple(form for form in formats() if self.form in ("", form.name))


def parse_source(source: Source, wanted: Wanted) -> list[LogResult]:
    """Return what a file comes to: one log, or every log of an archive.

    Empty where it is neither named like a log nor has a step in it.
    """
    if source.is_archive:
        return sorted(_archive(source, wanted), key=lambda result: result.log.split("/"))
    try:
        with opened(source) as stream:
            return [*_one(source, stream, wanted)]
    except UnreadableError as error:
        facts = facts_of_path(source.labels)
        return [verdict.unreadable(source.name, str(error), facts)] if source.sure else []


def _archive(source: Source, wanted: Wanted) -> Iterator[LogResult]:
    try:
        for member, stream in members(source):
            try:
                yield from _one(member, stream, wanted)
            except UnreadableError as error:
                facts = facts_of_path(member.labels)
                yield verdict.unreadable(member.name, str(error), facts)
    except UnreadableError as error:
        yield verdict.unreadable(source.name, str(error), Facts())


def _one(source: Source, stream: IO[bytes], wanted: Wanted) -> Iterator[LogResult]:
    result = _judged(source.name, stream, facts_of_path(source.labels), wanted)
    if not source.sure and not (result.reading and result.reading.entries):
        return
    figure, why = by_dlperf_v1(result)
    if getattr(stream, "cut", False):
        result = replace(result, reasons=(*result.reasons, "the compressed file is cut"))
    yield replace(
        result,
        reading=None,
        tracks=(),
        window=result.window and replace(result.window, intervals=()),
        dlperf_v1=figure.throughput if figure else None,
        dlperf_v1_note=why,
    )


def _judged(name: str, stream: IO[bytes], path: Facts, wanted: Wanted) -> LogResult:
    reading = read(stream, wanted.formats, keep=wanted.warmup + wanted.steps + SPARE)
    return verdict.judge_log(
        name, reading, path, wanted.given, warmup=wanted.warmup, steps=wanted.steps
    )


def judged(path: Path, wanted: Wanted) -> LogResult:
    """Return what a log comes to by what it says and `wanted` gives, with its single steps.

    Its path says nothing. Raises OSError where it cannot be read.
    """
    with path.open("rb") as stream:
        return _judged(path.name, stream, Facts(), wanted)


def parse_bytes(log: bytes, wanted: Wanted, name: str = "log") -> LogResult:
    """Return what the bytes of one log come to."""
    source = Source(Path(name), name, PurePosixPath(name))
    return next(_one(source, io.BytesIO(log), wanted))
