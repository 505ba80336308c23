"""What mindspore/models prints for ResNet where the host sees each step, a line per 10 steps.

Read off github.com/mindspore-ai/models, official/cv/ResNet/src/callback.py at 2c3e9fa4 (CPUs, and
with a parameter server):

    2023-03-26 13:43:39,342:INFO:epoch: [1/10] step: [10/85], lr: 0.001, loss: 1.2, per step time: 804.0 ms

The time is a mean since the line before, with the wait for data, of the rank that prints. The stamp
is local time. Epochs and steps count from 1.
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="mindspore-models-steps",
    hints=(b"] step: [",),
    step=re.compile(
        rb"epoch: \[(?P<epoch>\d{1,6})/\d{1,6}\] step: \[(?P<index>\d{1,9})/\d{1,9}\], "
        rb"lr: \S{1,20} loss: (?P<loss>nan|-?inf|-?\d{1,20}\.\d{1,20}), "
        rb"per step time: (?P<ms>\d{1,12}\.\d{1,9}) ms"
    ),
    covers="mean since the last",
    sources=("seconds",),
    scope="rank",
    first=1,
    facts={
        "batch_size": re.compile(rb"--> batch_size: (\d{1,9})"),
        "ranks": re.compile(rb"--> device_num: (\d{1,9})"),
        "model": re.compile(rb"--> net_name: (\S{1,80})"),
    },
)
