"""Values of options that several commands share, checked as they are read."""

import argparse
from pathlib import Path

from runners import paths

MOST = 1_000_000


def positive(text: str) -> int:
    """Return a whole number from 1 to a million."""
    return _between(text, 1)


def not_negative(text: str) -> int:
    """Return a whole number from 0 to a million."""
    return _between(text, 0)


def batch(text: str) -> int | str:
    """Return a number of images, or `max`."""
    if text == "max":
        return text
    try:
        return positive(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a whole number from 1 to {MOST:,}, nor max"
        ) from error


def image_size(text: str) -> int:
    """Return a size in pixels that ResNet-50 can be given: 32 and more."""
    return _between(text, 32)


def seconds(text: str) -> float:
    """Return a positive number of seconds."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number of seconds")
    return value


def absolute(text: str) -> Path:
    """Return an absolute path."""
    return Path(text).absolute()


def place(text: str) -> str:
    """Return an absolute path, since a run can go on from elsewhere."""
    if not text:
        raise argparse.ArgumentTypeError("it names nothing")
    return str(absolute(text))


def frameworks(text: str) -> str:
    """Return a comma-separated list, its names as they are and its folders as absolute paths."""
    words = [place(word) if "/" in word else word for word in names(text)]
    for word in words:
        if "," in word:
            raise argparse.ArgumentTypeError(f"{word!r} holds a comma, which parts frameworks")
    return ",".join(words)


def data(text: str) -> str:
    """Return `synthetic` as it is, and a folder as an absolute path."""
    return text if text == "synthetic" else place(text)


def names(text: str) -> list[str]:
    """Return the words of a comma-separated list."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise argparse.ArgumentTypeError(f"{text!r} names nothing")
    return words


def add_results(parser: argparse._ActionsContainer) -> None:
    """Add `--results`."""
    parser.add_argument(
        "--results", type=absolute, default=paths.RUNS, metavar="FOLDER", help="where runs are kept"
    )


def add_reports(parser: argparse._ActionsContainer) -> None:
    """Add `--reports`."""
    parser.add_argument(
        "--reports", type=absolute, default=paths.REPORTS, metavar="FOLDER", help="where reports go"
    )


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the run that a command is about."""
    parser.add_argument(
        "run", nargs="?", default="latest", help="a run's folder or id (default: the latest)"
    )
    add_results(parser)


def _between(text: str, least: int) -> int:
    value = int(text) if text.strip().isascii() and text.strip().lstrip("-").isdigit() else None
    if value is None or not least <= value <= MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} to {MOST:,}")
    return value
