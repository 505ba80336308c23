"""Throughput and speedup against the number of devices, as SVG and PNG.

The bytes depend on the values alone: no date, no version, no setting of the user's.
"""

import math
import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reports.plot_labels import PITCH, SOFT, Label, label_ends, marker, shorten
from reports.plot_style import Style, plain, readable_ticks, styles_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 8.0  # inches; at 100 pixels each the text is as large as a page's own
DPI = 200
INK, GRID = "#1a1a1a", "#e4e4e4"
WIDE = 3.0  # powers of two are ticks enough for a range wider than this
SETTINGS = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so it is the same everywhere
    "font.size": 9.5,
    "text.parse_math": False,  # a `$` in a name is a `$`
    "svg.hashsalt": "dlscale",
    "svg.fonttype": "path",
    "axes.edgecolor": SOFT,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
}


@dataclass(frozen=True)
class Line:
    """One line of a plot.

    `values` (images/s, or speedup) go with `devices` (of the whole job, ascending); `low` and
    `high` are the ends of their error bars, None where there are none. `note` is shown small
    beside the name. Names and notes are plain text. Raises ValueError when they do not fit.
    """

    name: str
    devices: list[int]
    values: list[float]
    low: list[float] | None = None
    high: list[float] | None = None
    note: str = ""

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn."""
        columns = [self.values, self.low or self.values, self.high or self.values]
        if not self.devices or any(len(column) != len(self.devices) for column in columns):
            raise ValueError(f"{self.name!r}: one value for each number of devices is needed")
        if sorted(set(self.devices)) != self.devices or self.devices[0] < 1:
            raise ValueError(f"{self.name!r}: devices {self.devices} are not ascending from 1")
        if not all(math.isfinite(value) for column in columns for value in column):
            raise ValueError(f"{self.name!r}: not every value is finite")
        if min(self.values) <= 0:
            raise ValueError(f"{self.name!r}: a value of {min(self.values)} was never measured")


def plot_throughput(
    lines: Sequence[Line], *, title: str, subtitle: str, path_stem: Path
) -> list[Path]:
    """Draw images/s against devices; returns `<path_stem>.svg` and `.png`, both written."""
    return _plot(lines, None, unit="images/s", heading=(title, subtitle), path_stem=path_stem)


def plot_speedup(
    lines: Sequence[Line], *, title: str, subtitle: str, path_stem: Path, base_devices: int = 1
) -> list[Path]:
    """Draw speedup against devices beside the ideal, devices / `base_devices`.

    Returns `<path_stem>.svg` and `.png`, both written.
    """
    largest = max((line.devices[-1] for line in lines), default=base_devices)
    counts = sorted({base_devices, largest})
    ideal = Line("ideal", counts, [count / base_devices for count in counts])
    return _plot(lines, ideal, unit="speedup", heading=(title, subtitle), path_stem=path_stem)


def _plot(
    lines: Sequence[Line],
    ideal: Line | None,
    *,
    unit: str,
    heading: tuple[str, str],
    path_stem: Path,
) -> list[Path]:
    import matplotlib.style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.style.context(["default", SETTINGS]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # it is drawn as a box
        height = max(4.7, 1.8 + PITCH * len(lines))
        figure = Figure(figsize=(WIDTH, height), dpi=DPI)
        FigureCanvasAgg(figure)  # measures texts
        axes = figure.add_axes((0.09, 0.55 / height, 0.85, 1 - 1.5 / height))
        _heading(figure, *heading)
        _axes(axes, lines, ideal, unit)
        entries = list(zip(lines, styles_for([line.name for line in lines]), strict=True))
        if ideal:
            entries.append((ideal, Style(SOFT, "", (1.0, 1.5))))
        for line, style in entries:
            _draw(axes, line, style)
        if lines:
            largest = max(line.devices[-1] for line, _ in entries)
            header = f"at {largest} device{'s' * (largest > 1)}"
            label_ends(figure, axes, _labels(entries, largest, unit), header)
        else:
            axes.text(0.5, 0.5, "nothing was measured", transform=axes.transAxes, ha="center")
        path_stem.parent.mkdir(parents=True, exist_ok=True)
        svg, png = (path_stem.with_name(path_stem.name + end) for end in (".svg", ".png"))
        figure.savefig(svg, metadata={"Date": None, "Creator": None})
        figure.savefig(png, metadata={"Software": None})
    return [svg, png]


def _heading(figure: "Figure", title: str, subtitle: str) -> None:
    inch = 1 / figure.get_figheight()
    place = (0.02, 1 - 0.15 * inch)
    shorten(figure.text(*place, plain(title, 200), size=13, weight="bold", va="top"), WIDTH * 0.96)
    lines = textwrap.wrap(plain(subtitle, 230), 118)[:2]
    figure.text(0.02, 1 - 0.42 * inch, "\n".join(lines), size=8.5, color=SOFT, va="top")


def _axes(axes: "Axes", lines: Sequence[Line], ideal: Line | None, unit: str) -> None:
    import matplotlib.ticker as mt

    drawn = [*lines, *([ideal] if ideal else [])]
    counts = [count for line in drawn for count in line.devices] or [1]
    values = [value for line in drawn for value in (*line.values, *(line.high or []))] or [1.0]
    axes.set_xscale("log", base=2)
    axes.set_xlim(min(counts) / 1.15, max(counts) * 1.15)
    axes.xaxis.set_major_locator(mt.FixedLocator(readable_ticks(counts)))
    axes.xaxis.set_major_formatter(mt.FuncFormatter(lambda count, _: f"{count:.0f}"))
    ticks: mt.Locator = mt.MaxNLocator(6, steps=[1, 2, 2.5, 5, 10])
    if ideal:
        # Both logarithmic: the ideal is straight, and equal gaps to it are equal efficiencies.
        axes.set_yscale("log", base=2)
        axes.set_ylim(min(values) / 1.15, max(values) * 1.15)
        if max(values) / min(values) > WIDE:
            ticks = mt.LogLocator(2)
    else:
        axes.set_ylim(0, max(values) * 1.05)
    axes.yaxis.set_major_locator(ticks)
    axes.yaxis.set_major_formatter(mt.FuncFormatter(lambda value, _: f"{value:,.10g}"))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(mt.NullLocator())
    axes.set_xlabel("devices (logarithmic)")
    axes.text(0, 1, f"{unit}\n", transform=axes.transAxes, va="center", color=SOFT)
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _draw(axes: "Axes", line: Line, style: Style) -> None:
    xs, ys = _between(line) if axes.get_yscale() == "linear" else (line.devices, line.values)
    linestyle = (0, style.dashes) if style.dashes else "-"
    axes.plot(xs, ys, color=style.color, linewidth=1.6, linestyle=linestyle)
    axes.plot(line.devices, line.values, linestyle="", zorder=3, **marker(style))
    if line.low and line.high:
        columns = zip(line.values, line.low, line.high, strict=True)
        reach = [(max(value - low, 0), max(high - value, 0)) for value, low, high in columns]
        below, above = zip(*reach, strict=True)
        axes.errorbar(
            line.devices,
            line.values,
            yerr=(below, above),
            fmt="none",
            ecolor=style.color,
            elinewidth=1.2,
            capsize=3.5,
        )


def _between(line: Line, samples: int = 24) -> tuple[list[float], list[float]]:
    """Sample the line so that it is straight in devices.

    A chord straight on the picture, whose devices are logarithmic and images/s are not, would
    promise more images/s between 1 and 8 devices than either end gives per device.
    """
    xs, ys = [float(line.devices[0])], [line.values[0]]
    for index in range(1, len(line.devices)):
        x0, x1 = line.devices[index - 1 : index + 1]
        y0, y1 = line.values[index - 1 : index + 1]
        for step in range(1, samples + 1):
            x = x0 * (x1 / x0) ** (step / samples)
            xs.append(x)
            ys.append(y0 + (y1 - y0) * (x - x0) / (x1 - x0))
    return xs, ys


def _labels(entries: Sequence[tuple[Line, Style]], largest: int, unit: str) -> list[Label]:
    labels = []
    for line, style in entries:
        count, value = line.devices[-1], line.values[-1]
        notes = [f"at {count}"] * (count != largest) + [plain(line.note)] * bool(line.note)
        amount = f"{value:.2f}" if unit == "speedup" else f"{value:,.{_decimals(value)}f}"
        labels.append(Label(count, value, amount, plain(line.name), ", ".join(notes), style))
    return labels


def _decimals(value: float) -> int:
    """Decimals that leave a throughput three digits at least."""
    return max(0, 2 - math.floor(math.log10(value)))
