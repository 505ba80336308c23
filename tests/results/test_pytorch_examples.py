from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.errors import InputError
from results.formats import formats, pytorch_examples, read_log
from results.window import measure

NEWEST = "Epoch: [0][{:2}/16]\tTime {:6.3f} ({:6.3f})\tData {:6.3f} ( 0.100)\tLoss {} (7.0e+00)\t"


def log(seconds, first=1, loss="6.9e+00"):
    lines = [
        NEWEST.format(first + k, time, 9.999, time / 10, loss) + "Acc@1   0.00 (  0.00)"
        for k, time in enumerate(seconds)
    ]
    return ("Using device: cpu\n" + "\n".join(lines) + "\nTest: [1/2]\tTime  1.0 (  1.0)").encode()


@pytest.mark.parametrize("first", [0, 1])
def test_the_window_of_known_times(first):
    read = read_log(log([50.0] + [0.5] * 13, first))
    assert read.format == "pytorch-examples"
    rate = measure([read.ends], warmup=4, steps=10, global_batch=32).throughput
    assert rate == pytest.approx(64.0)
    assert read.waits[1] == pytest.approx(0.05)


def test_three_digits_before_the_point_are_time_too():
    assert read_log(log([2.0, 121.054])).ends[1] == pytest.approx(123.054)


def test_a_loss_that_is_not_a_number():
    assert str(read_log(log([1.0], loss="nan")).losses[0]) == "nan"


def test_of_several_epochs_the_last_counts():
    assert len(read_log(log([1.0] * 5) + b"\n" + log([1.0] * 3)).ends) == 3


def test_every_format_is_found_by_being_there():
    assert {"mllog", "pytorch-examples"} <= {one.NAME for one in formats()}


@given(st.binary(max_size=300))
def test_any_bytes_are_survived(junk):
    pytorch_examples.read(b"Epoch: [0][ 1/16]\tTime " + junk)
    with suppress(InputError):
        read_log(junk)


def test_lines_made_to_stall_a_reader_do_not():
    assert not pytorch_examples.recognise(b"Epoch: [0][ 1/16]\tTime  1.0 (" * 100_000)
