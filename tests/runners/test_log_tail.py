import pytest
from conftest import log_line

from runners import log_tail
from runners.log_tail import PhaseReader, read_logs


@pytest.fixture
def log(tmp_path):
    return tmp_path / "rank0.log"


def add(log, text):
    with log.open("a") as file:
        file.write(text)


def test_a_log_that_is_not_there_yet_has_no_news(log):
    reader = PhaseReader(log)
    assert reader.news() == []
    add(log, log_line("phase", "build"))
    assert reader.news() == ["build"]


def test_each_phase_is_reported_once(log):
    reader = PhaseReader(log)
    add(log, log_line("phase", "build") + "noise\n" + log_line("phase", "warm-up"))
    assert reader.news() == ["build", "warm-up"]
    assert reader.news() == []
    add(log, log_line("phase", "window"))
    assert reader.news() == ["window"]


def test_half_a_line_is_read_once_it_is_whole(log):
    line = log_line("phase", "window")
    reader = PhaseReader(log)
    add(log, line[:50])
    assert reader.news() == []
    add(log, line[50:])
    assert reader.news() == ["window"]


def test_other_lines_are_no_phases(log):
    add(log, log_line("step", 0.5, step=1) + log_line("phase", "<b>") + "phase window\n")
    assert PhaseReader(log).news() == []


def test_a_log_larger_than_one_reading_is_read_in_several(log, monkeypatch):
    monkeypatch.setattr(log_tail, "_MOST_BYTES", 1000)
    add(log, log_line("phase", "build") + "noise\n" * 200 + log_line("phase", "check"))
    reader = PhaseReader(log)
    assert reader.news() + reader.news() + reader.news() == ["build", "check"]


def test_an_endless_line_is_passed_over(log, monkeypatch):
    monkeypatch.setattr(log_tail, "_MOST_BYTES", 1000)
    add(log, "x" * 2500 + "\n" + log_line("phase", "check"))
    reader = PhaseReader(log)
    assert reader.news() + reader.news() + reader.news() == ["check"]


def test_logs_of_ranks_come_before_those_of_launchers(tmp_path):
    for name in ("launcher0.log", "rank1.log", "rank0.log", "run.json"):
        (tmp_path / name).write_text(f"{name} said")
    logs = read_logs(tmp_path)
    assert list(logs) == ["rank0", "rank1", "launcher0"]
    assert logs["rank1"] == "rank1.log said"


def test_only_the_end_of_a_long_log_is_read(log, tmp_path, monkeypatch):
    monkeypatch.setattr(log_tail, "_MOST_BYTES", 10)
    log.write_text("beginning and end")
    assert read_logs(tmp_path) == {"rank0": "ng and end"}


def test_bytes_that_are_no_text_do_no_harm(log, tmp_path):
    log.write_bytes(b"a\xffb")
    assert read_logs(tmp_path) == {"rank0": "a\ufffdb"}
