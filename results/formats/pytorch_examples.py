r"""What pytorch/examples' imagenet/main.py prints, one line per `--print-freq` iterations.

Read off github.com/pytorch/examples at 77f55b912142e11fcfdf5b530231fb9c52f181e8 (newest) and
49ec0bd72b85be55579ae8ceb278c66145f593e1 (DLPerf's pin), `ProgressMeter.display`, and their elders:

    Epoch: [0][ 3/16]\tTime  1.403 ( 2.6)\tData  0.011 ( 0.1)\tLoss 7.1e+00 (7.1e+00)\tAcc@1 ...
    Epoch: [0][3/16]\tTime 1.403 (2.600)\tData 0.011 (0.100)\tLoss 7.1 (7.1)\tPrec@1 ...

`Time` is the seconds of this one iteration by the rank's own clock, `Data` the part it waited for
its input; the figures in brackets are running means over the epoch. Every rank prints, and nothing
tells them apart, but `Use GPU: 3 for training` when one begins. Iterations count from 0, in the
newest from 1. There is no stamp, and no line says the batch size. Some forks print a `Speed` behind
`Time`, per rank.
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="pytorch-examples",
    hints=(b"Epoch: [", b"Test: [", b" for training"),
    step=re.compile(
        rb"Epoch: \[(?P<epoch>\d{1,6})\]\[ {0,8}(?P<index>\d{1,9})/\d{1,9}\][ \t]{1,12}"
        rb"Time {1,8}(?P<seconds>\d{1,9}\.\d{1,9}) \( {0,8}(?P<mean>\d{1,9}\.\d{1,9})\)[ \t]{1,12}"
        rb"(?:Speed {1,8}\d{1,9}\.\d{1,9} \( {0,8}\d{1,9}\.\d{1,9}\)[ \t]{1,12})?"
        rb"(?:Data {1,8}(?P<wait>\d{1,9}\.\d{1,9}) \( {0,8}\d{1,9}\.\d{1,9}\)[ \t]{1,12})?"
        rb"Loss {1,8}(?P<loss>nan|-?inf|-?\d{1,20}(?:\.\d{1,20})?(?:e[-+]\d{1,3})?) \("
    ),
    covers="one step",
    sources=("seconds",),
    scope="rank",
    begin=re.compile(rb"=> creating model '[^'\n]{1,80}'|=> using pre-trained model"),
    rank_begin=re.compile(rb"Use GPU: (\d{1,4}) for training"),
    other=re.compile(rb"Test: \[ {0,8}\d{1,9}/\d{1,9}\]"),
    facts={
        "model": re.compile(rb"=> (?:creating|using pre-trained) model '([^'\n]{1,80})'"),
    },
)
