"""Rendering the Markdown templates: whatever comes from outside stays plain text."""

import re
from collections.abc import Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup

TEMPLATES = Path(__file__).parent / "templates"
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")


def escape(text: object) -> str:
    """Return text in which nothing is Markdown, HTML or mathematics any more, on one line."""
    whole = str(text).encode("utf-8", "replace").decode()
    line = _CONTROL.sub("", " ".join(whole.split()))
    return _SPECIAL.sub(r"\\\1", "".join(_HTML.get(sign, sign) for sign in line))


def escaped(value: object) -> object:
    """Turn text that is not markup already into markup that shows it as it is."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return Markup(escape(value))  # noqa: S704 - just escaped


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], align: str = "--:") -> Markup:
    """Return a Markdown table; the first column is flushed left, the others as `align` says."""
    aligns = [":--", *[align] * (len(headings) - 1)]
    lines = [map(escape, headings), aligns, *(map(escape, row) for row in rows)]
    return Markup("\n".join(f"| {' | '.join(line)} |" for line in lines))  # noqa: S704 - escaped


def code(lines: Sequence[str]) -> Markup:
    """Return lines as an indented code block, which nothing inside them can end."""
    plain = (line.encode("utf-8", "replace").decode().split("\n") for line in lines)
    shown = [_CONTROL.sub("", part) for parts in plain for part in parts]
    return Markup("\n".join(f"    {line}" for line in shown))  # noqa: S704 - code is text


def environment() -> jinja2.Environment:
    """Return the environment of the templates, in which every `{{ value }}` is escaped."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=escaped,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["code"] = code
    made.globals["table"] = table
    return made
