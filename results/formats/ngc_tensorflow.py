"""What NVIDIA's DeepLearningExamples print for TensorFlow 1, a line per `--display_every` steps.

Read off github.com/NVIDIA/DeepLearningExamples at fed7ba99cde958fda12c9e81d12b3d7e738e0590 (DLPerf's
pin), TensorFlow/Classification/ConvNets/runtime/runner.py, utils/hooks, and NVIDIA/dllogger:

    DLL 2020-10-08 09:41:11.984949 - (3, 16135) imgs_per_sec : 1071.82  cross_entropy : 3.3  l2_loss ...
    DLL 2020-10-08 09:51:11.984949 - () train_throughput : 1065.1

`imgs_per_sec` is of the whole job (global batch over the time of the step before it is printed);
`train_throughput` is the mean of those behind the warm-up. The step is (epoch, global step). Of the
first 20 steps nothing is printed (`TrainingLoggingHook`).
"""

import re

from results.logs.format import Format

_FLOAT = rb"(?:nan|NaN|-?inf|-?\d{1,20}(?:\.\d{1,20})?(?:e[-+]\d{1,3})?)"

FORMAT = Format(
    name="ngc-tensorflow",
    hints=(b" imgs_per_sec : ", b" train_throughput : "),
    step=re.compile(
        rb"DLL (?P<clock>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{1,9}) - "
        rb"\(\d{1,6}, (?P<index>\d{1,12})\)[^\n\v]{0,200}? imgs_per_sec : {1,4}"
        rb"(?P<rate>\d{1,12}(?:\.\d{1,20})?) "
        rb"[^\n\v]{0,200}?cross_entropy : (?P<loss>" + _FLOAT + rb")(?= )"
    ),
    covers="since the last",
    sources=("rate",),
    first=0,
    unprinted=20,
    other=re.compile(rb"\(\) (?:eval|train)_throughput : "),
    void=re.compile(rb"\(\) train_throughput : 0(?:\.0{1,20})?(?![\d.])"),
    facts={
        "batch_size": re.compile(rb"\bbatch_size : (\d{1,9})"),
        "precision": re.compile(rb"\bprecision : '?(\w{1,12})"),
    },
)
