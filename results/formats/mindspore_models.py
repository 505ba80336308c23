"""What mindspore/models prints for ResNet, a line per epoch.

Read off github.com/mindspore-ai/models, official/cv/ResNet: src/callback.py at 2c3e9fa4, `LossCallBack`,
and src/logger.py at 145444c6:

    2023-03-29 12:14:16,942:INFO:epoch: [2/90] loss: 1.45, epoch time: 3.536 s, per step time: 18.137 ms

The epoch's time is in s and its steps' in ms: their ratio is the number of steps. It is of the rank
that prints (on a console every eighth), without validation; the first holds the compilation. The
stamp is local time. Epochs count from 1.
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="mindspore-models",
    hints=(b", epoch time: ",),
    step=re.compile(
        rb"epoch: \[(?P<epoch>\d{1,6})/\d{1,6}\] "
        rb"loss: (?P<loss>nan|-?inf|-?\d{1,20}\.\d{1,20}), "
        rb"epoch time: (?P<seconds>\d{1,12}\.\d{1,9}) s, "
        rb"per step time: (?P<step_ms>\d{1,12}\.\d{1,9}) ms"
    ),
    covers="since the last",
    sources=("seconds",),
    scope="rank",
    first=1,
    only_training=True,
    facts={
        "batch_size": re.compile(rb"--> batch_size: (\d{1,9})"),
        "ranks": re.compile(rb"--> device_num: (\d{1,9})"),
        "model": re.compile(rb"--> net_name: (\S{1,80})"),
    },
)
