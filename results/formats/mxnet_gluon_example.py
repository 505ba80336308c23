r"""What MXNet's example/gluon/image_classification.py prints, a line per `--log-interval` (50).

Read off github.com/apache/mxnet, example/gluon/image_classification.py (at cc0b2d67, and later ones
that print two metrics):

    INFO:root:Epoch[0] Batch [39]\tSpeed: 1918.10 samples/sec\taccuracy=0.97, top_k_accuracy_5=0.975

It looks like gluon-cv's, which ends in `lr=`; but the speed is that of this one batch, of all
devices of the process. Batches count from 0. No stamps.
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="mxnet-gluon-example",
    hints=(b"top_k_accuracy_5=",),
    step=re.compile(
        rb"Epoch\[(?P<epoch>\d{1,6})\] Batch \[(?P<index>\d{1,9})\][ \t]{1,8}"
        rb"Speed: (?P<rate>\d{1,12}\.\d{1,20}) samples/sec[ \t]{1,8}"
        rb"accuracy=(?P<accuracy>\d{1,3}\.\d{1,20}), top_k_accuracy_5="
    ),
    covers="one step",
    sources=("rate",),
    scope="process",
    pause=re.compile(rb"\] validation: "),
    other=re.compile(rb"\[Epoch \d{1,6}\] validation: "),
)
