"""Looking at the logs of a repeat while it runs, and at their ends after it."""

import re
import time
from pathlib import Path

from results.case import Case
from results.script_output import is_settled, output_of

_PHASE = re.compile(rb'"key": "phase", "value": "([a-z-]+)"')
# Enough for a traceback and what was printed around it.
LOOK_SECONDS = 1.0
_MOST_BYTES = 256 * 1024


class PhaseReader:
    """Reports each `phase` line of a growing log once."""

    def __init__(self, path: Path) -> None:
        """Follow `path`, which need not be there yet."""
        self._path = path
        self._position = 0

    def news(self) -> list[str]:
        """Return the phases that began since the last call."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._position)
                text = file.read(_MOST_BYTES)
        except OSError:
            return []
        whole = text.rfind(b"\n") + 1
        self._position += whole or len(text) // _MOST_BYTES * _MOST_BYTES  # an endless line
        return [name.decode() for name in _PHASE.findall(text[:whole])]


class Enough:
    """Tells whether the growing output of a script shows all that is to be measured."""

    def __init__(self, case: Case, folder: Path) -> None:
        """Look at what the nodes of a case print into `folder`."""
        self._case, self._folder = case, folder
        self._next = 0.0
        self._size = 0
        self.reached = False

    def is_there(self) -> bool:
        """Look again, where that was not done just now and there is more to see."""
        now = time.monotonic()
        if self.reached or now < self._next:
            return self.reached
        self._next = now + LOOK_SECONDS  # a look takes milliseconds from the training
        logs = output_of(self._folder)
        size = sum(path.stat().st_size for path in logs.values())
        if size > self._size:
            self._size = size
            self.reached = is_settled(self._case, logs)
        return self.reached


def read_logs(folder: Path) -> dict[str, str]:
    """Return the end of each log of a repeat by its name, ranks' before launchers'."""
    paths = sorted(folder.glob("*.log"), key=lambda path: (path.name.startswith("launcher"), path))
    logs = {}
    for path in paths:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _MOST_BYTES))
            logs[path.stem] = file.read().decode("utf-8", "replace")
    return logs
