"""From judged logs to one line per case: median, interval, speedup over the base."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from results.logs.facts import Facts, is_label, job_of, without_numbers
from results.logs.verdict import LogResult, Status
from results.statistics import Estimate, median_estimate, ratio_estimate

Rate = Callable[[LogResult], float | None]


@dataclass(frozen=True)
class LogCase:
    """The logs of one case.

    `series` is the folder that holds the folders of the cases, `name` what the names of its logs
    have in common: logs of two folders are not mixed, nor such whose names differ in more than
    numbers. The logs of a job's ranks are one repeat, with the slowest one's figure; `counted` of
    `repeats` count. `rates` are those of the repeats that are `ok`, in images/s of the whole job;
    of those that are `short` where none is, and then `short` is set; `throughput` is their median.
    `speedup` is over the case `over`; where there is none, `no_base` says why.
    """

    series: str
    name: str
    format: str
    facts: Facts
    logs: tuple[LogResult, ...]
    repeats: int
    rates: tuple[float, ...] = ()
    throughput: Estimate | None = None
    short: bool = False
    over: "LogCase | None" = None
    no_base: str = ""
    speedup: Estimate | None = None

    @property
    def counted(self) -> int:
        """How many repeats count."""
        return len(self.rates)

    @property
    def spread(self) -> float:
        """The largest rate over the smallest."""
        return max(self.rates) / min(self.rates) if self.rates else 1.0

    @property
    def base(self) -> str | None:
        """The label of the case that the speedup is over."""
        return self.over.facts.label if self.over else None

    def scales_into(self, other: "LogCase") -> bool:
        """Tell whether two cases differ in their devices alone; a model unsaid is no difference."""
        one, two = self.facts, other.facts
        return (
            (self.series, self.format, one.precision, one.batch_size)
            == (other.series, other.format, two.precision, two.batch_size)
        ) and (one.model == two.model or None in {one.model, two.model})


def uniform(result: LogResult) -> float | None:
    """Return a log's throughput by the `uniform` rule."""
    return result.throughput


def by_dlperf(result: LogResult) -> float | None:
    """Return a log's throughput by the rule `dlperf-v1`."""
    return result.dlperf_v1


def cases_of(results: Sequence[LogResult], rate: Rate = uniform) -> list[LogCase]:
    """Group logs by case, the smallest first; logs of no known format have none."""
    groups: dict[tuple[object, ...], list[LogResult]] = defaultdict(list)
    for result in results:
        if result.format is None:
            continue
        facts = result.facts
        settings = (facts.model, facts.precision, facts.batch_size, facts.nodes, facts.devices)
        groups[_series(result), _name(result), result.format, *settings].append(result)
    cases = [_case(logs, rate) for logs in groups.values()]
    cases = [_with_speedup(case, cases) for case in cases]
    return sorted(cases, key=_order)


def _series(result: LogResult) -> str:
    """Return the part of a log's name before the folder of its case."""
    parts = PurePath(result.log).parent.parts
    labels = [place for place, part in enumerate(parts) if is_label(part)]
    parts = parts[: labels[-1]] if labels else parts
    return str(PurePath(*parts)) if parts else ""


def _name(result: LogResult) -> str:
    return without_numbers(PurePath(result.log))


def _case(logs: Sequence[LogResult], rate: Rate) -> LogCase:
    jobs: dict[str, list[LogResult]] = defaultdict(list)
    for log in logs:
        jobs[job_of(PurePath(log.log))].append(log)
    ok = _rates(jobs.values(), "ok", rate)
    rates = ok or _rates(jobs.values(), "short", rate)
    first = logs[0]
    return LogCase(
        series=_series(first),
        name=_name(first),
        format=first.format or "",
        facts=first.facts,
        logs=tuple(logs),
        repeats=len(jobs),
        rates=tuple(rates),
        throughput=median_estimate(rates) if rates else None,
        short=bool(rates) and not ok,
    )


def _rates(jobs: Iterable[Sequence[LogResult]], status: Status, rate: Rate) -> list[float]:
    """Return the throughput of each job's slowest rank; a job of which one failed has none."""
    found = []
    for logs in jobs:
        rates = [value for log in logs if log.status == status and (value := rate(log))]
        if rates and all(log.status != "failed" for log in logs):
            found.append(min(rates))
    return found


def _with_speedup(case: LogCase, cases: Sequence[LogCase]) -> LogCase:
    if not case.facts.world_size:
        return replace(case, no_base="its devices are not known")
    bases = _bases(case, [other for other in cases if case.scales_into(other)])
    if not bases:
        return replace(case, no_base="no case with fewer devices")
    if len(bases) > 1:
        return replace(case, no_base=f"{len(bases)} cases could be its base")
    (base,) = bases
    if not base.throughput:
        return replace(case, no_base=f"base {base.facts.label} has no log that counts")
    if not case.throughput:
        return replace(case, over=base)
    same = base is case
    speedup = Estimate(1.0, 1.0, 1.0) if same else ratio_estimate(case.throughput, base.throughput)
    return replace(case, over=base, speedup=speedup)


def _bases(case: LogCase, alike: Sequence[LogCase]) -> list[LogCase]:
    """Return the cases of fewest devices, those whose logs are named alike before others.

    A case of one device is its own base, and so is the smallest where there are larger ones.
    """
    sized = [(size, other) for other in alike if (size := _size(other))[0]]
    least = min(size for size, _ in sized)
    if _size(case)[0] == least[0]:
        larger = any(size[0] > least[0] for size, _ in sized)
        return [case] if least[0] == 1 or (larger and _size(case) == least) else []
    smallest = [other for size, other in sized if size == least]
    return [other for other in smallest if other.name == case.name] or smallest


def _size(case: LogCase) -> tuple[int, int]:
    return (case.facts.world_size or 0, case.facts.nodes or 1)


def _order(case: LogCase) -> tuple[object, ...]:
    facts = case.facts
    return (
        case.series,
        case.format,
        facts.model or "",
        facts.precision or "",
        facts.batch_size or 0,
        case.name,
        facts.world_size or 0,
        facts.nodes or 0,
    )
