"""Rendering the Markdown templates; what comes from outside stays text."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~$])")
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def escape(text: object) -> str:
    """Return text in which nothing is Markdown or HTML any more, on one line."""
    line = " ".join(str(text).split())
    line = "".join(_HTML.get(sign, sign) for sign in line)
    return re.sub(r"([\\`*_\[\]|~])", r"\\\1", line)


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; the first column is flushed left, the others right."""
    align = [":--", *["--:"] * (len(headings) - 1)]
    lines = [map(escape, headings), align, *(map(escape, row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def code(lines: Sequence[str]) -> str:
    """Return lines as an indented code block, which nothing inside them can end."""
    return "\n".join(f"    {line}" for line in lines)


def render(template: str, **values: Any) -> str:
    """Render a template of `reports/templates`; every `{{ value }}` is escaped text.

    Values that are Markdown already go through the filters `table` and `code`.
    """
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - Markdown, escaped by `text`
    )
    environment.filters.update(text=escape, code=code)
    environment.globals.update(table=table)
    return environment.get_template(template).render(**values)
