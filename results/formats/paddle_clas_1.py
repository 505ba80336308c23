"""What PaddleClas 1.x prints, a line per `print_interval` (10) iterations.

Read off github.com/PaddlePaddle/PaddleClas at 36daa7700 and bbf99cf2b (2020), tools/program.py, `run`,
and release/2.0-beta (772cccd6):

    2020-12-31 19:37:26 INFO: epoch:0   train step:28060 loss:  0.9498 top1: 0.7812 lr: 0.003750 elapse: 0.467s

`elapse` is of this one iteration, with the wait for its data. The first rank prints. The batch size
of the configuration is that of the job. Epochs and iterations count from 0. The stamp is local time.
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="paddle-clas-1",
    hints=(b"train step:", b" elapse: "),
    step=re.compile(
        rb"epoch:(?P<epoch>\d{1,6}) {1,8}train step:(?P<index>\d{1,9}) {1,8}"
        rb"[^\n\v]{0,200}?loss: {1,8}(?P<loss>nan|-?inf|-?\d{1,20}\.\d{1,20}) [^\n\v]{0,200}?"
        rb"elapse: {1,8}(?P<seconds>\d{1,9}\.\d{1,9})(?:s| reader)"
    ),
    covers="one step",
    sources=("seconds",),
    scope="rank",
    other=re.compile(rb"(?:valid|eval) step:"),
)
