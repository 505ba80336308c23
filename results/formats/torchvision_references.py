r"""What torchvision's references/classification/train.py prints, one line per `--print-freq`.

Read off github.com/pytorch/vision at 041fe3bc301e2f5f8956b3f1abcd048a9745b23a,
references/classification/utils.py, `MetricLogger.log_every`:

    Epoch: [0]  [  10/5005]  eta: 1:06:01  lr: 0.1  img/s: 318.4  loss: 6.9 (7.0)  acc1: 0.0 (0.1)
      acc5: 0.0 (0.5)  time: 0.4017  data: 0.0012  max mem: 6789        (all on one line)

`time` is the mean of the last 20 iterations at most, in seconds, `img/s` that of this rank in the
last iteration (its batch over its time). Only the first rank prints. Iterations count from 0.
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="torchvision-references",
    hints=(b"Epoch: [", b"Test:  ["),
    step=re.compile(
        rb"Epoch: \[(?P<epoch>\d{1,6})\] {1,4}\[ {0,8}(?P<index>\d{1,9})/\d{1,9}\] {1,4}eta: "
        rb"[^\n\v]{0,400}?loss: (?P<loss>nan|-?inf|-?\d{1,9}\.\d{1,9}) \("
        rb"[^\n\v]{0,400}?time: (?P<seconds>\d{1,9}\.\d{1,9})(?= )"
    ),
    covers="mean of the last 20",
    sources=("seconds",),
    scope="rank",
    begin=re.compile(rb"Creating model|Start training"),
    other=re.compile(rb"Test: {1,4}\[ {0,8}\d{1,9}/\d{1,9}\]"),
    facts={
        "batch_size": re.compile(rb"Namespace\([^\n]{0,2000}?batch_size=(\d{1,9})"),
        "ranks": re.compile(rb"Namespace\([^\n]{0,4000}?world_size=(\d{1,9})"),
        "model": re.compile(rb"Namespace\([^\n]{0,4000}?model='([^'\n]{1,80})'"),
        "precision": re.compile(rb"Namespace\([^\n]{0,2000}?amp=(True|False)"),
    },
)
