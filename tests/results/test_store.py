import os

import pytest
from conftest import CASE

from results.errors import InputError
from results.files import write_atomically
from results.store import find_run, new_run_folder, read_stored_run


def test_broken_and_foreign_files_are_named_and_left_alone(make_run):
    run = make_run([CASE], repeats=3)
    run.add(CASE, 1, 0.5)
    broken = run.add(CASE, 2, 0.5) / "run.json"
    broken.write_text("{half a rec")
    (run.folder / "notes.txt").write_text("mine")
    (run.repeat_folder(CASE, 1) / "core.123").write_bytes(b"\0")
    foreign = run.add(CASE, 3, 0.5) / "rank0.log"
    foreign.write_bytes(b"\xff\xfe nothing")
    read = read_stored_run(run.folder)
    text = "\n".join(read.notices)
    for name in ("notes.txt", "core.123", "_2/run.json", "_3/rank0.log"):
        assert name in text
    assert [repeat.throughput for repeat in read.repeats] == [pytest.approx(16.0), None]
    assert broken.read_text() == "{half a rec"
    assert (run.folder / "notes.txt").exists()


def test_a_repeat_in_the_wrong_place_is_not_counted(make_run):
    run = make_run([CASE], repeats=1)
    run.add(CASE, 1, 0.5).rename(run.folder / "elsewhere")
    read = read_stored_run(run.folder)
    assert not read.repeats
    assert "does not belong there" in read.notices[0]


def test_runs_are_found_by_path_id_and_as_the_latest(make_run):
    run = make_run([CASE])
    store = run.folder.parent
    assert find_run(store, run.folder.name) == run.folder
    assert find_run(store, str(run.folder)) == run.folder
    assert find_run(store, "latest") == run.folder


@pytest.mark.parametrize("name", ["latest", "nothing", "/nowhere"])
def test_a_run_that_is_not_there(tmp_path, name):
    with pytest.raises(InputError, match=r"no run in|neither a run's folder"):
        find_run(tmp_path, name)


def test_two_runs_of_one_second_have_two_folders(tmp_path):
    folders = {new_run_folder(tmp_path, "pytorch") for _ in range(3)}
    assert len(folders) == 3


def test_a_store_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        new_run_folder(tmp_path / "file", "pytorch")


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "record.json"
    write_atomically(path, b"old")

    def fail(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_reader_could_hang_on_is_named(make_run):
    run = make_run([CASE], repeats=2)
    (run.add(CASE, 1, 0.5) / "rank1.log").symlink_to("/dev/zero")
    place = run.add(CASE, 2, 0.5)
    (place / "run.json").unlink()
    os.mkfifo(place / "run.json")
    read = read_stored_run(run.folder)
    assert any("rank1.log: not a file" in notice for notice in read.notices)
    assert any("is not a file" in notice for notice in read.notices)


@pytest.mark.parametrize(
    ("old", "new"),
    [('"steps": 10', '"steps": 0'), ('"warmup": 3', '"warmup": -5'), ('"nodes": 1', '"nodes": 0')],
)
def test_a_record_with_an_impossible_value_is_refused(make_run, old, new):
    run = make_run([CASE])
    record = run.folder / "record.json"
    record.write_text(record.read_text().replace(old, new))
    with pytest.raises(InputError, match="not a record of this version"):
        read_stored_run(run.folder)
