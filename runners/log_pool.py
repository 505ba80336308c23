"""Parses many logs at once, on all cores, with a progress bar where it takes a while."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

from rich.progress import Progress

from results.logs.sources import Source
from results.logs.verdict import LogResult
from results.parse_logs import Wanted, parse_source

# Fewer are read faster than processes are started.
FEWEST_FOR_PROCESSES = 300
BATCH = 100


def parse_all(sources: Sequence[Source], wanted: Wanted, progress: Progress) -> list[LogResult]:
    """Return what each log comes to, in their order."""
    task = progress.add_task("reading logs", total=len(sources))
    results: list[LogResult] = []
    for count, found in _batches(sources, wanted):
        results += found
        progress.advance(task, count)
    return results


def _batches(sources: Sequence[Source], wanted: Wanted) -> Iterator[tuple[int, list[LogResult]]]:
    workers = min(os.cpu_count() or 1, 16)
    if len(sources) < FEWEST_FOR_PROCESSES or workers < 2:
        for source in sources:
            yield 1, parse_source(source, wanted)
        return
    batches = [sources[k : k + BATCH] for k in range(0, len(sources), BATCH)]
    with ProcessPoolExecutor(workers) as pool:
        found = pool.map(_parse_batch, batches, [wanted] * len(batches))
        yield from zip(map(len, batches), found, strict=True)


def _parse_batch(sources: Sequence[Source], wanted: Wanted) -> list[LogResult]:
    return [result for source in sources for result in parse_source(source, wanted)]
