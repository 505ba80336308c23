"""How a line is told from the others, and where its label goes. Nothing here draws."""

import re
from collections.abc import Sequence
from typing import NamedTuple


class Style(NamedTuple):
    """A colour, a marker and dashes, as matplotlib names them; `hollow` markers are unfilled."""

    color: str
    marker: str
    dashes: tuple[float, ...] = ()
    hollow: bool = False


# Okabe & Ito, "Color Universal Design" (2008), with its yellow darkened to stand out on white
# and a grey added. Kept by name, so that an implementation looks the same on every page. A
# dashed line is one of NVIDIA's containers.
_NGC = (5.0, 2.0)
KNOWN = {
    "oneflow": Style("#000000", "o"),
    "ngc-mxnet": Style("#0072B2", "s", _NGC),
    "ngc-tensorflow": Style("#E69F00", "^", _NGC),
    "ngc-pytorch": Style("#D55E00", "D", _NGC),
    "mxnet": Style("#56B4E9", "v"),
    "tensorflow": Style("#B8A800", "P"),
    "pytorch": Style("#CC79A7", "X"),
    "paddlepaddle": Style("#009E73", "h"),
    "mindspore": Style("#777777", "d"),
}
_VARIANT = (1.2, 1.6)


def styles_for(names: Sequence[str]) -> list[Style]:
    """One style for each name, none twice among the first 18.

    A known implementation keeps its own; a second line of it (another option) has the same
    colour, dotted and hollow. An unknown name takes the first style that is free.
    """
    own = [_known(name) for name in names]
    free = [key for key in KNOWN if key not in own]
    used: dict[str, int] = {}
    styles = []
    for index, known in enumerate(own):
        key = known or (free.pop(0) if free else list(KNOWN)[index % len(KNOWN)])
        style = KNOWN[key]
        if used.get(key):
            style = style._replace(dashes=_VARIANT, hollow=True)
        used[key] = used.get(key, 0) + 1
        styles.append(style)
    return styles


def _known(name: str) -> str | None:
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower())
    return max((key for key in KNOWN if slug.startswith(key)), key=len, default=None)


def spread(wanted: Sequence[float], *, gap: float, low: float, high: float) -> list[float]:
    """Positions at least `gap` apart within [low, high], as near to the wanted ones as can be.

    Same order as `wanted`; least squares by pooling adjacent violators. More positions than
    fit are packed evenly.
    """
    if not wanted:
        return []
    gap = min(gap, (high - low) / max(len(wanted) - 1, 1))
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    blocks: list[tuple[float, int]] = []  # mean and size; without the gaps, values must not fall
    for rank, index in enumerate(order):
        mean, size = wanted[index] - rank * gap, 1
        while blocks and blocks[-1][0] >= mean:
            other, count = blocks.pop()
            mean = (mean * size + other * count) / (size + count)
            size += count
        blocks.append((mean, size))
    top = high - (len(wanted) - 1) * gap
    means = [min(max(mean, low), top) for mean, size in blocks for _ in range(size)]
    placed = [0.0] * len(wanted)
    for rank, index in enumerate(order):
        placed[index] = means[rank] + rank * gap
    return placed


def readable_ticks(devices: Sequence[int], *, ratio: float = 1.2) -> list[int]:
    """Those device counts, smallest and largest included, that can be labelled on a log axis.

    `ratio` is how far apart two labelled counts have to be.
    """
    counts = sorted(set(devices), reverse=True)
    kept = counts[:1]
    for count in counts[1:]:
        if kept[-1] / count >= ratio:
            kept.append(count)
    if counts and kept[-1] != counts[-1]:
        kept[-1 if len(kept) > 1 else len(kept) :] = [counts[-1]]
    return sorted(kept)


def plain(text: str, limit: int = 60) -> str:
    """Text from outside on one line, without control characters, at most `limit` long."""
    line = "".join(char if char.isprintable() else " " for char in text)
    line = " ".join(line.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
