import math

import pytest
from conftest import CASE, log_line, rank_log
from hypothesis import given
from hypothesis import strategies as st
from mlperf_logging.compliance_checker.mlp_parser.ruleset_510 import parse_generator

from results.errors import InputError
from results.formats import mllog


def read(text):
    return mllog.read(text.encode())


def test_a_whole_log():
    log = read(rank_log(CASE, [0.5] * 13, rank=2))
    assert (log.rank, log.world_size, log.global_batch, log.status) == (2, 1, 8, "success")
    assert log.parameters == 25_557_032
    assert log.weights_checksum == "c0ffee"
    assert log.ends.tolist() == pytest.approx([0.5 * k for k in range(1, 14)])
    assert log.waits.tolist() == pytest.approx([0.05] * 13)
    assert log.losses.tolist() == [6.9] * 13


def test_mlperfs_own_parser_reads_every_line():
    lines, failed = parse_generator(rank_log(CASE, [0.5] * 13).splitlines())
    assert not failed
    assert [line.key for line in lines].count("step") == 13


def test_losses_that_are_not_finite():
    losses = [6.9, "nan", "inf"]
    read_losses = read(rank_log(CASE, [0.5] * 3, losses=losses)).losses
    assert read_losses[0] == 6.9
    assert math.isnan(read_losses[1])
    assert math.isinf(read_losses[2])


def test_a_gap_ends_the_steps():
    text = rank_log(CASE, [0.5] * 13)
    without_five = "".join(
        line for line in text.splitlines(keepends=True) if '"step": 5,' not in line
    )
    assert len(read(without_five).ends) == 4


def test_a_log_cut_in_the_middle_of_a_line():
    text = rank_log(CASE, [0.5] * 13)
    cut = text[: text.index('"step": 9,')]
    assert len(read(cut).ends) == 8
    assert read(cut).status == ""


def test_other_lines_and_prefixes_around():
    text = "warning: é\x1b[31m\r\n" + "".join(
        f"[1,3]<stdout>:{line}" for line in rank_log(CASE, [0.5] * 13).splitlines(keepends=True)
    )
    assert len(read(text).ends) == 13


def test_a_log_of_no_known_format_is_refused():
    with pytest.raises(InputError, match="no :::MLLOG line"):
        mllog.read(b"nothing to see here\n")


@given(st.binary(max_size=400))
def test_any_bytes_in_a_line_are_survived(junk):
    log = mllog.read(b":::MLLOG " + junk + b"\n" + rank_log(CASE, [0.5] * 3).encode())
    assert len(log.ends) in range(4)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text() | st.integers(), st.lists, max_leaves=5
    ),
    st.sampled_from(["step", "rank", "global_batch_size", "run_stop", "weights_checksum"]),
)
def test_any_value_of_a_key_is_survived(value, key):
    mllog.read(log_line(key, value, step=1).encode())


def test_lines_made_to_stall_a_reader_do_not():
    assert len(mllog.read(b":::MLLOG {" * 300_000).ends) == 0
    assert len(mllog.read(b":::MLLOG " + b'{"key":' * 200_000 + b"}" * 200_000).ends) == 0
    huge = log_line("step", 0, step=1).replace('"value": 0', f'"value": {"9" * 400}')
    assert len(mllog.read(huge.encode()).ends) == 0
