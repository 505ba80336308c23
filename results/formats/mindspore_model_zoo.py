"""What MindSpore's LossMonitor and TimeMonitor print, two lines per epoch.

Read off mindspore at 0faf36d5 and 0c153b58, next to e13c045ced043de5998f5f77acc0ebe7da4eed5c (DLPerf's
pin), mindspore/train/callback/_loss_monitor.py and _time_monitor.py, and later releases:

    epoch: 41 step: 195, loss is 0.16611904
    epoch time: 5064.310 ms, per step time: 25.833 ms

Without a unit (0.x and copies of that time) the times are ms too; `Epoch time` and `Train epoch time`
are the same, `Eval epoch time` is none. An epoch is what runs without the host: a whole one, or as
many steps as the sink size. How many steps it has is the ratio of the two times. The time is of the
rank that prints, with its wait for data; the first holds the compilation. Every rank prints, without
a stamp or its number. Epochs and steps count from 1.
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="mindspore-model-zoo",
    hints=(b"poch time: ", b", loss is "),
    step=re.compile(
        rb"(?<!Eval )[Ee]poch time: {1,4}(?P<ms>\d{1,12}(?:\.\d{1,20})?)(?: ms)?, "
        rb"per step time: {1,4}(?P<step_ms>\d{1,12}(?:\.\d{1,20})?)(?= ms|,|\s|$)"
    ),
    key=re.compile(
        rb"epoch: {1,4}(?P<epoch>\d{1,9}),? step: {1,4}(?P<index>\d{1,9}), loss is {1,4}"
        rb"(?P<loss>nan|-?inf|-?\d{1,12}(?:\.\d{1,20})?(?:e[-+]\d{1,3})?)"
    ),
    covers="since the last",
    sources=("seconds",),
    scope="rank",
    first=1,
    other=re.compile(rb"Eval epoch time: |result: \{"),
    facts={
        "batch_size": re.compile(rb"args_opt: Namespace\([^\n]{0,2000}?\bbatch_size=(\d{1,9})"),
        "ranks": re.compile(rb"args_opt: Namespace\([^\n]{0,2000}?\bdevice_num=(\d{1,9})"),
        "precision": re.compile(rb"args_opt: Namespace\([^\n]{0,2000}?\bdtype='(\w{1,12})'"),
        "model": re.compile(rb"args_opt: Namespace\([^\n]{0,4000}?\bnet='([^'\n]{1,80})'"),
    },
)
