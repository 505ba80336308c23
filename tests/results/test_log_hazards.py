"""Each hazard that broke a published extractor, and the right reading of it."""

import gzip
import json
import zipfile
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest
from log_writer import OUT_OF_MEMORY, WRITERS, Oddities, Truth, archive, truth, write

from results.logs.facts import Facts
from results.logs.failures import ENDED
from results.logs.sources import find_sources
from results.parse_logs import Wanted, parse_bytes, parse_source

ALONE = Wanted(given=Facts(batch_size=128, nodes=1, devices=1))


def parse(log, *, devices=1, **more):
    given = Facts(batch_size=128, nodes=1, devices=devices)
    return parse_bytes(log, Wanted(given=given, **more))


def near(t, first=20, last=120):
    return pytest.approx(t.throughput(first, last), rel=0.001)


@pytest.mark.parametrize("scale", [1, 40, 400])
def test_a_step_of_ten_and_of_a_hundred_seconds(scale):
    t = truth(130)
    t = replace(t, seconds=t.seconds * scale)
    assert parse(write("pytorch-examples", t)).throughput == near(t)


def test_a_loader_that_stalls_inside_the_window_counts():
    t = truth(130)
    t.seconds[0, [50, 90]] = 72.352
    assert parse(write("pytorch-examples", t)).throughput == near(t)


def test_indices_of_four_digits():
    t = truth(1500)
    result = parse(write("pytorch-examples", t), warmup=1100, steps=300)
    assert (result.throughput, result.steps) == (near(t, 1100, 1400), 1500)


def test_a_jittery_run_is_work_over_time_and_no_mean_of_rates():
    seconds = np.full((1, 130), 0.2)
    seconds[0, 1::2] = 0.6
    t = Truth(seconds)
    assert t.throughput(20, 120) == pytest.approx(320)
    result = parse(write("gluon-cv", t))
    assert result.throughput == pytest.approx(320, rel=0.001)
    assert result.dlperf_v1 == pytest.approx(426.67, abs=0.01)
    assert "the mean of rates is 33.33% above work over time" in result.dlperf_v1_note


