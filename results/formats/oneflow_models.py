"""What Oneflow-Inc/models prints for ResNet-50, a line per `--print-interval` (100) iterations.

Read off github.com/Oneflow-Inc/models at fc7cbf8da9b2ee21fa0e9613dd0668c3b45dad4d,
Vision/classification/image/resnet50/utils/logger.py, lines 46 to 65, and train.py:

    [rank:0] [train], epoch: 0/50, iter: 100/3336, loss: 1.73064, lr: 0.004604, top1: 0.00208,
      throughput: 159.71 | 2021-09-14 10:00:00.123                       (all on one line)

The throughput is of this rank and a mean since the line before; every rank prints by default. Epochs
count from 0, iterations from 1. Under nn.Graph there is no `lr`; before September 2021 the rank is
`[0]` and there is no stamp.
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="oneflow-models",
    hints=(b"] [train], epoch: ", b"] [eval], epoch: "),
    step=re.compile(
        rb"\[(?:rank:)?(?P<rank>\d{1,6})\] \[train\], epoch: (?P<epoch>\d{1,6})/\d{1,6}, "
        rb"iter: (?P<index>\d{1,9})/\d{1,9}, loss: (?P<loss>nan|-?inf|-?\d{1,20}\.\d{1,20}), "
        rb"[^\n\v]{0,80}?throughput: (?P<rate>\d{1,12}\.\d{1,9})(?![\d.])"
    ),
    covers="since the last",
    sources=("rate",),
    scope="rank",
    first=1,
    begin=re.compile(rb"\*{5} Model Init \*{5}"),
    pause=re.compile(rb"\] \[eval\], epoch: |Saving model to"),
    other=re.compile(rb"\] \[eval\], epoch: "),
    facts={
        "batch_size": re.compile(rb"^ {1,4}train_batch_size \.{1,48} (\d{1,9})$", re.MULTILINE),
        "global_batch": re.compile(
            rb"^ {1,4}train_global_batch_size \.{1,48} (\d{1,9})$", re.MULTILINE
        ),
        "devices": re.compile(rb"^ {1,4}num_devices_per_node \.{1,48} (\d{1,9})$", re.MULTILINE),
        "nodes": re.compile(rb"^ {1,4}num_nodes \.{1,48} (\d{1,9})$", re.MULTILINE),
        "precision": re.compile(rb"^ {1,4}use_fp16 \.{1,48} (True|False)$", re.MULTILINE),
    },
)
