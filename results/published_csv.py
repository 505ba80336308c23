"""Reads a CSV file of published figures into typed rows, and refuses what is malformed."""

import csv
import math
import re
import types
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from results.errors import InputError

Row = TypeVar("Row", bound=msgspec.Struct)

# Nine digits are more than any figure needs, and less than what `int` or `float` choke on.
_WHOLE = re.compile(r"[0-9]{1,9}", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?", re.ASCII)
_WORDS = {"yes": True, "no": False}
_NOT_APPLICABLE = ("n/a", "n/a (synthetic data)")


def read_rows(path: Path, row_type: type[Row]) -> tuple[Row, ...]:
    """Every row of a CSV file whose header is exactly the fields of `row_type`, in file order.

    An empty cell takes the field's default; a field without one must not be empty. Raises
    `InputError` naming file, line, column and value.
    """
    fields = msgspec.structs.fields(row_type)
    rows = []
    for number, cells in _records(path, [field.encode_name for field in fields]):
        values: dict[str, object] = {}
        for field, cell in zip(fields, cells, strict=True):
            if cell == "" and not field.required:
                continue
            try:
                values[field.name] = _value(cell, field.type)
            except ValueError as error:
                raise InputError(
                    f"{path}, line {number}, column {field.encode_name}: {cell[:80]!r} is not "
                    f"{error}; put the cell right or take the file from a fresh checkout"
                ) from None
        rows.append(row_type(**values))
    return tuple(rows)


def _records(path: Path, columns: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the cells of each record after the header."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = next(reader, [])
            if header != columns:
                raise InputError(
                    f"{path}, line 1: the columns are {','.join(header)[:400]!r}, "
                    f"but {','.join(columns)!r} is read; take the file from a fresh checkout"
                )
            start = reader.line_num + 1
            for cells in reader:
                if len(cells) != len(columns):
                    raise InputError(
                        f"{path}, line {start}: {len(cells)} cells where the header has "
                        f"{len(columns)}; the line begins {','.join(cells)[:80]!r}, put it right"
                    )
                yield start, cells
                start = reader.line_num + 1
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"{path}: not readable as CSV in UTF-8 ({error}); take the file from a fresh checkout"
        ) from error


def _value(cell: str, kind: Any) -> object:
    """Convert a cell to the annotation `kind`; the ValueError says what it should have been."""
    origin, choices = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):  # only ever `X | None`
        if cell in _NOT_APPLICABLE and bool in choices:
            return None
        return _value(cell, next(choice for choice in choices if choice is not type(None)))
    if origin is Literal:
        if cell not in choices:
            raise ValueError("one of " + ", ".join(choices))
        return cell
    return _PARSERS[kind](cell)


def _whole(cell: str) -> int:
    if not _WHOLE.fullmatch(cell) or int(cell) == 0:
        raise ValueError("a whole number above 0")
    return int(cell)


def _decimal(cell: str) -> Decimal:
    if not _NUMBER.fullmatch(cell) or math.isclose(float(cell), 0):
        raise ValueError("a number above 0")
    return Decimal(cell)


def _text(cell: str) -> str:
    if not cell.strip() or not cell.isprintable():
        raise ValueError("a line of text")
    return cell


def _word(cell: str) -> bool:
    if cell not in _WORDS:
        raise ValueError("yes or no")
    return _WORDS[cell]


_PARSERS: dict[Any, Any] = {
    int: _whole,
    float: lambda cell: float(_decimal(cell)),
    Decimal: _decimal,
    str: _text,
    bool: _word,
}
