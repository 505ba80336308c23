"""What OneFlow-Benchmark's Classification/cnns prints, one line per `--loss_print_every_n_iter`.

Read off github.com/Oneflow-Inc/OneFlow-Benchmark at 638d8f42aa064486a4268a388f2bd1e9762c98b3 (v0.2.0),
Classification/cnns/util.py, `Metric.metric_cb`, and DLPerf's reading of it:

    train: epoch 0, iter 20, loss: 6.874394, top_1: 0.000000, top_k: 0.000000, samples/s: 3727.936
    1601130742.9863544                                             (the stamp is on the same line)

`samples/s` is of the whole job and of the iterations since the line before; the stamp, where there
is one, is `time.time()` of the one process that prints. Iterations count from 1 in each epoch. The
first figure of an epoch also holds what came before it: a validation, a checkpoint.
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="oneflow-benchmark",
    hints=(b"train: epoch ", b"validation: epoch "),
    step=re.compile(
        rb"train: epoch (?P<epoch>\d{1,6}), iter (?P<index>\d{1,9}), "
        rb"loss: (?P<loss>nan|-?inf|-?\d{1,20}\.\d{1,20}), "
        rb"top_1: (?P<accuracy>\d{1,3}\.\d{1,20}), top_k: \d{1,3}\.\d{1,20}, "
        rb"samples/s: (?P<rate>\d{1,12}\.\d{1,9})(?![\d.])"
        rb"(?: (?P<stamp>\d{1,12}(?:\.\d{1,20})?)(?![\d.]))?"
    ),
    covers="since the last",
    sources=("stamp", "rate"),
    scope="job",
    first_alone=True,
    first=1,
    begin=re.compile(rb"^(?:Time stamp: |model = )", re.MULTILINE),
    pause=re.compile(rb"validation: epoch |Saving model to "),
    other=re.compile(rb"validation: epoch "),
    facts={
        "model": re.compile(rb"^model = (\S{1,80})$", re.MULTILINE),
        "batch_size": re.compile(rb"^batch_size_per_device = (\d{1,9})$", re.MULTILINE),
        "devices": re.compile(rb"^gpu_num_per_node = (\d{1,9})$", re.MULTILINE),
        "nodes": re.compile(rb"^num_nodes = (\d{1,9})$", re.MULTILINE),
        "precision": re.compile(rb"^use_fp16 = (True|False|None)$", re.MULTILINE),
    },
)
