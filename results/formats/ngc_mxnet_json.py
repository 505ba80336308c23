"""What NVIDIA's newer DeepLearningExamples write for MXNet as JSON, a line per `--disp-batches`.

Read off github.com/NVIDIA/DeepLearningExamples at 135fbd91dea951599f22b6f26984e5335eccb208,
MxNet/Classification/RN50v1.5/fit.py, `model_fit`, and NVIDIA/dllogger at
26a0f8f1958de2c0c460925ff6102a4d2486d6cc, dllogger/logger.py, `JSONStreamBackend.log`:

    DLLL {"timestamp": "1614592800.12", ..., "type": "LOG", "step": [0, 19], "data": {"train.loss": 6.93, "train.ips": 2985.3, "train.lr": 0.1}}

The figures are those of the lines on standard output (`ngc_mxnet_dllogger.py`).
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="ngc-mxnet-json",
    hints=(b'"step": [', b'"train.ips": '),
    step=re.compile(
        rb'DLLL \{"timestamp": "(?P<stamp>\d{1,12}(?:\.\d{1,9})?)", [^\n\v{]{0,200}?"step": '
        rb'\[(?P<epoch>\d{1,6}), (?P<index>\d{1,9})\], "data": \{'
        rb'[^\n\v{}]{0,300}?"train\.loss": (?P<loss>NaN|-?Infinity|-?\d{1,20}(?:\.\d{1,20})?)[,}]'
        rb'[^\n\v{}]{0,300}?"train\.ips": (?P<rate>\d{1,12}(?:\.\d{1,20})?)[,}]'
    ),
    covers="since the last",
    sources=("rate", "stamp"),
    other=re.compile(rb'"val\.ips": '),
)
