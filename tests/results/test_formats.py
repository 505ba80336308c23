"""Each format, from known step times: the right figure, whatever is odd about the log."""

from dataclasses import replace

import pytest
from log_writer import EVERY_RANK_PRINTS, PREFIXES, WRITERS, Oddities, truth, write

from results.formats import formats
from results.logs import entries
from results.logs.columns import entries_of_lines
from results.logs.entries import take_apart
from results.logs.facts import Facts
from results.parse_logs import Wanted, parse_bytes

# Printed digits allow no more: rates and running means to a tenth, times to a hundredth.
TOLERANCE = {"horovod-synthetic": 0.002, "tf-cnn-benchmarks": 0.002}
FORMATS = sorted(WRITERS)
# Means of twenty steps end at the 21st, 41st, ... ; the speedometer leaves out the first batch.
WINDOW = {"torchvision-references": (21, 121), "mxnet-speedometer": (21, 121)}
STEPS = {"torchvision-references": 121, "mxnet-speedometer": 139}
# What they print at each step is too coarse, or they cannot.
BY_TENS = {
    "mindspore-model-zoo", "mindspore-models", "tensorflow-models", "tensorflow-controller",
}  # fmt: skip


def given(t):
    return Wanted(given=Facts(batch_size=t.batch, nodes=1, devices=t.ranks))


def check(form, log, t, first=20, last=120, status="ok"):
    result = parse_bytes(log, given(t))
    assert (result.format, result.status) == (form, status), result
    true = t.throughput(first, last)
    assert result.throughput == pytest.approx(true, rel=TOLERANCE.get(form, 0.001)), result
    return result


def make(form, **more):
    interval = 10 if form in BY_TENS else 1
    return truth(**{"interval": interval, "steps": 140, **more})


def test_every_format_is_written():
    # The first is our own; the second has the lines of paddle-clas, and is read where it is named.
    assert {form.name for form in formats()} - {"mllog", "paddle-clas-2.5.2"} == set(WRITERS)


@pytest.mark.parametrize("form", FORMATS)
def test_a_plain_log(form):
    t = make(form)
    result = check(form, write(form, t), t, *WINDOW.get(form, (20, 120)))
    assert result.steps == STEPS.get(form, 140)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "odd",
    [
        Oddities(noise=True),
        Oddities(colours=True),
        Oddities(carriage_returns=True),
        Oddities(crlf=True),
        Oddities(nul=True),
        Oddities(invalid_utf8=True),
        Oddities(utf16=True),
        Oddities(header=False),
        Oddities(prefix="mpirun"),
        Oddities(prefix="srun"),
        Oddities(validation=True),
        Oddities(restarts=1),
        Oddities(restarts=3),
        Oddities(noise=True, colours=True, crlf=True, prefix="horovodrun", restarts=1),
    ],
    ids=lambda odd: "-".join(
        f"{name}={value}" for name, value in vars(odd).items() if value and value != "mixed"
    ),
)
def test_an_oddity_changes_nothing(form, odd):
    t = make(form)
    check(form, write(form, t, odd), t, *WINDOW.get(form, (20, 120)))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("prefix", ["", *PREFIXES])
@pytest.mark.parametrize("order", ["mixed", "blocks"])
def test_several_ranks(form, prefix, order):
    t = make(form, ranks=8)
    log = write(form, t, Oddities(prefix=prefix, order=order))
    result = check(form, log, t, *WINDOW.get(form, (20, 120)))
    if form in EVERY_RANK_PRINTS and form != "ngc-mxnet":
        assert "8 ranks print into it" in " ".join(result.reasons)


@pytest.mark.parametrize("form", FORMATS)
def test_columns_and_lines_give_the_same_entries(form, monkeypatch):
    declared = next(one for one in formats() if one.name == form)
    for ranks in (1, 3):
        log = write(form, make(form, ranks=ranks, nan_from=130), Oddities(header=False))
        fast = take_apart(log, declared, 7)
        with monkeypatch.context() as patch:
            patch.setattr(entries, "entries_of_lines", lambda *_: [])
            slow = take_apart(log, declared, 7)
        assert repr(fast) == repr(slow)


def test_columns_are_used_where_each_line_is_an_entry():
    declared = {one.name: one for one in formats()}
    log = write("pytorch-examples", truth(50), Oddities(header=False))
    assert len(entries_of_lines(log, declared["pytorch-examples"], 1)) == 50
    for odd in (Oddities(prefix="srun"), Oddities(noise=True), Oddities(glued=True)):
        log = write("pytorch-examples", truth(50), replace(odd, header=False))
        assert entries_of_lines(log, declared["pytorch-examples"], 1) == []
