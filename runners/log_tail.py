"""Looking at the logs of a repeat while it runs, and at their ends after it."""

import re
from pathlib import Path

_PHASE = re.compile(rb'"key": "phase", "value": "([a-z-]+)"')
# Enough for a traceback and what was printed around it.
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


def read_logs(folder: Path) -> dict[str, str]:
    """Return the end of each log of a repeat by its name, ranks' before launchers'."""
    paths = sorted(folder.glob("*.log"), key=lambda path: (path.name.startswith("launcher"), path))
    logs = {}
    for path in paths:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _MOST_BYTES))
            logs[path.stem] = file.read().decode("utf-8", "replace")
    return logs
