"""What PaddleClas 2.2 and newer print, a line per `print_batch_step` (10) iterations.

Read off github.com/PaddlePaddle/PaddleClas at d178931fca432204e6b7422bac4f92e09ff22fa4 (develop),
ppcls/engine/train/utils.py, `log_info`, and at release/2.2 (ppcls/engine/trainer.py) to 2.5.2:

    [2024/07/31 20:24:38] ppcls INFO: [Train][Epoch 24/120][Iter: 10/304]lr(PiecewiseDecay): 0.001,
      top1: 0.97, CELoss: 0.05, loss: 0.05, batch_cost: 0.62808s, reader_cost: 0.12837,
      ips: 25.47451 samples/s, eta: 5:08:34                              (all on one line)

`ips` is of this rank, its batch over `batch_cost`, and that a mean: up to 2.5.1 over all iterations
of the epoch from the 6th on, from 2.5.2 on since the line before. Nothing in the line tells which,
so the stamps (local time, whole seconds) decide. The first rank prints, from 2.5 on others can too.
Epochs count from 1, iterations from 0.
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="paddle-clas",
    hints=(b"[Train][Epoch ", b"[Eval][Epoch "),
    step=re.compile(
        rb"(?:\[(?P<clock>\d{4}/\d\d/\d\d \d\d:\d\d:\d\d)\] \w{1,20} INFO: )?"
        rb"\[Train\]\[Epoch (?P<epoch>\d{1,6})/\d{1,6}\]\[Iter: (?P<index>\d{1,9})/\d{1,9}\]"
        rb"[^\n\v]{0,600}?, loss: (?P<loss>nan|-?inf|-?\d{1,20}\.\d{1,20}), [^\n\v]{0,200}?"
        rb"batch_cost: (?P<seconds>\d{1,9}\.\d{1,9})s, [^\n\v]{0,100}?"
        rb"ips: (?P<rate>\d{1,12}\.\d{1,9}) (?:samples|images)/s"
    ),
    covers="all so far or since the last",
    mean_from=5,
    sources=("rate",),
    scope="rank",
    begin=re.compile(rb"train with paddle "),
    other=re.compile(rb"\[Eval\]\[Epoch "),
    facts={
        "model": re.compile(rb"Arch ?: *\n[^\n]{0,80}name ?: (\S{1,80})"),
    },
)
