"""What NVIDIA's DeepLearningExamples print for PyTorch, a line per `-p` iterations.

Read off github.com/NVIDIA/DeepLearningExamples at 48dc9adacd401a3f414400bee061dc9e0fc86b3f,
PyTorch/Classification/ConvNets/image_classification/logger.py, `Logger.end_iteration`, next to
DLPerf's pin 5cc03caa153faab7a2c3b1b5b5d63663f06ce1b4, and NVIDIA/dllogger:

    DLL 2020-10-22 16:29:15.892523 - Epoch: 0 Iteration: 2  train.loss : 6.52  train.total_ips : 3751.34 img/s

`total_ips` is of the whole job and, with `-p` above 1, the arithmetic mean of the iterations' rates
since the line before; `compute_ips` leaves out the wait for data. The first rank prints. Epochs count
from 0, iterations from 1. The stamp is local time.
"""

import re

from results.logs.format import Format

_FLOAT = rb"(?:nan|NaN|-?inf|-?\d{1,20}(?:\.\d{1,20})?(?:e[-+]\d{1,3})?)"

FORMAT = Format(
    name="ngc-pytorch",
    hints=(b" Iteration: ", b"train.total_ips", b"val.total_ips", b"train.compute_ips"),
    step=re.compile(
        rb"DLL (?P<clock>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{1,9}) - "
        rb"Epoch: (?P<epoch>\d{1,6}) Iteration: (?P<index>\d{1,9}) [^\n\v]{0,400}?"
        rb"train\.loss : (?P<loss>" + _FLOAT + rb") [^\n\v]{0,400}?"
        rb"train\.total_ips : {1,8}(?P<rate>\d{1,12}\.\d{1,20})(?= )"
    ),
    covers="since the last",
    rates_averaged=True,
    first_alone=True,
    sources=("rate", "stamp"),
    first=1,
    begin=re.compile(rb"RUNNING EPOCHS FROM"),
    other=re.compile(rb"val\.total_ips : "),
    facts={
        "batch_size": re.compile(rb"PARAMETER [^\n]{0,4000}?\bbatch_size : (\d{1,9})"),
        "devices": re.compile(rb"--nproc_per_node[= ](\d{1,4})"),
        "nodes": re.compile(rb"--nnodes[= ](\d{1,5})"),
        "model": re.compile(rb"PARAMETER [^\n]{0,4000}?\barch : (\S{1,80})"),
        "precision": re.compile(rb"PARAMETER [^\n]{0,6000}?\bamp : (True|False)"),
    },
)
