r"""What NVIDIA's DeepLearningExamples print for MXNet, a line per `--disp-batches` iterations.

Read off github.com/NVIDIA/DeepLearningExamples at e470c2150abf4179f873cabad23945bbc920cc5f (DLPerf's
pin), MxNet/Classification/RN50v1.5/fit.py, `BatchEndCallback`:

    [1,3]<stderr>:2020-10-25 11:00:00,002:INFO: Epoch[0] Batch [1-1]\tSpeed: 853.33 samples/sec\tLR: 8.1e-05\t

The speed is of the whole job, of the iterations that the line names, and every rank prints it.
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="ngc-mxnet",
    hints=(b"samples/sec\tLR: ", b"train.total_ips", b"Speed: "),
    step=re.compile(
        rb"Epoch\[(?P<epoch>\d{1,6})\] Batch \[\d{1,9}-(?P<index>\d{1,9})\][ \t]{1,8}"
        rb"Speed: (?P<rate>\d{1,12}\.\d{1,20}) samples/sec[ \t]{1,8}LR: "
    ),
    covers="since the last",
    sources=("rate",),
    first=0,
    other=re.compile(rb"Validation-|val\.total_ips"),
    facts={
        "global_batch": re.compile(rb"\bbatch_size=(\d{1,9})"),
        "precision": re.compile(rb"\bdtype='(\w{1,12})'"),
    },
)
