"""What NVIDIA's DeepLearningExamples write for TensorFlow 1 as JSON, a line per print.

Read off github.com/NVIDIA/dllogger at 26a0f8f1958de2c0c460925ff6102a4d2486d6cc, dllogger/logger.py,
`JSONStreamBackend.log`, and the names of NVIDIA/DeepLearningExamples at
fed7ba99cde958fda12c9e81d12b3d7e738e0590, TensorFlow/Classification/ConvNets:

    DLLL {"timestamp": "1602150071.98", "datetime": "2020-10-08 09:41:11.98", "elapsedtime": "99.1",
      "type": "LOG", "step": [3, 16135], "data": {"imgs_per_sec": 1071.8, "cross_entropy": 3.3}}

(on one line, with more data.) The step is [epoch, global step]; the figures are those of the lines
on standard output (`ngc_tensorflow.py`).
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="ngc-tensorflow-json",
    hints=(b'"step": [', b'"imgs_per_sec": ', b'"train_throughput": '),
    step=re.compile(
        rb'DLLL \{"timestamp": "(?P<stamp>\d{1,12}(?:\.\d{1,9})?)", [^\n\v{]{0,200}?"step": '
        rb'\[\d{1,6}, (?P<index>\d{1,12})\], "data": \{'
        rb'[^\n\v{}]{0,600}?"imgs_per_sec": (?P<rate>\d{1,12}(?:\.\d{1,20})?)[,}]'
        rb'[^\n\v{}]{0,600}?"cross_entropy": (?P<loss>NaN|-?Infinity|-?\d{1,20}(?:\.\d{1,20})?)[,}]'
    ),
    covers="since the last",
    sources=("rate",),
    unprinted=20,
    other=re.compile(rb'"(?:train|eval)_throughput": '),
    void=re.compile(rb'"train_throughput": 0(?:\.0{1,20})?[,}]'),
    facts={
        "batch_size": re.compile(rb'"step": "PARAMETER"[^\n]{0,4000}?"batch_size": (\d{1,9})'),
        "precision": re.compile(rb'"step": "PARAMETER"[^\n]{0,4000}?"precision": "(\w{1,12})"'),
    },
)
