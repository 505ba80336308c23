"""What a log and its path say of its case, and what follows when they disagree."""

from dataclasses import replace
from pathlib import PurePosixPath

import msgspec
import pytest
from log_writer import truth, write

from results.logs.cases import cases_of
from results.logs.facts import Facts, facts_of_path, job_of
from results.logs.notices import notices_on
from results.parse_logs import Wanted, parse_bytes

PATHS = {
    "logs/pytorch/1n8g/r50_b128_fp32_3.log": (1, 8, 128, "fp32", 3),
    "logs/pytorch/10n8g/rn50_b256_fp16_12.log": (10, 8, 256, "amp", 12),
    "logs/pytorch/4n16g/r50_b128_amp_1.log.gz": (4, 16, 128, "amp", 1),
    "1n1g/r50_b128_fp32.log": (1, 1, 128, "fp32", None),
    "03-resnet18-1gpu-b8.log": (None, 1, 8, None, None),
    "ngc/mxnet/2n8g/r50_b64_tf32_7.txt": (2, 8, 64, "tf32", 7),
    "runs/x/pytorch/2n2g/r50_b8_fp32_torchvision_2/rank0.log": (2, 2, 8, "fp32", None),
    "b128-logs/4n8g-fp16.log": (4, 8, 128, "amp", None),
    "b64/8gpu/2n2g/home/me/logs/train.log": (None, None, None, None, None),
    "r50/v1/train.log": (None, None, None, None, None),
    "1n8g/r50_b64_fp32_4_rank3.log": (1, 8, 64, "fp32", 4),
    "1n8g/workerlog.3": (1, 8, None, None, None),
    "0n0g/b0.log": (None, None, None, None, None),
}


@pytest.mark.parametrize("path", PATHS)
def test_what_a_path_says(path):
    facts = facts_of_path(PurePosixPath(path))
    found = (facts.nodes, facts.devices, facts.batch_size, facts.precision, facts.repeat)
    assert found == PATHS[path]


def log_at(path, form="gluon-cv", ranks=8, **more):
    t = truth(130, ranks=ranks, **more)
    return t, parse_bytes(write(form, t), Wanted(), path)


def test_what_the_log_says_wins_over_its_path():
    t, result = log_at("2n8g/r50_b256_fp16_1.log")
    assert (result.facts.batch_size, result.facts.precision) == (128, "fp32")
    assert result.throughput == pytest.approx(t.throughput(20, 120), rel=0.001)
    told = " ".join(result.reasons)
    assert "batch size: the log says 128, its path 256" in told
    assert "precision: the log says fp32, its path amp" in told


def test_what_the_user_says_wins_over_both():
    t = truth(130)
    result = parse_bytes(
        write("pytorch-examples", t),
        Wanted(given=Facts(batch_size=64, nodes=2, devices=4)),
        "1n1g/r50_b128_fp32_1.log",
    )
    assert result.facts.label == "2n4g"
    assert result.throughput == pytest.approx(t.throughput(20, 120) * 4, rel=0.001)


def test_what_the_user_says_otherwise_than_the_log_is_told():
    t = truth(130, ranks=8)
    log = write("oneflow-benchmark", t)
    given = Facts(batch_size=64, devices=8)
    result = parse_bytes(log, Wanted(given=given), "1n8g/r50_b128_fp32_1.log")
    told = " ".join(result.reasons)
    assert "--batch 64 replaces 128" in told
    assert "--devices" not in told
    assert "rate and time fit 1024 images per step, not 512" in told


def test_what_the_user_says_replaces_a_batch_of_the_whole_job():
    t = truth(700, interval=100)
    log = write("tensorflow-models", t)
    assert parse_bytes(log, Wanted(), "x.log").facts.global_batch == 128
    result = parse_bytes(log, Wanted(given=Facts(batch_size=32, devices=2)), "x.log")
    assert (result.facts.global_batch, result.facts.job_batch) == (None, 64)


def test_nodes_and_devices_that_differ_in_a_product_that_does_not():
    t = truth(130, ranks=16, nodes=2)
    result = parse_bytes(write("ngc-pytorch", t), Wanted(), "1n16g/r50_b128_fp32_1.log")
    assert result.facts.label == "2n8g"
    assert "nodes and devices: the log says 2n8g, its path 1n16g; the log's is taken" in (
        result.reasons
    )


