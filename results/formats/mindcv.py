"""What mindcv prints, a line per `log_interval` (100) steps.

Read off github.com/mindspore-lab/mindcv at 51b0636da1e38a44a52edf76cf314d1c7c18883a,
mindcv/utils/callbacks.py, `StateMonitor`, lines 133 to 222, and at v0.1:

    [2023-06-13 12:00:00] mindcv.utils.callbacks INFO - Epoch: [1/90], batch: [100/391],
      loss: 6.912345, lr: 0.001000, time: 12.345678s                     (all on one line)
    Epoch: 1, batch:[100/391], loss:6.912345, lr: 0.0010000,  time:12.345678s

The time is the sum of the steps since the line before, without what lies between steps: where the
host feeds them (no sink) the wait for data is not in it. In sink mode, the default, an epoch is one
line. It is of the rank that prints: on a console the first, in rankN.log each. Epochs and steps count
from 1. The stamp is local time, in whole seconds.
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="mindcv",
    hints=(b"batch:", b"Essential Experiment Configurations:"),
    step=re.compile(
        rb"Epoch: (?:\[ {0,6})?(?P<epoch>\d{1,6})(?:/\d{1,6}\])?, "
        rb"batch: ?\[ {0,8}(?P<index>\d{1,9})/\d{1,9}\], "
        rb"loss: ?(?P<loss>nan|-?inf|-?\d{1,20}\.\d{1,20}), lr: ?\S{1,24} {1,4}"
        rb"time: ?(?P<seconds>\d{1,9}\.\d{1,9})s"
    ),
    covers="since the last",
    sources=("seconds",),
    scope="rank",
    first=1,
    only_training=True,
    begin=re.compile(rb"Start training|Resume training from"),
    other=re.compile(rb"Validation Top_1_Accuracy"),
    facts={
        "batch_size": re.compile(rb"^Batch size: (\d{1,9})", re.MULTILINE),
        "ranks": re.compile(rb"^Number of devices: (\d{1,9})", re.MULTILINE),
        "model": re.compile(rb"^Model: (\S{1,80})$", re.MULTILINE),
        "precision": re.compile(rb"^Auto mixed precision: (O\d)", re.MULTILINE),
    },
)
