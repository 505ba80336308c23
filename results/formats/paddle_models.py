r"""What PaddleCV's image classification prints, a line per `--print_step` (10) batches.

Read off github.com/PaddlePaddle/models, PaddleCV/image_classification: release/1.8 at
b71cf6322ad8bd293c052cbbe45f7a382fcb73ae (DLPerf's pin), utils/utility.py, `print_info`; the same at
release/1.6 and 1.7; train.py of release/1.4 (c46219e9) and 1.5 (bd393e7c) and of their elders:

    [Pass 0, train batch 20] \tloss 6.91234, acc1 0.0, acc5 0.0, lr 0.00100, elapse 0.3622 sec
    Pass 0, trainbatch 10, loss 7.29027271271,     acc1 0.0, acc5 0.0039, lr0.00100, time 3.23 sec
    [Pass 0, train batch 10] \tloss 6.9, ..., batch_cost 0.131 sec, reader_cost 0.0 sec, ips 976.3 ...

`elapse` and `time` are of this one batch, with the wait for its data (in 1.5 a mean since the line
before), `batch_cost` (2.0-beta) is a mean since the line before. One process drives all devices of
a node, and only the first prints: `batch_size` is of all devices of a node. Batches count from 0.
No stamps of its own; Paddle 1.8 may put a date before the line.
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="paddle-models",
    hints=(b" sec", b"train batch ", b"trainbatch ", b"test  batch ", b"testbatch "),
    step=re.compile(
        rb"Pass (?P<epoch>\d{1,6}), train ?batch (?P<index>\d{1,9})[\],][ \t]{1,8}"
        rb"loss (?P<loss>nan|-?inf|-?\d{1,20}(?:\.\d{1,20})?(?:e[-+]?\d{1,3})?), "
        rb"[^\n\v]{0,400}?(?:elapse|time|batch_cost) (?P<seconds>\d{1,9}\.\d{1,9}) sec"
    ),
    covers="one step",
    sources=("seconds",),
    scope="rank",
    first_alone=True,
    begin=re.compile(rb"^[\w:.-]{0,60} {0,40}batch_size ?: \d", re.MULTILINE),
    other=re.compile(rb"Pass \d{1,6}, ?test {0,2}batch "),
    facts={
        "node_batch": re.compile(rb"^[\w:.-]{0,60} {0,40}batch_size ?: (\d{1,9})\b", re.MULTILINE),
        "model": re.compile(rb"^[\w:.-]{0,60} {0,40}model ?: (\S{1,80})$", re.MULTILINE),
        "precision": re.compile(rb"\b(?:use_)?fp16 ?: (True|False|0|1)\b"),
    },
)