@pytest.mark.parametrize("interval", [10, 20, 50])
@pytest.mark.parametrize(
    "form",
    ["gluon-cv", "oneflow-benchmark", "ngc-mxnet", "oneflow-models", "mindcv", "tensorflow-models"],
)
def test_a_line_every_so_many_steps(form, interval):
    t = truth(250, interval=interval)
    first = -(-20 // interval) * interval
    last = first + -(-100 // interval) * interval
    assert parse(write(form, t)).throughput == near(t, first, last)


def test_running_means_tell_the_steps_that_are_not_printed():
    t = truth(250, interval=10, jitter=1.0)
    result = parse(write("pytorch-examples", t))
    # It prints steps 1, 11, 21, ...; the means in brackets are good to a thousandth of a second.
    assert result.throughput == pytest.approx(t.throughput(21, 121), rel=0.005)
    assert not any("stand for the others" in reason for reason in result.reasons)


@pytest.mark.parametrize("running", [True, False])
def test_the_stamps_tell_whether_a_mean_is_running(running, monkeypatch):
    from format_writers import paddle_clas

    monkeypatch.setitem(
        WRITERS, "paddle-clas", lambda t, rank: paddle_clas(t, rank, running=running)
    )
    t = truth(400, interval=10)
    t.seconds[0, 1:60] *= 3
    result = parse(write("paddle-clas", t))
    assert result.throughput == pytest.approx(t.throughput(21, 121), rel=0.002)


@pytest.mark.parametrize("seed", range(20))
def test_a_release_that_is_named_needs_no_stamps_over_few_short_steps(seed):
    t = truth(13, seed=seed)
    t.seconds[0, 0] *= 3
    log = write("paddle-clas", t)
    result = parse(log, warmup=3, steps=10, form="paddle-clas-2.5.2")
    assert (result.status, result.throughput) == ("ok", near(t, 3, 13))
    assert parse(log).format == "paddle-clas"


def test_an_epoch_boundary_inside_the_window_is_no_training():
    t = truth(200, epoch=70, pause=30.0)
    t.seconds[0, 70] = 40.0  # the loader starts anew
    result = parse(write("pytorch-examples", t))
    rest = np.delete(t.seconds[0], 70)[20:120]
    assert result.throughput == pytest.approx(128 * 100 / rest.sum(), rel=0.001)
    assert any("beginning of an epoch" in reason for reason in result.reasons)


def test_a_validation_between_two_stamps_is_no_training():
    t = truth(240, interval=20, epoch=60, pause=30.0)
    assert parse(write("oneflow-benchmark", t)).throughput == pytest.approx(
        128
        * 100
        / np.concatenate([t.seconds[0, 20:60], t.seconds[0, 80:120], t.seconds[0, 140:160]]).sum(),
        rel=0.001,
    )


@pytest.mark.parametrize("form", ["pytorch-examples", "gluon-cv", "oneflow-benchmark"])
def test_of_several_runs_in_one_log_the_last_counts(form):
    t = truth(130)
    result = parse(write(form, t, Oddities(restarts=2)))
    assert result.throughput == near(t)
    assert any("3 runs" in reason and "line " in reason for reason in result.reasons)


def test_an_earlier_run_that_failed_does_not_count():
    t = truth(130)
    failed = write("pytorch-examples", truth(30), Oddities(ending=OUT_OF_MEMORY))
    result = parse(failed + write("pytorch-examples", t))
    assert (result.status, result.throughput) == ("ok", near(t))


@pytest.mark.parametrize("form", sorted(WRITERS))
def test_a_log_that_is_too_short_gives_what_it_has(form):
    interval = 10 if form in {"mindspore-model-zoo", "mindspore-models"} else 1
    t = truth(60, interval=interval)
    result = parse(write(form, t))
    assert result.status == "short"
    assert result.throughput == pytest.approx(t.throughput(21, 60), rel=0.03)
    assert "shorter than the window" in result.reasons[0]


@pytest.mark.parametrize("steps", [0, 130])
def test_out_of_memory_is_named_with_its_line(steps):
    log = write("pytorch-examples", truth(max(steps, 1)), Oddities(ending=OUT_OF_MEMORY))
    if not steps:
        log = OUT_OF_MEMORY.encode()
    result = parse(log)
    assert (result.status, result.throughput) == ("failed", None)
    line = len(log.splitlines())
    assert f"line {line}: out of memory: RuntimeError: CUDA" in result.reasons[0]


ENDINGS = {
    "KeyboardInterrupt": "interrupted",
    "slurmstepd: error: *** STEP 12.0 ON node1 CANCELLED AT 2024-01-01T00:00:00 ***": "interrupted",
    'Traceback (most recent call last):\n  File "main.py", line 1\nValueError: bad': "crashed",
    "Segmentation fault (core dumped)": "crashed",
    "[E ProcessGroupNCCL.cpp:828] [Rank 3] Watchdog caught collective operation timeout": "hung",
    "E0727 12:00:00 tensorflow: RESOURCE_EXHAUSTED: failed to allocate memory": "out of memory",
    "Primary job  terminated normally, but 1 process returned a non-zero exit code.": "crashed",
    "Killed": "crashed",
}  # fmt: skip


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda text: text[:24])
def test_how_a_log_ends(ending):
    result = parse(write("gluon-cv", truth(130), Oddities(ending=ending)))
    assert result.status == "failed"
    assert f": {ENDINGS[ending]}: " in result.reasons[0]
    assert result.throughput is None


def test_how_a_script_takes_it_that_dlscale_ends_it_is_no_failure():
    t = truth(130)
    log = write("timm", t)
    complaint = b"Traceback (most recent call last):\nSignalException: Process 9 got signal: 15\n"
    ended = parse(log + b"\n" + ENDED + b"\n" + complaint)
    assert (ended.status, ended.throughput) == ("ok", near(t))
    crashed = parse(log + complaint + ENDED + b"\n")
    assert crashed.status == "failed"


def test_what_training_survives_is_no_failure():
    log = write("gluon-cv", truth(60)).splitlines(keepends=True)
    log.insert(20, b"socket.timeout: connection timed out, barrier will retry\n")
    log.insert(20, b"OSError: [Errno 5] a worker of the loader\n")
    log[30:30] = [b"RuntimeError: CUDA out of memory in the autotuner\n"]
    result = parse(b"".join(log))
    assert result.status == "short"
    assert any("training went on" in reason for reason in result.reasons)


def test_a_line_cut_in_the_middle_is_left_out():
    t = truth(121)
    whole = write("oneflow-benchmark", t)
    for cut in range(1, 30):
        result = parse(write("oneflow-benchmark", t, Oddities(cut=cut)))
        assert result.throughput is None or result.throughput == pytest.approx(
            t.throughput(20, 120), rel=0.01
        ), (cut, whole[-60:])


@pytest.mark.parametrize("form", sorted(WRITERS))
def test_a_loss_that_is_no_number(form):
    if form in {"tensorflow-models", "tensorflow-controller"}:
        return  # their entries have no loss of their own
    interval = 10 if form in {"mindspore-model-zoo", "mindspore-models"} else 1
    t = truth(130, nan_from=70, interval=interval)
    log = write(form, t)
    if b"nan" not in log and b"NaN" not in log:
        return  # the script prints no loss
    result = parse(log)
    assert (result.status, result.throughput) == ("failed", None)
    assert "nan" in result.reasons[0] or "not a number" in result.reasons[0]


def test_midnight_without_a_date():
    start = datetime(2020, 10, 22, 23, 59, 50)  # noqa: DTZ001
    t = truth(130, start=start)
    log = write("ngc-pytorch", t)
    assert parse(log).throughput == near(t)
    from results.logs.entry import seconds_of

    assert seconds_of(b"0:00:01.5") == 1.5
    later, sooner = seconds_of(b"2020-10-23 00:00:01"), seconds_of(b"2020-10-22 23:59:59")
    assert later - sooner == 2
    assert seconds_of(b"0101 00:00:01.000") < seconds_of(b"1231 23:59:59.000")
    assert seconds_of(b"2020-02-30 00:00:01") is None
    assert seconds_of(b"no time") is None


def test_units_of_the_epochs_time():
    t = truth(140, interval=10)
    in_ms = write("mindspore-model-zoo", t)
    assert parse(in_ms).throughput == near(t)
    assert parse(in_ms.replace(b" ms", b"")).throughput == near(t)
    assert parse(write("mindspore-models", t)).throughput == near(t)


def test_ranks_that_drift_through_their_buffers():
    t = truth(140, ranks=4)
    lines = [list(WRITERS["pytorch-examples"](t, rank)) for rank in range(4)]
    text = "".join(
        line + "\n"
        for begin in range(0, 140, 35)
        for rank in range(4)
        for _, line in lines[rank][begin : begin + 35]
    )
    result = parse(text.encode(), devices=4)
    assert result.throughput == near(t)


def test_a_line_wrapped_in_two():
    t = truth(130)
    for width in (80, 100, 132):
        assert parse(write("pytorch-examples", t, Oddities(wrapped=width))).throughput == near(t)
        assert parse(write("ngc-pytorch", t, Oddities(wrapped=width))).throughput == near(t)


def test_two_lines_glued_together():
    t = truth(130)
    for form in ("pytorch-examples", "oneflow-benchmark", "gluon-cv"):
        assert parse(write(form, t, Oddities(glued=True))).throughput == near(t)


def test_the_label_and_the_figures_disagree():
    t = truth(40, ranks=32)
    log = write("ngc-pytorch", t).replace(b"--nproc_per_node 32", b"--nproc_per_node 16")
    result = parse_bytes(log, Wanted(), "2n8g/r50_b128_fp32_5.log")
    assert any("32 devices, not 16" in reason for reason in result.reasons)
    assert result.throughput == pytest.approx(t.throughput(20, 40), rel=0.001)


def test_an_impossible_accuracy_and_loss_are_remarked():
    log = write("gluon-cv", truth(130)).replace(b"accuracy=0.003496", b"accuracy=1.000000")
    assert any("an accuracy of 1 so early" in reason for reason in parse(log).reasons)
    log = write("pytorch-examples", truth(130, loss="0.0"))
    assert any("loss of exactly 0" in reason for reason in parse(log).reasons)


def test_a_summary_of_zero_means_that_nothing_was_measured():
    result = parse(b"DLL 2021-03-27 09:21:29.862595 - () train_throughput : 0\n")
    assert (result.status, result.throughput) == ("failed", None)
    assert "line 1: nothing measured" in result.reasons[0]


def test_logs_without_training():
    test_lines = b"Use GPU: 7 for training\nTest: [ 0/49]\tTime  5.975 ( 5.975)\tLoss 9.2e-01\n"
    assert parse(test_lines).status == "no training"
    assert "1 other line," in parse(test_lines).reasons[0]
    assert parse(b"").reasons == ("it is empty",)
    assert parse(b"hello\n").status == "no training"
    assert parse(bytes(range(256)) * 40).status == "unreadable"


def test_a_loss_that_is_no_number_in_a_log_of_no_known_format():
    result = parse(
        b"Updates: 200, Loss: 0.5, Duration: 5\nUpdates: 1600, Loss: nan, Duration: 18\n"
    )
    assert (result.status, result.format) == ("failed", None)
    assert "line 2: not a number" in result.reasons[0]


def test_compressed_logs_and_archives(tmp_path):
    t = truth(130)
    log = write("pytorch-examples", t)
    folder = tmp_path / "1n1g"
    folder.mkdir()
    (folder / "r50_b128_fp32_1.log.gz").write_bytes(gzip.compress(log))
    (folder / "r50_b128_fp32_2.log.gz").write_bytes(gzip.compress(log)[:-300])
    logs = {
        "1n1g/r50_b128_fp32_3.log": log,
        "../../etc/1n1g/r50_b128_fp32_4.log.gz": gzip.compress(log),
    }
    (tmp_path / "logs.tar.gz").write_bytes(archive(logs))
    (tmp_path / "broken.tar").write_bytes(b"no archive")
    before = sorted(tmp_path.rglob("*"))
    found = [r for s in find_sources([tmp_path]) for r in parse_source(s, Wanted())]
    assert sorted(tmp_path.rglob("*")) == before
    repeats = {r.facts.repeat: r for r in found}
    assert {number: r.status for number, r in repeats.items()} == {
        **dict.fromkeys((1, 3, 4), "ok"),
        2: "short",
        None: "unreadable",
    }
    assert all(repeats[number].throughput == near(t) for number in (1, 3, 4))
    assert repeats[2].reasons[-1] == "the compressed file is cut"


def test_a_zip_archive_and_one_that_cannot_be_read(tmp_path):
    t = truth(130)
    log = write("pytorch-examples", t)
    names = ["b/1n1g/r50_b128_fp32_2.log", "../a/1n1g/r50_b128_fp32_10.log.gz", "notes.md"]
    with zipfile.ZipFile(tmp_path / "logs.zip", "w", zipfile.ZIP_DEFLATED) as archived:
        for name in names:
            data = b"no log" if name == "notes.md" else log
            archived.writestr(name, gzip.compress(data) if name.endswith("gz") else data)
    (source,) = find_sources([tmp_path])
    found = parse_source(source, Wanted())
    assert [r.log for r in found] == [f"{tmp_path}/logs.zip:{name}" for name in sorted(names[:2])]
    assert all((r.status, r.throughput) == ("ok", near(t)) for r in found)
    (tmp_path / "logs.zip").write_bytes(b"PK\x03\x04 and no more")
    (broken,) = parse_source(source, Wanted())
    assert (broken.status, broken.reasons[0][:23]) == ("unreadable", "it cannot be unpacked: ")


def blocks_of_two(t, first_of_one, beginnings):
    """Return the lines of two ranks one after the other, the first cut at its start."""
    lines = write("pytorch-examples", t, Oddities(order="blocks", header=False)).splitlines(True)
    one, two = lines[first_of_one : t.steps], lines[t.steps :]
    return b"".join([beginnings[0], *one, beginnings[1], *two])


def test_ranks_one_after_the_other_are_told_from_runs():
    t = truth(130, ranks=2)
    t.seconds[0] *= 1.5  # the slower rank is the first in the log
    begin = [b"Use GPU: %d for training\n=> creating model 'resnet50'\n" % gpu for gpu in (0, 1)]
    path = "4n8g/r50_b128_fp32_1.log"
    slowest = 32 * 128 * 100 / t.seconds[0, 20:120].sum()
    result = parse_bytes(blocks_of_two(t, 0, begin), Wanted(), path)
    assert result.throughput == pytest.approx(slowest, rel=0.001)
    assert "2 ranks print into it" in " ".join(result.reasons)
    result = parse_bytes(blocks_of_two(t, 5, [b"", begin[1]]), Wanted(), path)
    slowest = 32 * 128 * 100 / t.seconds[0, 25:125].sum()
    assert result.throughput == pytest.approx(slowest, rel=0.001)
    # The same rank once more, or all ranks' beginnings, is another run.
    for again in (begin[0], b"".join(begin)):
        result = parse_bytes(blocks_of_two(t, 0, [begin[0], again]), Wanted(), path)
        last = 32 * 128 * 100 / t.seconds[1, 20:120].sum()
        assert result.throughput == pytest.approx(last, rel=0.001)
        assert "the log holds 2 runs" in result.reasons[0]


def test_one_step_that_is_named_again_and_again_gives_no_figure():
    stuck = "2023-03-26 13:43:{:02d},405:INFO:epoch: [1/10] step: [10/85], lr: 0.001, loss: {}, "
    stuck += "per step time: {}.379 ms"
    lines = [stuck.format(second, 1.5 - second / 100, 300 + second) for second in range(6)]
    result = parse_bytes("\n".join([*lines, ""]).encode(), Wanted(), "train_b32.log")
    assert (result.status, result.throughput, result.steps) == ("short", None, 0)
    (reason,) = result.reasons
    assert reason.startswith("lines 1 to 6 all name one step, and have other figures")


@pytest.mark.parametrize("prefix", ["", "mpirun"])
def test_a_run_that_goes_on_from_a_checkpoint(prefix):
    t = truth(400)
    lines = write("pytorch-examples", t, Oddities(prefix=prefix, header=False)).splitlines(True)
    faster = truth(400, seed=5)
    resumed = write(
        "pytorch-examples",
        replace(faster, seconds=faster.seconds / 2),
        Oddities(prefix=prefix, header=False),
    ).splitlines(True)
    result = parse(b"".join([*lines[:250], *resumed[150:]]))
    assert result.throughput == pytest.approx(2 * faster.throughput(170, 270), rel=0.001)
    assert any("2 runs" in reason for reason in result.reasons)


def test_of_a_long_log_the_last_run_is_found():
    t = truth(9000, epoch=2500)
    again = truth(9000, epoch=2500, seed=3)
    again = replace(again, seconds=again.seconds / 2)
    for begin in (0, 2500, 4000):
        log = write("gluon-cv", t) + b"".join(
            write("gluon-cv", again, Oddities(header=False)).splitlines(True)[begin:]
        )
        result = parse(log)
        assert result.throughput == pytest.approx(
            again.throughput(max(begin, 0) + 20, begin + 120), rel=0.005
        ), begin
        assert result.steps == pytest.approx(9000 - begin, abs=5)


@pytest.mark.parametrize("form", sorted(WRITERS))
def test_an_output_that_was_written_to_the_file_twice(form):
    interval = 10 if form in {"mindspore-model-zoo", "mindspore-models"} else 1
    once = write(form, truth(140, interval=interval), Oddities(header=False))
    twice = b"".join(line + line for line in once.splitlines(keepends=True))
    assert parse(twice).throughput == pytest.approx(parse(once).throughput, rel=1e-6)


def test_one_step_alone_is_no_figure():
    result = parse(write("gluon-cv", truth(1)))
    assert (result.status, result.throughput) == ("short", None)


def test_words_that_are_no_failure():
    t = truth(130)
    ending = "Killed workers: 0\nfinished, 0 non-zero exit codes\nTop-1 Error: 23.1\nval err: 0.3"
    result = parse(write("pytorch-examples", t, Oddities(ending=ending)))
    assert (result.status, result.throughput) == ("ok", near(t))


def test_times_of_zero_are_no_figure_by_either_rule():
    t = truth(140)
    result = parse(write("pytorch-examples", replace(t, seconds=t.seconds / 1e5)))
    assert (result.throughput, result.dlperf_v1) == (None, None)


def test_a_run_that_waits_for_its_input_is_told():
    t = truth(130)
    log = write("pytorch-examples", t).replace(b"Data  0.011", b"Data  0.270")
    assert any("bound by its input" in reason for reason in parse(log).reasons)
    assert not any("bound" in reason for reason in parse(write("pytorch-examples", t)).reasons)


def test_a_mean_of_rates_is_told():
    t = truth(250, interval=10, jitter=0.5)
    result = parse(write("ngc-pytorch", t))
    assert result.throughput >= t.throughput(20, 120)
    assert any("mean of its steps' rates" in reason for reason in result.reasons)
    assert not any("rates" in reason for reason in parse(write("ngc-pytorch", truth(250))).reasons)


def docker(printed, *, whole):
    record = {"log": printed, "stream": "stderr", "time": "2026-12-01T10:00:00.000000001Z"}
    return json.dumps(record, separators=(",", ":"))[: None if whole else -20]


def test_what_docker_keeps_of_a_container():
    t = truth(130)
    printed = write("pytorch-examples", t).decode().splitlines(keepends=True)
    records = [docker(line, whole=True) for line in printed]
    result = parse("\n".join([*records, docker(printed[-1], whole=False)]).encode())
    assert (result.status, result.throughput) == ("ok", near(t))
    result = parse("\n".join([*records, docker(f"{OUT_OF_MEMORY}\n", whole=True), ""]).encode())
    assert result.reasons[0].startswith(f"line {len(printed) + 1}: out of memory")


def test_a_log_that_ends_in_another_format_is_told():
    t = truth(130)
    both = write("gluon-cv", t) + write("pytorch-examples", t)
    result = parse(both)
    assert (result.format, result.throughput) == ("gluon-cv", near(t))
    assert "last steps are of another format, which is not read: --format pytorch-examples" in (
        " ".join(result.reasons)
    )
    assert not any("another format" in reason for reason in parse(write("gluon-cv", t)).reasons)


@pytest.mark.parametrize("first", [20, 21])
def test_steps_that_a_script_never_prints_count_as_its_warm_up(first):
    """NVIDIA's script for TensorFlow prints from its 21st step on, which it may call 20 or 21."""
    t = truth(120)
    lines = write("ngc-tensorflow", t).decode().splitlines()
    numbered = [line.replace(f"(0, {k})", f"(0, {k + first - 20})") for k, line in enumerate(lines)]
    result = parse("\n".join(numbered[20:]).encode())
    assert (result.status, result.steps) == ("ok", 120)
    assert (result.window.first, result.window.last, result.window.whole) == (20, 120, True)
    assert result.throughput == near(t, 20, 120)
