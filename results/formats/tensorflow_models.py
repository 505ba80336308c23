"""What tensorflow/models prints, a line per `log_steps` (100) steps.

Read off github.com/tensorflow/models r2.3.0 (DLPerf's release), official/utils/misc/keras_utils.py,
`TimeHistory.on_batch_end`:

    I0416 22:00:23.684310 139785487877952 keras_utils.py:129] TimeHistory: 16.78 seconds,
      1525.70 examples/second between steps 100 and 200                  (all on one line)

(so too in 2.2 to 2.20, and in newer `official/legacy`). Both are of the whole job and of the steps
that are named, without the host's time between two lines; every worker prints. The stamp is local
time, without a year. `avg_exp_per_second` at the end holds the warm-up, under Keras' fit the
evaluations too, and is not read.
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="tensorflow-models",
    hints=(b"TimeHistory: ",),
    step=re.compile(
        rb"TimeHistory: (?P<seconds>\d{1,9}\.\d{1,9}) seconds, "
        rb"(?P<rate>\d{1,12}\.\d{1,9}) examples/second between steps "
        rb"(?P<since>\d{1,9}) and (?P<until>\d{1,9})(?!\d)"
    ),
    covers="since the last",
    sources=("rate", "seconds"),
    # tensorflow/core/common_runtime/gpu/gpu_device.cc, a warning: CUDA's libraries are of another
    # version, or not there.
    no_gpu=re.compile(rb"Skipping registering GPU devices"),
    begin=re.compile(rb"Training \d{1,9} epochs, each epoch has|Running train and eval\."),
    facts={
        "global_batch": re.compile(rb"Global batch size: (\d{1,9})"),
        "ranks": re.compile(rb"Detected (\d{1,6}) devices\."),
        "precision": re.compile(rb"'train_dataset': \{[^}]{0,800}?'dtype': '(\w{1,16})'"),
    },
)
