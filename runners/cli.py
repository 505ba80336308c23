"""The command `dlscale`: finds the sub-command, and turns errors into one sentence and a code."""

import argparse
import importlib
import io
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from results.errors import BenchmarkError, InputError

# In the order of a user's day; each is a module of runners.commands.
COMMANDS = {
    "bench": "run a benchmark and report it",
    "build": "make the environments of implementations before their first benchmark",
    "list": "show the implementations, their versions and what each supports",
    "parse": "compute figures from raw logs: a run's own, or anybody's",
    "report": "render a run's report again",
    "compare": "set a run beside the figures that DLPerf published",
    "audit": "compute what DLPerf published again, and list what disagrees",
    "tables": "regenerate DLPerf's tables and plots from the published figures",
    "data": "make a small sample of JPEGs, or convert images to a framework's own form",
}
INTERRUPTED = 130


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one sentence."""

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong with the arguments, naming where to look."""
        raise InputError(f"{message} (see `{self.prog} --help`).")


def main(arguments: list[str] | None = None) -> int:
    """Run `dlscale`; returns 0, 1 for a failed benchmark, 2 for bad input, 130 if interrupted."""
    words = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal of few characters stops nothing
            stream.reconfigure(errors="replace")
    try:
        with _stoppable():
            return _run(words)
    except (InputError, BenchmarkError) as error:
        print(f"dlscale: {_on_one_line(str(error))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("dlscale: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe, such as `head`, has gone
        sys.stderr.close()
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"dlscale: {_on_one_line(f'{where}{error.strerror or error}')}.", file=sys.stderr)
        return InputError.exit_code


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let SIGTERM end a command as Ctrl-C does: what it started and half made goes with it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _on_one_line(text: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in text)


def _run(words: list[str]) -> int:
    parser = Parser(
        prog="dlscale",
        description="How fast does each deep-learning framework train ResNet-50 v1.5 on your "
        "machines, and how well does it scale?",
    )
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    chosen = next((word for word in words if not word.startswith("-")), "")
    for name, about in COMMANDS.items():
        sub = commands.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
        if name == chosen:  # the others stay unloaded: --help must be quick
            module = importlib.import_module(f"runners.commands.{name}")
            module.add_arguments(sub)
            sub.set_defaults(function=module.run)
    args = parser.parse_args(words)
    if args.version:
        from importlib.metadata import version

        print(f"dlscale {version('dlscale')}")
        return 0
    if not args.command:
        parser.print_help()
        return 0
    code: int = args.function(args)
    return code


if __name__ == "__main__":
    sys.exit(main())
