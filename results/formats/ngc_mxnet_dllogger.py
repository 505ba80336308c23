"""What NVIDIA's newer DeepLearningExamples print for MXNet, a line per `--disp-batches` iterations.

Read off github.com/NVIDIA/DeepLearningExamples at 135fbd91dea951599f22b6f26984e5335eccb208,
MxNet/Classification/RN50v1.5/fit.py, `model_fit`, and log_utils.py at
a10c1d3260fe318e50005f8204162c21ee007740:

    DLL 2021-03-01 10:00:00.123456 - Epoch: 0 Iteration: 19  train.loss : 6.93  train.ips : 2985.3 images/s train.lr : 0.1

`train.ips` is of the whole job and of the iterations since the line before, or the beginning of the
epoch; the first rank prints. A line without an iteration is a mean over the epoch. Epochs and
iterations count from 0. The stamp is local time.
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="ngc-mxnet-dllogger",
    hints=(b" Iteration: ", b" train.ips : "),
    step=re.compile(
        rb"DLL (?P<clock>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?) - "
        rb"Epoch: (?P<epoch>\d{1,6}) Iteration: (?P<index>\d{1,9}) [^\n\v]{0,200}?"
        rb"train\.loss : (?P<loss>nan|-?inf|-?\d{1,20}(?:\.\d{1,20})?(?:e[-+]\d{1,3})?) "
        rb"[^\n\v]{0,200}?train\.ips : {1,4}(?P<rate>\d{1,12}\.\d{1,20})(?= )"
    ),
    covers="since the last",
    sources=("rate", "stamp"),
    other=re.compile(rb" val\.ips : "),
    facts={
        "global_batch": re.compile(rb"\bbatch_size=(\d{1,9})"),
        "precision": re.compile(rb"\bdtype='(\w{1,12})'"),
    },
)
