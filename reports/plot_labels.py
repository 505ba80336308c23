"""Names each line of a plot at its right end, instead of in a legend."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from reports.plot_style import Style, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

SOFT = "#666666"  # what is said in passing
PITCH = 0.19  # inches between two labels
_SIZE, _NOTE_SIZE = 9.5, 8.0  # points
_MARKER, _VALUE, _NAME, _NOTE = 0.2, 0.32, 0.08, 0.06  # inches of space before each
_EDGE = 0.12  # inches between the longest label and the picture's edge
_NAME_LIMIT, _NOTE_LIMIT = 2.2, 1.5  # inches; what is longer is cut, and the axes stay readable


class Label(NamedTuple):
    """What is written for the line that ends at `x`, `y` (as its axes count)."""

    x: float
    y: float
    value: str
    name: str
    note: str
    style: Style


def label_ends(figure: "Figure", axes: "Axes", labels: Sequence[Label], header: str) -> None:
    """Write the labels in a column under `header`, and make the axes narrower for them."""
    width, height = figure.get_size_inches()
    values = [_text(axes, one.value, ha="right", weight=_weight(one.style)) for one in labels]
    names = [_text(axes, one.name, limit=_NAME_LIMIT) for one in labels]
    notes = [
        _text(axes, one.note, limit=_NOTE_LIMIT, size=_NOTE_SIZE, color=SOFT) for one in labels
    ]
    value_x = _VALUE + max(width for _, width in values)
    name_x = value_x + _NAME
    ends = [
        name_x + name + (_NOTE + note if note else 0)
        for (_, name), (_, note) in zip(names, notes, strict=True)
    ]
    box = axes.get_position()
    across = width * (1 - box.x0) - max(ends) - _EDGE  # inches
    axes.set_position((box.x0, box.y0, across / width, box.height))

    to_axes = axes.transData + axes.transAxes.inverted()
    points = [tuple(to_axes.transform((label.x, label.y)).tolist()) for label in labels]
    gap = PITCH / (box.height * height)
    heights = spread([y for _, y in points], gap=gap, low=0.02, high=0.96)
    _text(axes, f"{header}\n", color=SOFT)[0].set_position((1 + (_MARKER - 0.06) / across, 1))
    for index, (label, place) in enumerate(zip(labels, heights, strict=True)):
        name, name_width = names[index]
        values[index][0].set_position((1 + value_x / across, place))
        name.set_position((1 + name_x / across, place))
        notes[index][0].set_position((1 + (name_x + name_width + _NOTE) / across, place))
        marker_x = 1 + _MARKER / across
        _handle(axes, label.style, points[index], (marker_x, place), 1 + _MARKER / 2 / across)


def _weight(style: Style) -> str:
    return "bold" if style.marker else "normal"  # the ideal is no result


def _text(axes: "Axes", text: str, *, limit: float = 9.0, **how: Any) -> tuple["Text", float]:
    """Write a text of at most `limit` inches, to be placed in axes coordinates; and its width."""
    how = {"size": _SIZE, **how}
    artist = axes.text(0, 0, text, transform=axes.transAxes, va="center", **how)
    return artist, shorten(artist, limit) if text else 0.0


def shorten(artist: "Text", limit: float) -> float:
    """Cut a text that is wider than `limit` inches; returns the width it has then."""
    text, dpi = artist.get_text(), artist.figure.dpi
    while len(text) > 1 and artist.get_window_extent().width / dpi > limit:
        text = text[:-1]
        artist.set_text(text.rstrip() + "…")
    return float(artist.get_window_extent().width / dpi)


def _handle(
    axes: "Axes", style: Style, start: tuple[float, float], end: tuple[float, float], bend: float
) -> None:
    """Lead from the end of a line to its marker in the column."""
    how: dict[str, Any] = {"transform": axes.transAxes, "clip_on": False, "color": style.color}
    axes.plot(
        [start[0], bend, end[0]],
        [start[1], end[1], end[1]],
        linewidth=0.8,
        alpha=0.7,
        zorder=1.5,
        **how,
    )
    axes.plot(end[0], end[1], linestyle="", **how, **marker(style))


def marker(style: Style) -> dict[str, Any]:
    """Spell a style's marker out for matplotlib."""
    return {
        "marker": style.marker,
        "markersize": 6.5,
        "markerfacecolor": "white" if style.hollow else style.color,
        "markeredgecolor": style.color if style.hollow else "white",
        "markeredgewidth": 1.4 if style.hollow else 0.7,
    }