def test_a_figure_of_an_unknown_number_of_devices_is_marked():
    t = truth(130)
    result = parse_bytes(write("pytorch-examples", t), Wanted(), "r50_b128.log")
    assert (result.devices_assumed, result.facts.world_size) == (1, None)
    assert result.throughput == pytest.approx(t.throughput(20, 120), rel=0.001)
    assert result.step_seconds == pytest.approx(t.seconds[0, 20:120].mean(), rel=0.001)
    known = parse_bytes(write("pytorch-examples", t), Wanted(), "1n1g/r50_b128.log")
    assert known.devices_assumed is None


def test_without_a_batch_size_there_is_a_time_and_no_throughput():
    result = parse_bytes(write("pytorch-examples", truth(130)), Wanted(), "train.log")
    assert (result.status, result.throughput) == ("ok", None)
    assert result.step_seconds == pytest.approx(0.36, rel=0.2)
    assert "nothing says the batch size" in " ".join(result.reasons)


def test_one_of_eight_ranks_that_prints_its_own_rate():
    t = truth(130, ranks=8)
    log = b"".join(
        line for line in write("oneflow-models", t).splitlines(keepends=True) if b"[rank:0]" in line
    )
    result = parse_bytes(log, Wanted(), "1n8g/r50_b128_fp32_1.log")
    assert result.throughput == pytest.approx(t.throughput(20, 120), rel=0.002)
    assert "1 of 8 ranks printed their own rate: it is taken for each" in result.reasons


def tree(*paths):
    results = []
    for path in paths:
        nodes, devices = facts_of_path(PurePosixPath(path)).label.split("n")
        ranks = int(nodes) * int(devices.rstrip("g"))
        t = truth(130, ranks=ranks, seed=len(results))
        log = write("pytorch-examples", t).splitlines(keepends=True)
        first = [line for line in log if line.startswith((b"Use", b"=>"))]
        results.append(parse_bytes(b"".join([*first, *log[len(first) :: ranks]]), Wanted(), path))
    return results


def test_cases_of_a_tree_with_their_speedups():
    paths = [
        f"dl/{label}/r50_b128_fp32_{k}.log" for label in ("1n1g", "1n8g", "10n8g") for k in (1, 2)
    ]
    results = tree(*paths)
    assert {r.status for r in results} == {"ok"}
    cases = cases_of(results)
    assert [case.facts.label for case in cases] == ["1n1g", "1n8g", "10n8g"]
    assert [case.counted for case in cases] == [2, 2, 2]
    assert [case.base for case in cases] == ["1n1g"] * 3
    assert [round(case.speedup.value) for case in cases] == [1, 8, 80]


def test_without_1n1g_the_base_is_the_smallest_and_alone_there_is_none():
    two = cases_of(tree("dl/1n8g/r50_b128_fp32_1.log", "dl/2n8g/r50_b128_fp32_1.log"))
    assert [case.base for case in two] == ["1n8g", "1n8g"]
    assert round(two[1].speedup.value) == 2
    (alone,) = cases_of(tree("dl/4n8g/r50_b128_fp32_1.log"))
    assert (alone.speedup, alone.base) == (None, None)
    assert alone.no_base == "no case with fewer devices"


def test_batch_sizes_precisions_and_folders_are_not_mixed():
    cases = cases_of(
        tree(
            "a/1n1g/r50_b128_fp32_1.log",
            "a/1n1g/r50_b64_fp32_1.log",
            "a/1n1g/r50_b128_fp16_1.log",
            "b/1n1g/r50_b128_fp32_1.log",
            "a/1n8g/r50_b128_fp16_1.log",
        )
    )
    assert len(cases) == 5
    assert [case.base for case in cases] == ["1n1g"] * 5


def test_logs_whose_names_differ_are_no_repeats():
    cases = cases_of(
        tree("a/01-dali-1n1g-b128.log", "a/02-nodali-1n1g-b128.log", "a/03-dali-1n1g-b128.log")
    )
    assert [(case.name, len(case.logs)) for case in cases] == [
        ("#-dali-#n#g-b#", 2),
        ("#-nodali-#n#g-b#", 1),
    ]
    assert [case.speedup.value for case in cases] == [1, 1]


