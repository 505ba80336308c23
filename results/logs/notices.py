"""What concerns several logs at once, as sentences."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from results.logs.cases import LogCase
from results.logs.facts import job_of

# Repeats of one case differ by a few per cent: such as differ by more may be of several cases.
MOST_SPREAD = 1.2


def notices_on(cases: Sequence[LogCase]) -> list[str]:
    """Return what to know of the logs of each case, and of what its speedup is over."""
    found = [*_repeated(cases), *_spread(cases), *_ranks(cases), *_models(cases)]
    return list(dict.fromkeys(found))


def _repeated(cases: Sequence[LogCase]) -> Iterator[str]:
    for case in cases:
        jobs = {job_of(PurePath(log.log)): log for log in case.logs}
        numbers = Counter(log.facts.repeat for log in jobs.values() if log.facts.repeat is not None)
        for number, count in numbers.items():
            if count > 1:
                names = [log.log for log in jobs.values() if log.facts.repeat == number]
                yield (
                    f"{count} logs say that they are repeat {number} of one case, and all count: "
                    + ", ".join(names)
                )


def _spread(cases: Sequence[LogCase]) -> Iterator[str]:
    for case in cases:
        if case.spread > MOST_SPREAD:
            yield (
                f"the {case.counted} repeats of {_named(case)} differ by a factor of "
                f"{case.spread:.2f}: are they of one case?"
            )


def _ranks(cases: Sequence[LogCase]) -> Iterator[str]:
    for case in cases:
        if case.repeats < len(case.logs) and any(log.devices_assumed for log in case.logs):
            where = case.series or case.name
            yield (
                f"{len(case.logs)} logs of {where} are of ranks, and nothing says how many devices "
                "there were: give --devices"
            )


def _models(cases: Sequence[LogCase]) -> Iterator[str]:
    """Yield a sentence where of a case and its base one alone names its model."""
    for case in cases:
        base = case.over
        if case.speedup and base and base.facts.model != case.facts.model:
            mute, other = (case, base) if case.facts.model is None else (base, case)
            yield f"{_named(mute)} does not say its model: the speedups assume {other.facts.model}"


def _named(case: LogCase) -> str:
    return f"{case.facts.label or 'unknown devices'} in {case.series or case.name}"
