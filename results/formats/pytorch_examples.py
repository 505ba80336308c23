"""What pytorch/examples' imagenet/main.py prints, one line per `--print-freq` iterations.

Read off github.com/pytorch/examples at 77f55b912142e11fcfdf5b530231fb9c52f181e8 (newest) and
49ec0bd72b85be55579ae8ceb278c66145f593e1 (DLPerf's pin), `ProgressMeter.display`:

    Epoch: [0][ 3/16]	Time  1.403 ( 2.6)	Data  0.011 ( 0.1)	Loss 7.1e+00 (7.1e+00)	Acc@1 ...

`Time` is one iteration's seconds by the host's clock, `Data` the part it waited for its input; the
figures in brackets are running means. Iterations count from 1 in the newest, from 0 in the pin.
Only a run of consecutive iterations gives the end of each step, so `--print-freq 1` is needed.
"""

import re

import numpy as np

from results.rank_log import RankLog

NAME = "pytorch-examples"
_LINE = re.compile(
    rb"Epoch: \[\d+\]\[ *(\d+)/\d+\]\tTime +(\d+\.\d+) \([^)\n]{0,40}\)"
    rb"\tData +(\d+\.\d+) \([^)\n]{0,40}\)"
    rb"\tLoss +(nan|inf|[-+]?\d+\.\d+e[-+]\d+) \("
)


def recognise(log: bytes) -> bool:
    """Tell whether a log holds at least one of these training lines."""
    return _LINE.search(log) is not None


def read(log: bytes) -> RankLog:
    """Read the last unbroken run of iterations; it has no rank, batch size or closing line."""
    iterations: list[tuple[int, float, float, float]] = []
    for index, seconds, data, loss in _LINE.findall(log):
        if iterations and int(index) != iterations[-1][0] + 1:
            iterations = []
        iterations.append((int(index), float(seconds), float(data), float(loss)))
    table = np.array(iterations).reshape(len(iterations), 4)
    return RankLog(format=NAME, ends=np.cumsum(table[:, 1]), waits=table[:, 2], losses=table[:, 3])
