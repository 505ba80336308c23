r"""What tf_cnn_benchmarks prints, a line per `--display_every` steps.

Read off github.com/tensorflow/benchmarks at 8fb79079265933ad39bea628b777af662f5bf15d,
scripts/tf_cnn_benchmarks/benchmark_cnn.py, lines 880, 932 and 2400:

    Step\tImg/sec\ttotal_loss
    10\timages/sec: 210.5 +/- 0.3 (jitter = 0.9)\t7.8
    total images/sec: 209.87

The rate is of all devices of the process that prints (under Horovod every rank does), its batch
over the mean time of all steps since its own warm-up of 10; with `--display_perf_ewma`, which the
log does not show, a weighted one. `total images/sec` is of the job, with what lies between steps.
No stamps; the precision is not printed.
"""

import re

from results.logs.format import Format

FORMAT = Format(
    name="tf-cnn-benchmarks",
    hints=(b"\timages/sec: ", b"total images/sec: "),
    step=re.compile(
        rb"(?<!\d)(?P<index>\d{1,9})\timages/sec: (?P<rate>\d{1,12}\.\d{1,9}) \+/- "
        rb"\d{1,12}\.\d{1,9} \(jitter = \d{1,12}\.\d{1,9}\)\t"
        rb"(?P<loss>nan|-?inf|-?\d{1,20}\.\d{1,9})"
    ),
    covers="all so far",
    sources=("rate",),
    scope="process",
    first=1,
    begin=re.compile(rb"Step\tImg/sec"),
    facts={
        "global_batch": re.compile(rb"Batch size: {1,8}(\d{1,9}) global"),
        "batch_size": re.compile(rb"^ {1,40}(\d{1,9})(?:\.0)? per device", re.MULTILINE),
        "model": re.compile(rb"^Model: {1,12}(\S{1,80})", re.MULTILINE),
    },
)
