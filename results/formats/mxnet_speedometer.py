r"""What MXNet's own Speedometer prints, a line per `--disp-batches` (20) batches.

Read off github.com/apache/mxnet, python/mxnet/callback.py, `Speedometer.__call__` (at ae654ba4), and
example/image-classification/common/fit.py (at cf4c9f76):

    2020-10-25 11:00:08,123 Node[0] Epoch[0] Batch [0-20]\tSpeed: 1402.33 samples/sec\taccuracy=0.01

The speed is of all devices of the node that prints and of the batches since the line before; each
node prints. Batch 0, which holds the start, is in no line. The stamp is local time.
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="mxnet-speedometer",
    hints=(b"Speed: ",),
    step=re.compile(
        rb"(?:Node\[(?P<rank>\d{1,6})\] )?Epoch\[(?P<epoch>\d{1,6})\] "
        rb"Batch \[\d{1,9}-(?P<index>\d{1,9})\][ \t]{1,8}"
        rb"Speed: (?P<rate>\d{1,12}\.\d{1,9}) samples/sec(?!\s{1,8}LR: )"
    ),
    covers="since the last",
    sources=("rate",),
    scope="process",
    first=1,
    begin=re.compile(rb"start with arguments Namespace\("),
    pause=re.compile(rb"Epoch\[\d{1,6}\] Validation-"),
    other=re.compile(rb"Epoch\[\d{1,6}\] Validation-"),
    facts={
        "nodes": re.compile(rb"Namespace\([^\n]{0,4000}?\bnum_workers=(\d{1,5})"),
        "precision": re.compile(rb"Namespace\([^\n]{0,4000}?\bdtype='(\w{1,12})'"),
    },
)