def test_the_base_is_named_alike_or_the_only_one():
    one = ["a/1n1g/dali_b128_1.log", "a/1n1g/plain_b128_1.log", "a/1n8g/dali_b128_1.log"]
    cases = cases_of(tree(*one))
    assert [case.base for case in cases] == ["1n1g"] * 3
    cases = {case.name: case for case in cases_of(tree(*one[:2], "a/1n8g/other_b128_1.log"))}
    assert cases["other_b#"].no_base == "2 cases could be its base"
    (_, eight) = cases_of(tree("a/1n1g/alone_b128.log", "a/1n8g/eight_b128.log"))
    assert (eight.base, round(eight.speedup.value)) == ("1n1g", 8)


JOBS = {
    "a/1n8g/workerlog.0": "a/1n8g",
    "a/1n8g/worker_3.log": "a/1n8g",
    "a/1n8g/r50_b128_fp32_2_rank7.log.gz": "a/1n8g/r50_b128_fp32_2",
    "a/attempt_0/3/stdout.log": "a/attempt_0",
    "a/r50_b128_fp32_2.log": "a/r50_b128_fp32_2.log",
    "a/my_ranked2.log": "a/my_ranked2.log",
    "node1.log": ".",
}


@pytest.mark.parametrize("path", JOBS)
def test_which_files_are_of_one_job(path):
    assert job_of(PurePosixPath(path)) == JOBS[path]


def test_the_files_of_ranks_are_one_repeat_and_the_slowest_counts():
    t = truth(130, ranks=8)
    ranks = [replace(t, seconds=t.seconds[rank : rank + 1]) for rank in range(8)]
    logs = {f"1n8g/workerlog.{rank}": write("pytorch-examples", ranks[rank]) for rank in range(8)}
    results = [parse_bytes(log, Wanted(given=Facts(batch_size=128)), p) for p, log in logs.items()]
    (case,) = cases_of(results)
    assert (case.counted, case.repeats, len(case.logs)) == (1, 1, 8)
    assert case.throughput.value == pytest.approx(t.throughput(20, 120), rel=0.001)
    assert notices_on([case]) == []
    (failed,) = cases_of([*results[:7], replace(results[7], status="failed", throughput=None)])
    assert (failed.counted, failed.repeats, failed.throughput) == (0, 1, None)
    mute = [
        parse_bytes(log, Wanted(), f"b128/x/{PurePosixPath(p).name}") for p, log in logs.items()
    ]
    (notice,) = notices_on(cases_of(mute))
    assert "8 logs of b128/x are of ranks, and nothing says how many devices there were" in notice


def test_repeats_that_differ_much_are_told():
    results = tree("a/1n1g/r50_b128_1.log", "a/1n1g/r50_b128_2.log")
    assert notices_on(cases_of(results)) == []
    slow = replace(results[1], throughput=results[1].throughput / 1.5)
    (notice,) = notices_on(cases_of([results[0], slow]))
    assert notice.startswith("the 2 repeats of 1n1g in a differ by a factor of 1.5")


def test_a_speedup_over_a_log_that_does_not_say_its_model_is_told():
    one, eight = tree("a/1n1g/r50_b128_1.log", "a/1n8g/r50_b128_1.log")
    mute = replace(one, facts=msgspec.structs.replace(one.facts, model=None))
    cases = cases_of([mute, eight])
    assert round(cases[1].speedup.value) == 8
    assert notices_on(cases) == ["1n1g in a does not say its model: the speedups assume resnet50"]


def test_an_equal_repeat_number_is_told():
    results = tree("a/1n1g/r50_b128_fp32_1.log", "a/1n1g/r50_b128_fp32_1.txt")
    (notice,) = notices_on(cases_of(results))
    assert notice.startswith("2 logs say that they are repeat 1 of one case")


def test_a_case_whose_logs_are_all_too_short_is_marked():
    results = [
        parse_bytes(write("gluon-cv", truth(60, seed=k)), Wanted(), f"1n1g/r50_b128_fp32_{k}.log")
        for k in range(3)
    ]
    (case,) = cases_of(results)
    assert case.short
    assert case.counted == 3
