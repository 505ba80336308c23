"""Log formats, one module each: adding a format is adding a file to this folder.

A module has one name that is looked for, `FORMAT`: what the format is, declared
(`results.logs.format.Format`). docs/add-a-log-format.md shows how.
"""

import importlib
import pkgutil
from functools import cache

from results.errors import InputError
from results.logs.format import Format


@cache
def formats() -> tuple[Format, ...]:
    """Return every format in this folder, in the order of their module names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(map(_format, names))


def _format(name: str) -> Format:
    form = getattr(importlib.import_module(f"{__name__}.{name}"), "FORMAT", None)
    if not isinstance(form, Format):
        raise InputError(
            f"results/formats/{name}.py has no FORMAT: declare one (docs/add-a-log-format.md)."
        )
    return form
