"""The speedups that DLPerf prints, checked against the throughputs that it prints."""

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from results.published_figures import PublishedFigure, load_resnet50

Table = dict[str, PublishedFigure]


class SpeedupCheck(msgspec.Struct, frozen=True):
    """A printed speedup beside `ratio`, the throughput over that of `base` (its 1n1g)."""

    figure: PublishedFigure
    base: PublishedFigure
    ratio: float
    agrees: bool

    @property
    def efficiency(self) -> float:
        """The ratio per device more than the base has: 1.0 is ideal."""
        return self.ratio * self.base.devices / self.figure.devices


def check_speedups(figures: Iterable[PublishedFigure] | None = None) -> list[SpeedupCheck]:
    """Every printed speedup that has a base, in file order, with the ratio it should be.

    It agrees when it is the ratio rounded to the digits printed, given that the throughputs
    are rounded to 0.01 themselves.
    """
    tables = tables_of(load_resnet50() if figures is None else figures)
    checks = []
    for figure in (figure for table in tables for figure in table.values()):
        base = _base(figure, tables)
        if figure.speedup is None or base is None:
            continue
        ratio = figure.throughput / base.throughput
        digits = -int(figure.speedup.as_tuple().exponent)
        slack = 10.0**-digits / 2 + ratio * 0.005 * (1 / figure.throughput + 1 / base.throughput)
        agrees = abs(float(figure.speedup) - ratio) <= slack
        checks.append(SpeedupCheck(figure, base, ratio, agrees))
    return checks


def tables_of(figures: Iterable[PublishedFigure]) -> list[Table]:
    """Group the figures by table and set of options, each by label; single runs are left out."""
    tables: dict[object, Table] = defaultdict(dict)
    for figure in figures:
        if not figure.is_single_run:
            key = (figure.document, figure.line, figure.note, figure.settings)
            tables[key][figure.label] = figure
    return list(tables.values())


def _base(figure: PublishedFigure, tables: list[Table]) -> PublishedFigure | None:
    """Find the 1n1g that a figure is measured against.

    A table without one (the root README) takes it from the tables that print the same figure,
    or failing that from all tables with these options, if they agree.
    """
    own = [table for table in tables if any(one is figure for one in table.values())]
    alike = [table for table in tables if figure.settings == next(iter(table.values())).settings]
    same = [
        table
        for table in alike
        if figure.label in table and table[figure.label].throughput == figure.throughput
    ]
    for group in (own, same, alike):
        bases = [table["1n1g"] for table in group if "1n1g" in table]
        if len({base.throughput for base in bases}) == 1:
            return bases[0]
    return None


def has_own_base(check: SpeedupCheck) -> bool:
    """Tell whether a printed speedup's base stands in the table that prints it."""
    one, base = check.figure, check.base
    return (one.document, one.line) == (base.document, base.line)
