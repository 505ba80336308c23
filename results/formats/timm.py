"""What timm's train.py prints, a line per `--log-interval` (50) updates.

Read off github.com/huggingface/pytorch-image-models at 8ef73809f622e0031bd7f4940265734aef8b9978
(v1.0.28), train.py, lines 1329 to 1360, and at v0.4.12:

    Train: 0 [  50/1251 (  4%)]  Loss: 6.95 (6.96)  Time: 0.402s, 2547.26/s  (0.431s, 2375.87/s)
      LR: 1.000e-05  Data: 0.011 (0.043)        (all on one line)
    Train: 0 [  50/1251 (  4%)]  Loss:  6.945770 (6.9612)  Time: 0.402s, 2547.26/s  (...)

`Time` is that of the last update alone, by the clock of the first rank, which alone prints; the rate
counts the images of all ranks, and has more digits. Figures in brackets are running means over the
epoch. Every process says once that it begins. Updates count from 0. There is no stamp, and no line
says the batch size.
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="timm",
    hints=(b"Train: ", b"Training with a single process on", b"Training in distributed mode with"),
    step=re.compile(
        rb"Train: (?P<epoch>\d{1,6}) \[ {0,8}(?P<index>\d{1,9})/\d{1,9} \( {0,3}\d{1,3}%\)\] {1,4}"
        rb"Loss: {1,4}(?P<loss>nan|-?inf|-?\d{1,20}\.\d{0,20}(?:e[-+]\d{1,3})?) {1,4}\([^)\n]{1,40}\) {1,4}"
        rb"Time: {1,4}\d{1,9}\.\d{1,9}s, {1,9}(?P<rate>\d{1,9}\.\d{1,9})/s"
    ),
    covers="one step",
    sources=("rate",),
    first_alone=True,
    begin=re.compile(rb"Training with a single process on|Process 0, total "),
    rank_begin=re.compile(rb"Process (\d{1,6}), total \d{1,6}, device"),
    other=re.compile(rb"Test: {1,4}\[ {0,8}\d{1,9}/\d{1,9}\]"),
    facts={
        "ranks": re.compile(rb"Process \d{1,6}, total (\d{1,6}), device"),
        "model": re.compile(rb"^Model (\S{1,80}) created, param count:", re.MULTILINE),
    },
)
