"""What Horovod's synthetic benchmarks print, a line per iteration of `--num-batches-per-iter` (10).

Read off github.com/horovod/horovod at 1d217b59 (v0.28.1),
examples/pytorch/pytorch_synthetic_benchmark.py, lines 95 to 118; TensorFlow's print the same:

    Model: resnet50
    Batch size: 32
    Number of GPUs: 2
    Iter #0: 58.8 img/sec per GPU
    Total img/sec on 2 GPU(s): 117.6 +-0.2

The rate is of one device, the first rank's, over the batches of one iteration; how many these are
is not printed, so that a step here is an iteration. Warm-up batches are not printed. No stamps.
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="horovod-synthetic",
    hints=(b" img/sec per ",),
    step=re.compile(rb"Iter #(?P<index>\d{1,9}): (?P<rate>\d{1,12}\.\d{1,9}) img/sec per [CG]PU"),
    covers="since the last",
    sources=("rate",),
    scope="rank",
    first=0,
    begin=re.compile(rb"Number of [CG]PUs: "),
    facts={
        "batch_size": re.compile(rb"Batch size: (\d{1,9})"),
        "ranks": re.compile(rb"Number of [CG]PUs: (\d{1,9})"),
        "model": re.compile(rb"Model: (\S{1,80})"),
    },
)
