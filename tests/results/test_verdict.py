import pytest
from conftest import CASE, case_like, rank_log, repeat_record

from results.formats.mllog import read
from results.verdict import judge

TWO = case_like(devices=2)
SECONDS = [1.0] * 3 + [0.5] * 10


def logs(*texts):
    return [read(text.encode()) for text in texts]


def verdict(case, *texts, **record):
    return judge(repeat_record(case, 1, **record), logs(*texts))


def test_a_good_repeat():
    result = verdict(TWO, rank_log(TWO, SECONDS), rank_log(TWO, SECONDS, rank=1))
    assert result.reason == ""
    assert result.throughput == pytest.approx(16 * 10 / 5.0)
    assert len(result.step_seconds) == len(result.data_seconds) == 10


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"losses": [6.9] * 12 + ["nan"]}, "loss of step 13 is not finite"),
        ({"checksum": "0dd"}, "weights of ranks 0 and 1 differ"),
        ({"checksum": ""}, "no checksum"),
        ({"parameters": 25_583_592}, "25583592 parameters, not 25557032"),
        ({"global_batch": 8}, "global batch 8, not 16 as asked"),
        ({"status": ""}, "did not say that it ended well"),
        ({"status": "aborted", "reason": "the loss of step 2 is nan"}, "loss of step 2 is nan"),
    ],
)
def test_a_rank_that_is_not_good_fails_the_repeat(change, reason):
    result = verdict(TWO, rank_log(TWO, SECONDS), rank_log(TWO, SECONDS, rank=1, **change))
    assert result.throughput is None
    assert reason in result.reason


def test_a_short_window_is_not_a_window():
    result = verdict(CASE, rank_log(CASE, SECONDS[:-1]))
    assert result.throughput is None
    assert "12 steps, 13 needed" in result.reason


def test_a_clock_that_runs_backwards():
    result = verdict(CASE, rank_log(CASE, [1.0] * 5 + [-0.5] + [1.0] * 7))
    assert "runs backwards at step 6" in result.reason


def test_a_rank_without_a_log_is_named():
    result = verdict(TWO, rank_log(TWO, SECONDS))
    assert "no log of rank 1" in result.reason


def test_a_log_too_many_is_not_of_this_job():
    texts = [rank_log(CASE, SECONDS), rank_log(CASE, SECONDS, rank=1)]
    assert "2 logs for 1 ranks: rank 1" in verdict(CASE, *texts).reason
    texts = [rank_log(CASE, SECONDS), rank_log(CASE, SECONDS)]
    assert "2 logs for 1 ranks: rank 0" in verdict(CASE, *texts).reason


def test_a_log_of_a_job_of_another_size():
    result = verdict(CASE, rank_log(TWO, SECONDS, global_batch=8))
    assert "one of 2 ranks, not of 1" in result.reason


def test_how_the_processes_ended_counts_before_the_logs():
    good = rank_log(CASE, SECONDS)
    result = verdict(CASE, good, outcome="hung", reason="still running after 5 s, ended")
    assert (result.throughput, result.reason) == (None, "still running after 5 s, ended")


def test_the_steps_shown_are_those_of_the_slowest_rank():
    slow = [1.0] * 3 + [0.8] * 10
    result = verdict(TWO, rank_log(TWO, SECONDS), rank_log(TWO, slow, rank=1))
    assert result.throughput == pytest.approx(16 * 10 / 8.0)
    assert result.step_seconds.tolist() == pytest.approx([0.8] * 10)
