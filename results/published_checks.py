"""Where DLPerf's ResNet-50 figures contradict each other, found by computing them again."""

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, pairwise
from typing import Literal

import msgspec

from results.published_figures import (
    HEADER_BATCH,
    ROOT_README,
    V1_REPORT,
    PublishedFigure,
    PublishedRepeat,
    PublishedSource,
    load_resnet50,
    load_resnet50_repeats,
    load_resnet50_sources,
)
from results.published_speedups import SpeedupCheck, check_speedups, tables_of

Kind = Literal["value", "speedup", "batch", "source", "edition", "odd"]

# The repeats of a published case lie 1 % apart (the median over its 45 cases): a difference
# below that is noise.
NOISE = 0.01


class Place(msgspec.Struct, frozen=True, order=True):
    """A document of DLPerf; `line` is None where only the document is known."""

    document: str
    line: int | None = None


class Stated(msgspec.Struct, frozen=True):
    """One value (with its unit or meaning) and every place that states it."""

    value: str
    places: tuple[Place, ...]


class Finding(msgspec.Struct, frozen=True):
    """Two or more values that should agree and do not, or (`odd`) that deserve a second look."""

    kind: Kind
    what: str
    stated: tuple[Stated, ...]


def find_disagreements(
    figures: Sequence[PublishedFigure] | None = None,
    repeats: Sequence[PublishedRepeat] | None = None,
    sources: Sequence[PublishedSource] | None = None,
) -> list[Finding]:
    """List what does not fit together in the published ResNet-50 figures, grouped by kind.

    Without arguments these are the committed figures.
    """
    figures = load_resnet50() if figures is None else figures
    repeats = load_resnet50_repeats() if repeats is None else repeats
    sources = load_resnet50_sources() if sources is None else sources
    return [
        *_values(figures, repeats),
        *_speedups(figures),
        *_header_batches(figures),
        *_sources(sources),
        *_editions(figures),
        *_oddities(figures),
    ]


def _case(figure: PublishedFigure) -> str:
    options = [f"batch {figure.batch_size}"]
    if figure.xla:
        options.append("XLA")
    if figure.dali:
        options.append("DALI")
    return f"{figure.implementation} {figure.precision}, {', '.join(options)}, {figure.label}"


def _stated(
    figures: Iterable[PublishedFigure], say: Callable[[PublishedFigure], str]
) -> list[Stated]:
    places: dict[str, list[Place]] = defaultdict(list)
    for figure in figures:
        places[say(figure)].append(Place(figure.document, figure.line))
    return [Stated(value, tuple(sorted(set(where)))) for value, where in places.items()]


def _throughput(figure: PublishedFigure) -> str:
    return f"{figure.throughput:.2f} images/s"


def _values(
    figures: Iterable[PublishedFigure], repeats: Iterable[PublishedRepeat]
) -> Iterable[Finding]:
    """Cases of which two documents have no value in common.

    A document can hold several values of one case (other loaders or loss scalings) of which a
    summary shows one: that is no contradiction.
    """
    cases: dict[object, list[PublishedFigure]] = defaultdict(list)
    for figure in figures:
        cases[figure.settings, figure.label].append(figure)
    medians = _medians(repeats)
    for group in cases.values():
        documents: dict[str, set[float]] = defaultdict(set)
        for figure in group:
            documents[figure.document].add(figure.throughput)
        if any(one.isdisjoint(other) for one, other in combinations(documents.values(), 2)):
            stated = _stated(group, _throughput)
            stated += medians.get(_repeat_key(group[0]), [])
            yield Finding("value", f"throughput of {_case(group[0])}", tuple(stated))


def _repeat_key(one: PublishedFigure | PublishedRepeat) -> tuple[object, ...]:
    settings = (one.implementation, one.precision, one.xla, one.dali, one.batch_size)
    return (*settings, one.nodes, one.devices_per_node)


