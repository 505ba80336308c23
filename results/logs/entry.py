"""One printed entry of a log, and the clocks that stamp it."""

import re
from datetime import date
from typing import NamedTuple

SECONDS_PER_DAY = 86_400.0
_CLOCK = re.compile(
    rb"(?:(?:(\d{4})[-/])?(\d\d)[-/]?(\d\d)[ T-])?(\d{1,2}):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
)


class Entry(NamedTuple):
    """One printed entry. What the format does not print is None; times are in seconds.

    `line` counts from 1. `step` is the index as printed; `covered` is how many steps it is about
    where the line says so; `seconds`, `mean` and `rate` are what the format says they are; `stamp`
    is comparable only with those of the same rank. `paused`: training halted before it.
    """

    line: int
    epoch: int
    step: int | None
    covered: int | None
    seconds: float | None
    mean: float | None
    rate: float | None
    stamp: float | None
    loss: float | None
    accuracy: float | None
    wait: float | None
    rank: int | None
    paused: bool

    @property
    def figures(self) -> tuple[object, ...]:
        """What two lines have in common that are one entry printed twice."""
        return (self.epoch, self.step, self.seconds, self.rate, self.loss)


def seconds_of(clock: bytes) -> float | None:
    """Return date and time of day as seconds: only differences mean anything.

    Takes `2020-10-22 16:29:14.872038`, the `0416 21:59:00.685592` of glog and absl (no year), and a
    time alone. None where it is no date or time.
    """
    match = _CLOCK.match(clock)
    if not match:
        return None
    year, month, day, hours, minutes, seconds, fraction = match.groups()
    try:  # 2000, where the year is not said: it has every day that any year has
        days = date(int(year or 2000), int(month), int(day)).toordinal() if month else 0
    except ValueError:
        return None
    whole = int(hours) * 3600 + int(minutes) * 60 + int(seconds)
    return days * SECONDS_PER_DAY + whole + float(b"0." + (fraction or b"0"))
