"""What the training loops of tensorflow/models (orbit) print, a line per `steps_per_loop` steps.

Read off tf-models-official 2.3.0, official/staging/training/controller.py, line 241, and 2.20.0,
orbit/controller.py, line 535; every line comes twice, once by absl and once by print:

    I0416 22:00:06.896018 139785487877952 controller.py:223] step: 100        steps_per_second: 1.68
    train | step:    100 | steps/sec:    6.4 | output: {'train_loss': 4.18}

(the first goes on with a dict.) Steps per second are of the job, since the line before, with
checkpoints and evaluations in between, and of few digits: the stamps, where absl's line is there,
say more. The global batch stands in the parameters that a run prints first, if at all. Logs that
also have TimeHistory lines are read by those.
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="tensorflow-controller",
    hints=(b"steps_per_second: ", b"| steps/sec: "),
    step=re.compile(
        rb"(?:[IW](?P<clock>\d{4} \d\d:\d\d:\d\d\.\d{6}) +\d{1,20} [\w.]{1,60}:\d{1,6}\] )?"
        rb"(?:train \| |(?<!\| ))step: {1,12}(?P<index>\d{1,12}) {1,12}(?:\| )?"
        rb"steps(?:_per_second|/sec): {1,12}(?P<rate>\d{1,9}\.\d{1,9})(?= )"
    ),
    covers="since the last",
    sources=("stamp", "rate"),
    rate_counts="steps",
    first=1,
    pause=re.compile(rb"evaluation|aved? checkpoint"),
    other=re.compile(rb" eval \| step: |evaluation metric: "),
    facts={
        "global_batch": re.compile(rb"'train_data': \{[^}]{0,800}?'global_batch_size': (\d{1,9})"),
        "devices": re.compile(rb"'num_gpus': (\d{1,4})"),
    },
    yields_to=("tensorflow-models",),
)
