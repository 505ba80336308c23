"""The rule `dlperf-v1`, against straightforward versions of DLPerf's own extractors."""

import re
import statistics

import pytest
from log_writer import Oddities, truth, write

from results.logs.facts import Facts
from results.parse_logs import Wanted, parse_bytes

BATCH = 128


def rates(log, pattern):
    return [round(float(found), 2) for found in re.findall(pattern, log.decode())]


def pytorch(log, ranks):
    total, number = 0.0, 0
    for line in log.decode().splitlines():
        found = re.search(r"Epoch: \[\d+\]\[ *(\d+)/\d+\]\tTime +([\d.]+) ", line)
        if found and int(found[1]) > 5:
            number += 1
            total += float(found[2]) if number > 20 else 0
            if number == 120:
                return round(BATCH * ranks / (total / 100), 2)
    return 0


def ngc_pytorch(log, ranks):
    stamps = [
        int(h) * 3600 + int(m) * 60 + float(s)
        for h, m, s, index in re.findall(
            r"(\d\d):(\d\d):(\d\d\.\d+) - Epoch: 0 Iteration: (\d+) ", log.decode()
        )
        if int(index) > 5
    ]
    return round(BATCH * ranks / ((stamps[119] - stamps[19]) / 100), 2)


def tensorflow(log, ranks):
    del ranks
    return round(statistics.fmean(rates(log, r", (\d+\.\d+) examples/second")[1:6]), 2)


def ngc_tensorflow(log, ranks):
    del ranks
    return round(statistics.fmean(rates(log, r" imgs_per_sec : (\d+\.\d+) ")[:100]), 2)


def gluon_cv(log, ranks):
    del ranks
    return round(statistics.fmean(rates(log, r"Speed: (\d+\.\d+) samples/sec")[20:120]), 2)


def ngc_mxnet(log, ranks):
    found = rates(log, r"Speed: (\d+\.\d+) samples/sec")
    rows = [found[k * ranks : (k + 1) * ranks] for k in range(120)]
    return round(statistics.fmean(statistics.median(row) for row in rows[20:120]), 2)


def paddle(log, ranks):
    found = re.findall(r"elapse (.*?) sec", log.decode())[20:120]
    return round(statistics.fmean(round(BATCH * ranks / float(one), 4) for one in found), 2)


def oneflow(log, ranks):
    last = dict(re.findall(r"iter (\d+), .* (\d+\.\d+)\n", log.decode()))
    return BATCH * ranks * 100 / (float(last["120"]) - float(last["20"]))


def mindspore(log, ranks):
    total, step = 0.0, 0
    for line in log.decode().splitlines():
        if found := re.search(r"epoch: (\d+) step: (\d+)", line):
            step = int(found[1]) * int(found[2])
            if step > 200:
                break
        elif (found := re.search(r"epoch time: (\d+\.\d{3})", line)) and step > 100:
            total += float(found[1])
    return round(BATCH * ranks / (total / 1000 / (100 * ranks)), 2)


EXTRACTORS = {
    "pytorch-examples": (pytorch, 1),
    "ngc-pytorch": (ngc_pytorch, 1),
    "tensorflow-models": (tensorflow, 100),
    "ngc-tensorflow": (ngc_tensorflow, 1),
    "gluon-cv": (gluon_cv, 1),
    "ngc-mxnet": (ngc_mxnet, 1),
    "paddle-models": (paddle, 1),
    "oneflow-benchmark": (oneflow, 20),
    "mindspore-model-zoo": (mindspore, 10),
}


def parsed(form, *, ranks=8, steps=130, interval=1):
    log = write(form, truth(steps, ranks, interval=interval, jitter=0.5), Oddities(seed=7))
    given = Facts(batch_size=BATCH, nodes=1, devices=ranks)
    return log, parse_bytes(log, Wanted(given=given))


@pytest.mark.parametrize("ranks", [1, 8])
@pytest.mark.parametrize("form", EXTRACTORS)
def test_the_figure_is_the_extractors(form, ranks):
    extractor, interval = EXTRACTORS[form]
    steps = {100: 700, 10: 210}.get(interval, 130)
    log, result = parsed(form, ranks=ranks, steps=steps, interval=interval)
    assert result.dlperf_v1 == pytest.approx(extractor(log, ranks), abs=0.011)
    assert result.dlperf_v1_note


def test_the_difference_is_explained():
    _, result = parsed("gluon-cv")
    work_over_time = result.throughput
    assert result.dlperf_v1 > work_over_time * 1.005
    assert "arithmetic mean of rates: lines 21 to 120" in result.dlperf_v1_note
    assert "% above work over time there" in result.dlperf_v1_note
    _, result = parsed("ngc-tensorflow")
    assert "its lines are not our window's" in result.dlperf_v1_note


@pytest.mark.parametrize("form", ["pytorch-examples", "ngc-pytorch", "gluon-cv", "ngc-mxnet"])
def test_where_an_extractor_gives_nothing_we_say_why(form):
    _, result = parsed(form, steps=60, ranks=1)
    assert result.dlperf_v1 is None
    assert "its extractor needs" in result.dlperf_v1_note


def test_formats_that_dlperf_did_not_read_have_no_such_figure():
    _, result = parsed("mindcv", ranks=1)
    assert (result.dlperf_v1, result.dlperf_v1_note) == (None, "DLPerf v1.0 read no logs of mindcv")
