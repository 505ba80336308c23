"""A log is hostile input: nothing it holds stops the parser, or passes for a figure."""

import io
import math
import random
import tarfile
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from log_writer import WRITERS, Oddities, truth, write

from results.formats import formats
from results.logs import sources
from results.logs.facts import Facts
from results.logs.sources import find_sources
from results.parse_logs import Wanted, parse_bytes, parse_source

LOGS = {form: write(form, truth(60, ranks=2, interval=5)) for form in sorted(WRITERS)}
KNOWN = Wanted(given=Facts(batch_size=128, nodes=1, devices=2))
STATUSES = {"ok", "short", "failed", "no training", "unreadable"}
SPICE = (
    b"nan", b"inf", b"-", b"0", b"9" * 400, b"1e999", b"\n", b"\r", b"\0", b"\x1b[31m", b"\xff",
    b": ", b"[1,3]<stdout>:", b"Epoch: [", b" samples/sec", b"12:34:56", b"\v", b"\x1b]0;", b"(",
)  # fmt: skip


def sane(log):
    result = parse_bytes(log, KNOWN)
    assert result.status in STATUSES
    assert result.steps >= 0
    for figure in (result.throughput, result.dlperf_v1):
        assert figure is None or (math.isfinite(figure) and figure > 0)
    assert (result.throughput is None) or result.status in {"ok", "short"}
    assert result.reasons or result.status == "ok"
    return result


def mutated(log, source):
    """Change a few places of a log: bytes, lines, numbers."""
    data = bytearray(log)
    for _ in range(source.randint(1, 30)):
        at = source.randrange(len(data)) if data else 0
        kind = source.randrange(5)
        if kind == 0 and data:
            data[at] = source.randrange(256)
        elif kind == 1:
            data[at:at] = source.choice(SPICE)
        elif kind == 2:
            del data[at : at + source.randint(1, 60)]
        elif kind == 3:
            end = min(len(data), at + source.randint(1, 400))
            data[at:at] = data[at:end]
        else:
            lines = bytes(data).split(b"\n")
            source.shuffle(lines)
            data = bytearray(b"\n".join(lines))
    return bytes(data)


@pytest.mark.parametrize("form", LOGS)
def test_mutated_logs_are_survived(form):
    source = random.Random(form)
    for _ in range(60):
        sane(mutated(LOGS[form], source))


@given(st.binary(max_size=2000))
@example(b"\xff\xfe")
@example(b"\xff\xfeE\0p\0")
@example(b"\r\r\r\n\n\x1b")
def test_any_bytes_are_survived(data):
    sane(data)


@settings(max_examples=60)
@given(st.data())
def test_any_pieces_of_logs_are_survived(data):
    pieces = data.draw(
        st.lists(
            st.one_of(
                st.sampled_from([line for log in LOGS.values() for line in log.splitlines()]),
                st.sampled_from(SPICE),
                st.binary(max_size=40),
            ),
            max_size=80,
        )
    )
    glue = data.draw(st.sampled_from([b"\n", b" ", b"", b"\r\n", b"\r"]))
    sane(glue.join(pieces))


def cpu_seconds(log):
    begin = time.process_time()  # a loaded machine does not show in it
    sane(log)
    return time.process_time() - begin


@pytest.mark.parametrize("form", [form.name for form in formats()])
def test_a_line_of_a_megabyte_takes_linear_time(form):
    entry = LOGS[form].splitlines()[-1] if form in LOGS else b':::MLLOG {"key": "step", "value": '
    pieces = [entry, entry[: len(entry) // 2], b"1", b" "]
    for piece in pieces:
        spent = []
        for size in (1 << 18, 1 << 20):
            log = entry + b"\n" + piece * (size // len(piece))
            spent.append(cpu_seconds(log))
        # Four times the bytes; what looks again at each for each would take minutes.
        assert spent[1] < 10 * spent[0] + 5, (piece, spent)


def test_an_archive_that_unpacks_to_too_much_is_not_read_on(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "MOST_UNPACKED", 1 << 20)
    line = write("gluon-cv", truth(130))
    data = line + b"\n" * (3 << 20)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name in ("1n1g/r50_b128_fp32_1.log", "1n1g/r50_b128_fp32_2.log"):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    (tmp_path / "bomb.tar.gz").write_bytes(out.getvalue())
    found = [r for s in find_sources([tmp_path]) for r in parse_source(s, Wanted())]
    assert {r.status for r in found} == {"unreadable"}
    assert "unpacks to more than" in found[0].reasons[0]


def test_members_that_are_no_files_are_left_alone(tmp_path):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, kind in (("a.log", tarfile.SYMTYPE), ("b.log", tarfile.FIFOTYPE)):
            member = tarfile.TarInfo(name)
            member.type = kind
            member.linkname = "/etc/passwd"
            tar.addfile(member)
    (tmp_path / "odd.tar").write_bytes(out.getvalue())
    assert [r for s in find_sources([tmp_path]) for r in parse_source(s, Wanted())] == []


def test_pipes_and_links_to_folders_are_left_alone(tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe.log")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "gone.log").symlink_to(tmp_path / "nothing")
    assert find_sources([tmp_path]) == []


def test_a_log_without_line_feeds():
    text = write("pytorch-examples", truth(130))
    t = truth(130)
    result = parse_bytes(
        text.replace(b"\n", b"\r"), Wanted(given=Facts(batch_size=128, nodes=1, devices=1))
    )
    assert result.throughput == pytest.approx(t.throughput(20, 120), rel=0.001)


def test_oddities_together():
    source = random.Random(5)
    t = truth(130)
    for form in ("pytorch-examples", "gluon-cv", "ngc-pytorch", "oneflow-benchmark"):
        for _ in range(20):
            odd = Oddities(
                noise=source.random() < 0.5,
                colours=source.random() < 0.5,
                crlf=source.random() < 0.5,
                nul=source.random() < 0.5,
                invalid_utf8=source.random() < 0.5,
                restarts=source.choice([0, 0, 1, 2]),
                prefix=source.choice(["", "mpirun", "srun", "torch"]),
                compressed="",
            )
            result = parse_bytes(
                write(form, t, odd), Wanted(given=Facts(batch_size=128, nodes=1, devices=1))
            )
            assert result.throughput == pytest.approx(t.throughput(20, 120), rel=0.001), odd
