"""BATCH=max on the toy implementation, whose memory holds as many images as a test says."""

import json
import shutil
import signal

import pytest
from conftest import CASE
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toy_bench import TOY, Bench, finished, needs_two_cores

from results.errors import InputError
from runners.largest_batch import ANSWER, FINENESS, FOLDER, MOST, kept_answer, largest

SIZES = ("--data=synthetic", "--warmup=1", "--steps=2", "--repeats=1", "--batch=max")


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_MEMORY", "20")
    return Bench(tmp_path, "--cases=1n1g", sizes=SIZES)


@pytest.mark.parametrize("first", [1, 8, 128])
@given(limit=st.integers(1, MOST - 1))
def test_the_largest_is_found_to_a_thirty_second(first, limit):
    asked = []

    def trains(batch):
        asked.append(batch)
        return batch <= limit

    found = largest(trains, first)
    assert found <= limit <= found + found // FINENESS
    assert len(asked) == len(set(asked)) <= 16 + 5 + 1


def test_a_search_ends_where_memory_has_none():
    assert largest(lambda _: True, 128) == MOST
    assert largest(lambda _: False, 8) == 0


def test_where_one_image_is_too_many_the_benchmark_fails(bench, monkeypatch):
    monkeypatch.setenv("TOY_MEMORY", "0")
    failed = bench.run()
    assert failed.returncode == 1
    assert "not even one image per device fits into memory on 1n1g" in failed.stderr


def test_a_run_takes_the_largest_batch_and_keeps_the_answer(bench):
    done = bench.run()
    assert done.returncode == 0, done.stderr
    assert [case.batch_size for case in bench.record.cases] == [20]
    note = next(note for note in bench.record.notes if "largest batch of toy" in note)
    assert "20 per device trains on 1n1g, 21 is too large (7 short runs)" in note
    answer = json.loads(next(bench.results.glob("*/*/answer.json")).read_text())
    assert answer["case"]["batch_size"] == 20
    assert {one["outcome"] for one in answer["trials"]} == {"completed", "out of memory"}
    again = bench.run()
    assert "20 per device" in again.stderr
    assert "batch 8 trains" not in again.stderr  # no trial was made again
    assert len(list(bench.results.glob("*/*/b*_1"))) == 0


def test_a_run_with_the_largest_batch_goes_on_with_it(bench):
    bench.faults = "hang@1n1g_1/0"
    driver = bench.start_run()
    bench.await_log("1n1g/*_1/rank0.log", "the toy hangs")
    driver.send_signal(signal.SIGINT)
    assert finished(driver).returncode == 130
    shutil.rmtree(bench.results / FOLDER)
    resumed = bench.resume()
    assert resumed.returncode == 0, resumed.stderr
    assert bench.repeat("1n1g", 1).case.batch_size == 20
    assert not (bench.results / FOLDER).exists()  # nothing was searched again


@needs_two_cores
def test_the_case_that_needs_most_memory_is_searched(tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_MEMORY", "20")
    bench = Bench(tmp_path, "--nodes=1", "--devices=2", sizes=SIZES)
    assert bench.run().returncode == 0
    assert {case.label: case.batch_size for case in bench.record.cases} == {"1n1g": 10, "1n2g": 10}


def test_another_failure_than_memory_ends_the_search(bench):
    bench.faults = "crash@*/*"
    failed = bench.run()
    assert failed.returncode == 1
    why = "ends at 8, which fails for another reason than memory: rank0: RuntimeError: the toy"
    assert why in failed.stderr
    assert not list(bench.results.glob("*/record.json"))
    bench.faults = ""
    assert bench.run().returncode == 0  # a trial that failed is made again


def test_a_search_that_was_interrupted_goes_on(bench):
    bench.faults = "hang@toy-*_b16/0"
    driver = bench.start_run()
    bench.await_log("b16/rank0.log", "the toy hangs")
    rival = bench.run()
    driver.send_signal(signal.SIGINT)
    assert finished(driver).returncode == 130
    assert rival.returncode == 2
    assert "is going on in another process" in rival.stderr
    bench.faults = ""
    done = bench.run()
    assert done.returncode == 0, done.stderr
    assert "batch 8 trains" not in done.stderr
    assert "batch 16 trains" in done.stderr
    assert bench.record.cases[0].batch_size == 20


@given(damage=st.binary(max_size=200))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_answer_that_is_none_is_named(tmp_path, damage):
    (tmp_path / ANSWER).write_bytes(damage)
    with pytest.raises(InputError, match="remove"):
        kept_answer(tmp_path, CASE)


def test_what_would_be_run_is_shown_without_a_search(bench):
    shown = bench.here("bench", str(TOY), *SIZES, "--dry-run")
    assert shown.returncode == 0
    assert "the largest batch is searched first" in shown.stdout
    assert not bench.results.exists()


def test_a_batch_is_a_number_or_max(bench):
    refused = bench.here("bench", str(TOY), "--batch=most")
    assert refused.returncode == 2
    assert "'most' is not a whole number from 1 to 1,000,000, nor max" in refused.stderr