def _medians(repeats: Iterable[PublishedRepeat]) -> dict[object, list[Stated]]:
    found: dict[object, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in repeats:
        found[_repeat_key(one)][one.document].append(one.throughput)
    return {
        key: [
            Stated(
                f"{statistics.median(values):.2f} images/s, the median of {len(values)} repeats",
                (Place(document),),
            )
            for document, values in documents.items()
        ]
        for key, documents in found.items()
    }


def _speedups(figures: Iterable[PublishedFigure]) -> Iterable[Finding]:
    wrong: dict[str, list[SpeedupCheck]] = defaultdict(list)
    for check in check_speedups(figures):
        if not check.agrees:
            wrong[_case(check.figure)].append(check)
    for case, checks in wrong.items():
        stated = _stated((check.figure for check in checks), lambda one: f"{one.speedup} printed")
        for check in checks:
            ratio = (
                f"{check.ratio:.2f} = {check.figure.throughput:.2f} / {check.base.throughput:.2f}"
            )
            places = tuple(Place(one.document, one.line) for one in (check.figure, check.base))
            if all(ratio != other.value for other in stated):
                stated.append(Stated(ratio, tuple(sorted(set(places)))))
        yield Finding("speedup", f"speedup of {case}", tuple(stated))


def _header_batches(figures: Iterable[PublishedFigure]) -> Iterable[Finding]:
    """Cells of the root README whose batch is not that of their column's header."""
    for figure in figures:
        header = HEADER_BATCH[figure.precision]
        if figure.document == ROOT_README and figure.batch_size != header:
            place = (Place(figure.document, figure.line),)
            stated = (
                Stated(f"{header} in the column's header", place),
                Stated(f"{figure.batch_size} in its footnote", place),
            )
            yield Finding("batch", f"batch size of {_case(figure)}", stated)


def _sources(sources: Iterable[PublishedSource]) -> Iterable[Finding]:
    """Find implementations whose documents name different revisions of their source."""
    named: dict[str, dict[str, list[Place]]] = defaultdict(lambda: defaultdict(list))
    for one in sources:
        value = f"{one.repository} at {one.revision}"
        named[one.implementation][value].append(Place(one.document, one.line))
    for implementation, values in named.items():
        if len(values) > 1:
            stated = tuple(Stated(value, tuple(places)) for value, places in values.items())
            yield Finding("source", f"source of {implementation}", stated)


def _editions(figures: Sequence[PublishedFigure]) -> Iterable[Finding]:
    """Find implementations that the root README has and the v1.0 report lacks."""
    reported = {one.implementation for one in figures if one.document == V1_REPORT}
    missing = [
        one for one in figures if one.document == ROOT_README and one.implementation not in reported
    ]
    for implementation in dict.fromkeys(one.implementation for one in missing):
        present = (one for one in missing if one.implementation == implementation)
        stated = (*_stated(present, lambda _: "present"), Stated("absent", (Place(V1_REPORT),)))
        yield Finding("edition", f"results of {implementation}", stated)


def _oddities(figures: Iterable[PublishedFigure]) -> Iterable[Finding]:
    """Find figures that are as printed, and unlikely: more devices or a larger batch, slower."""
    pairs: dict[str, list[PublishedFigure]] = defaultdict(list)
    tables = tables_of(figures)
    for table in tables:
        for small, large in pairwise(sorted(table.values(), key=lambda one: one.devices)):
            if large.throughput < small.throughput:
                what = f"more devices, yet slower: {_case(small)} against {large.label}"
                pairs[what] += [small, large]
    for one, other in combinations(tables, 2):
        for label in sorted(one.keys() & other.keys()):
            small, large = sorted((one[label], other[label]), key=lambda each: each.batch_size)
            if _differ_in_batch(small, large) and large.throughput < small.throughput * (1 - NOISE):
                what = f"larger batch, yet more than {NOISE:.0%} slower: {_case(small)} against"
                pairs[f"{what} batch {large.batch_size}"] += [small, large]
    for what, group in pairs.items():
        yield Finding("odd", what, tuple(_stated(group, _sized)))


def _differ_in_batch(one: PublishedFigure, other: PublishedFigure) -> bool:
    alike = msgspec.structs.replace(other.settings, batch_size=one.batch_size)
    return (one.document, one.note, one.settings) == (other.document, other.note, alike)


def _sized(figure: PublishedFigure) -> str:
    return f"{_throughput(figure)} at {figure.label}, batch {figure.batch_size}"
