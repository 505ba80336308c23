"""What NVIDIA's DeepLearningExamples write for PyTorch into their raport file, a line per print.

Read off github.com/NVIDIA/dllogger at 26a0f8f1958de2c0c460925ff6102a4d2486d6cc, dllogger/logger.py,
`JSONStreamBackend.log`, and the names of NVIDIA/DeepLearningExamples at
5cc03caa153faab7a2c3b1b5b5d63663f06ce1b4, PyTorch/Classification/ConvNets/image_classification:

    DLLL {"timestamp": "1603355355.892523", "datetime": "2020-10-22 16:29:15.892523", "elapsedtime":
      "21.02", "type": "LOG", "step": [0, 2], "data": {"train.loss": 6.52, "train.total_ips": 3751.3}}

(on one line, with more data.) The step is [epoch, iteration]; the figures are those of the lines on
standard output (`ngc_pytorch.py`). The stamp is in Unix seconds, of the first rank.
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="ngc-pytorch-json",
    hints=(b'"step": [', b'"train.total_ips": '),
    step=re.compile(
        rb'DLLL \{"timestamp": "(?P<stamp>\d{1,12}(?:\.\d{1,9})?)", [^\n\v{]{0,200}?"step": '
        rb'\[(?P<epoch>\d{1,6}), (?P<index>\d{1,9})\], "data": \{'
        rb'[^\n\v{}]{0,600}?"train\.loss": (?P<loss>NaN|-?Infinity|-?\d{1,20}(?:\.\d{1,20})?)[,}]'
        rb'[^\n\v{}]{0,600}?"train\.total_ips": (?P<rate>\d{1,12}(?:\.\d{1,20})?)[,}]'
    ),
    covers="since the last",
    rates_averaged=True,
    sources=("rate", "stamp"),
    begin=re.compile(rb'"type": "LOG", "step": "PARAMETER"'),
    other=re.compile(rb'"val\.total_ips": '),
    facts={
        "batch_size": re.compile(rb'"step": "PARAMETER"[^\n]{0,4000}?"batch_size": (\d{1,9})'),
        "model": re.compile(rb'"step": "PARAMETER"[^\n]{0,4000}?"arch": "([^"\n]{1,80})"'),
        "precision": re.compile(rb'"step": "PARAMETER"[^\n]{0,6000}?"amp": (true|false)'),
    },
)
