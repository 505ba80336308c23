"""Showing how far a run is: a live display on a terminal, a line per repeat elsewhere."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Column

from results.case import Case
from results.case_names import case_names
from results.failure import printable
from results.record import RepeatRecord, RunRecord


class Unwatched(Console):
    """A console whose reader may go away: measuring does not depend on being watched."""

    def on_broken_pipe(self) -> None:
        """Go on in silence."""
        self.quiet = True


def progress_console() -> Console:
    """Return the console for progress: standard error."""
    return Unwatched(stderr=True)


class Progress:
    """The repeats of a run as they go by."""

    def __init__(self, console: Console) -> None:
        """Show on `console`, live where it is a terminal."""
        self._console = console
        self._bars = Bars(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.description}", table_column=Column(no_wrap=True)),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bars.add_task("", total=None, left="")
        self._now = ""
        self._began = 0.0
        self._spent: list[float] = []
        self._total = self._done = 0
        self._names: dict[Case, str] = {}

    def __enter__(self) -> Self:
        """Begin the live display."""
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the live display."""
        self._bars.stop()

    def start(self, record: RunRecord, done: int) -> None:
        """Say how many repeats there are and how many were run before."""
        self._total, self._done = len(record.cases) * record.repeats, done
        self._names = case_names(record.cases)
        self._bars.update(self._task, total=self._total, completed=done)

    def begin(self, case: Case, repeat: int) -> None:
        """Say which repeat starts."""
        self._now = f"{self._names[case]} repeat {repeat}"
        self._began = time.monotonic()
        self.phase("start")

    def phase(self, name: str) -> None:
        """Say what the repeat is at: start, build, warm-up, window, check."""
        words = {"window": "measuring"}.get(name, name)
        self._bars.update(self._task, description=f"{escape(self._now)}: {escape(words)}")

    def end(self, record: RepeatRecord) -> None:
        """Say how the repeat ended."""
        self._spent.append(time.monotonic() - self._began)
        self._done += 1
        seconds = sum(self._spent) / len(self._spent) * (self._total - self._done)
        self._bars.update(self._task, completed=self._done, left=f"about {_minutes(seconds)} left")
        good = record.outcome == "completed"
        ending = f"{record.seconds:.1f} s" if good else f"{record.outcome}: {record.reason}"
        self._console.print(
            f"[dim]{self._done}/{self._total}[/] {escape(self._now)}: "
            f"[{'green' if good else 'red'}]{escape(printable(ending))}[/]",
            highlight=False,
        )


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
