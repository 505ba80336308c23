"""MLPerf `:::MLLOG` lines, as our training scripts print them (benchmarks/common/step_log.py).

The form is that of mlperf_logging/mllog in github.com/mlcommons/logging. A `step` line holds the
end of a step in seconds on the rank's own clock; step numbers start at 1. Lines that are cut,
mangled or not ours are passed over: a gap in the steps then shows in the window.
"""

import re
from typing import Any

import msgspec
import numpy as np

from results.errors import InputError
from results.logs.format import Format
from results.rank_log import RankLog

NAME = "mllog"
MOST_SECONDS = 1e9  # thirty years: a stamp beyond is none
_TOKEN = b":::MLLOG "


class _Metadata(msgspec.Struct):
    step: int = 0
    loss: float | str | None = None
    data_seconds: float = float("nan")
    status: str = ""
    reason: str = ""


class _Line(msgspec.Struct):
    key: str
    value: Any
    metadata: _Metadata


_DECODER = msgspec.json.Decoder(_Line)


_KEY = rb':::MLLOG \{[^\n]{0,200}?"key": "%s", "value": '

# One such log alone, as `dlscale parse LOG` is given it; those of a run are read by `read`, below.
FORMAT = Format(
    name=NAME,
    hints=(_TOKEN,),
    step=re.compile(
        (_KEY % b"step")
        + rb'(?P<stamp>\d{1,9}(?:\.\d{1,12})?(?:e[-+]\d{1,2})?), "metadata": \{"step": '
        rb'(?P<index>\d{1,9})(?:, "loss": "?(?P<loss>nan|-?inf|-?\d{1,20}(?:\.\d{1,20})?'
        rb'(?:e[-+]\d{1,3})?)"?)?'
    ),
    covers="since the last",
    sources=("stamp",),
    scope="rank",
    first=1,
    facts={
        "global_batch": re.compile((_KEY % b"global_batch_size") + rb"(\d{1,9})"),
        "ranks": re.compile((_KEY % b"world_size") + rb"(\d{1,9})"),
        "version": re.compile((_KEY % b"framework_version") + rb'"([^"\n]{1,80})"'),
    },
)


def read(log: bytes) -> RankLog:
    """Read one rank's log. Of a key printed several times, the last counts.

    Raises `InputError` where it has no such line at all.
    """
    if _TOKEN not in log:
        raise InputError("the log has no :::MLLOG line.")
    last: dict[str, _Line] = {}
    steps: dict[int, tuple[float, float, float]] = {}
    for text in log.splitlines():
        begin = text.find(_TOKEN)
        if begin < 0:
            continue
        try:
            line = _DECODER.decode(text[begin + len(_TOKEN) : text.rfind(b"}") + 1])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if (
            line.key == "step"
            and isinstance(line.value, int | float)
            and abs(line.value) < MOST_SECONDS
        ):
            about = line.metadata
            steps[about.step] = (float(line.value), _number(about.loss), about.data_seconds)
        else:
            last[line.key] = line
    count = _unbroken(steps)
    table = np.array([steps[step] for step in range(1, count + 1)]).reshape(count, 3)
    stop = last.get("run_stop")
    status = stop.metadata.status if stop else ""
    return RankLog(
        format=NAME,
        rank=_whole(last, "rank"),
        world_size=_whole(last, "world_size"),
        global_batch=_whole(last, "global_batch_size"),
        parameters=_whole(last, "parameter_count"),
        weights_checksum=_words(last, "weights_checksum"),
        framework_version=_words(last, "framework_version"),
        device_name=_words(last, "device_name"),
        ends=table[:, 0],
        losses=table[:, 1],
        waits=table[:, 2],
        status="success" if status == "success" else "aborted" if status == "aborted" else "",
        reason=stop.metadata.reason if stop else "",
    )


def _number(loss: float | str | None) -> float:
    """Return a loss as a float; JSON has no word for one that is not finite, so it is a string."""
    try:
        return float("nan" if loss is None else loss)
    except ValueError:
        return float("nan")


def _unbroken(steps: dict[int, tuple[float, float, float]]) -> int:
    """Return how many steps there are from step 1 on without a gap."""
    count = 0
    while count + 1 in steps:
        count += 1
    return count


def _whole(lines: dict[str, _Line], key: str) -> int | None:
    value = lines[key].value if key in lines else None
    return value if isinstance(value, int) else None


def _words(lines: dict[str, _Line], key: str) -> str:
    value = lines[key].value if key in lines else ""
    return value if isinstance(value, str) else ""
