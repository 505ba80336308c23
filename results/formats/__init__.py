"""Log formats, one module each: adding a format is adding a file to this folder.

A module of a format has three names: `NAME`, `recognise(log: bytes) -> bool`, and
`read(log: bytes) -> RankLog`.
"""

import importlib
import pkgutil
from functools import cache
from typing import Protocol, cast

from results.errors import InputError
from results.rank_log import RankLog


class Format(Protocol):
    """What the module of a format offers."""

    NAME: str

    def recognise(self, log: bytes) -> bool:
        """Tell from its content whether a log has this format."""

    def read(self, log: bytes) -> RankLog:
        """Read a log of this format; what it does not say is None or empty."""


@cache
def formats() -> tuple[Format, ...]:
    """Return every format in this folder, in the order of their module names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(cast("Format", importlib.import_module(f"{__name__}.{name}")) for name in names)


def read_log(log: bytes) -> RankLog:
    """Read a log in whichever format its content shows; `InputError` where it has none."""
    for candidate in formats():
        if candidate.recognise(log):
            return candidate.read(log)
    known = ", ".join(candidate.NAME for candidate in formats())
    raise InputError(f"the log has no line of a known format ({known}).")
