r"""What gluon-cv's train_imagenet.py and train_horovod.py print, a line per `--log-interval` batches.

Read off github.com/dmlc/gluon-cv at f9a8a284b8222794bc842453e2bebe5746516048 (DLPerf's pin),
scripts/classification/imagenet/:

    Epoch[0] Batch [49]\tSpeed: 1775.294879 samples/sec\taccuracy=0.883496\tlr=0.003133
    INFO:root:Epoch[0] Batch[40]\tSpeed: 2985.21 samples/sec

(the second in train_horovod.py, where that line is commented out at the pin: DLPerf must have
taken the sign away; and in Horovod's own mxnet_imagenet_resnet50.py.) The speed is of the whole
job and of the batches since the line before, or the beginning of the epoch; one process prints. No
stamps. Batches count from 0, from 1 in train_horovod.py and in gluon-cv's newest. `accuracy` is a
mean over the epoch so far. A validation comes behind each epoch.
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="gluon-cv",
    hints=(b"Epoch[", b"] validation: "),
    step=re.compile(
        rb"Epoch\[(?P<epoch>\d{1,6})\] Batch ?\[(?P<index>\d{1,9})\][ \t]{1,8}"
        rb"Speed: (?P<rate>\d{1,12}\.\d{1,20}) samples/sec(?![\w.])"
        rb"(?:[ \t]{1,8}accuracy=(?P<accuracy>\d{1,3}\.\d{1,20}))?"
    ),
    covers="since the last",
    sources=("rate",),
    first=0,
    yields_to=("mxnet-gluon-example",),
    begin=re.compile(rb"Namespace\("),
    pause=re.compile(rb"\] validation: "),
    other=re.compile(rb"\[Epoch \d{1,6}\] validation: "),
    facts={
        "batch_size": re.compile(rb"Namespace\([^\n]{0,2000}?\bbatch_size=(\d{1,9})"),
        "devices": re.compile(rb"Namespace\([^\n]{0,4000}?\bnum_gpus=(\d{1,4})"),
        "model": re.compile(rb"Namespace\([^\n]{0,4000}?\bmodel='([^'\n]{1,80})'"),
        "precision": re.compile(rb"Namespace\([^\n]{0,4000}?\bdtype='(\w{1,12})'"),
    },
)
