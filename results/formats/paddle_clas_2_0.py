"""What PaddleClas 2.0 and 2.1 print, a line per `print_interval` (10) iterations.

Read off github.com/PaddlePaddle/PaddleClas at release/2.0 (3384dcaa) and release/2.1 (a518e453),
tools/program.py:

    2020-11-04 17:25:52 INFO: epoch:0  , train step:50  , top1: 0.0, top5: 0.0, loss: 6.92,
      lr: 0.1, batch_cost: 0.28419 s, reader_cost: 0.00056 s, ips: 225.20036 images/sec.

(on one line.) `ips` is of this rank and a mean over all iterations of the epoch from the 11th on.
The first rank prints. Epochs and iterations count from 0. The stamp is local time.
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="paddle-clas-2.0",
    hints=(b"train step:", b" batch_cost: "),
    step=re.compile(
        rb"epoch:(?P<epoch>\d{1,6}) {0,8},? {1,8}train step:(?P<index>\d{1,9}) {0,8},? "
        rb"[^\n\v]{0,300}?loss: {1,4}(?P<loss>nan|-?inf|-?\d{1,20}\.\d{1,20})[, ][^\n\v]{0,200}?"
        rb"batch_cost: (?P<seconds>\d{1,9}\.\d{1,9}) s, [^\n\v]{0,100}?"
        rb"ips: (?P<rate>\d{1,12}\.\d{1,9}) images/sec"
    ),
    covers="all so far",
    mean_from=10,
    sources=("rate",),
    scope="rank",
    other=re.compile(rb"(?:valid|eval) step:"),
)
