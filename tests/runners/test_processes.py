"""Processes are found and ended by their token: all of ours, and nobody else's."""

import os
import subprocess
import sys
import time
import uuid

import pytest

from results.errors import InputError
from results.record import NodeCommand
from runners import processes
from runners.processes import end_all, start, with_token

PATIENCE = 60.0


def await_that(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Started:
    """Starts small Python programs that carry a token, and waits until they say that they run."""

    def __init__(self, folder):
        self.folder = folder
        self.token = uuid.uuid4().hex
        self.processes = []

    def program(self, text, *, token=None):
        """Start a program that ends with sleeping, and return it once it sleeps."""
        log = self.folder / f"{len(self.processes)}.log"
        text = f"import os, signal, subprocess, sys, time\n{text}\nprint('runs', flush=True)\n"
        command = NodeCommand(
            node=0,
            host="host1",
            arguments=[sys.executable, "-c", text + "time.sleep(600)"],
            environment={"DLSCALE_TOKEN": token or self.token, "MINE": "1"},
        )
        process = start(command, log)
        self.processes.append(process)
        await_that(lambda: "runs" in log.read_text())
        return process

    def found(self):
        return {process.pid for process in with_token(self.token)}


@pytest.fixture
def started(tmp_path):
    made = Started(tmp_path)
    yield made
    for process in made.processes:
        process.kill()
        process.wait()
    end_all(made.token, grace=0)


CHILD = "subprocess.Popen(['/bin/sleep', '600'], start_new_session=True)"


def test_a_process_starts_with_its_variables_in_a_session_of_its_own(started):
    text = "print(os.environ['MINE'], os.getsid(0) == os.getpid(), repr(sys.stdin.read()))"
    started.program(text)
    assert (started.folder / "0.log").read_text().splitlines()[0] == "1 True ''"


def test_both_outputs_go_to_the_log(started):
    started.program("os.write(1, b'out '); os.write(2, b'err ')")
    assert (started.folder / "0.log").read_text().startswith("out err ")


def test_a_process_is_found_by_its_token(started):
    process = started.program("")
    assert started.found() == {process.pid}


def test_a_child_in_another_session_is_found_too(started):
    process = started.program(CHILD)
    assert len(started.found() - {process.pid}) == 1


def test_a_child_is_found_after_its_parent_has_died(started):
    process = started.program(CHILD)
    process.kill()
    process.wait()
    assert len(started.found()) == 1


def test_nothing_is_found_for_a_token_that_nobody_carries(started):
    started.program("")
    assert with_token(started.token[:-1]) == []
    assert with_token("") == []


def test_the_caller_is_never_found():
    program = "import os; from runners.processes import with_token; print(with_token('mine'))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "DLSCALE_TOKEN": "mine"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


def test_all_that_carry_the_token_are_asked_to_end(started):
    process = started.program(CHILD)
    assert end_all(started.token) == 0
    assert not started.found()
    assert process.wait() == -15


def test_those_that_do_not_listen_are_killed_and_counted(started):
    process = started.program(CHILD + "\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)")
    assert end_all(started.token, grace=3.0) == 1
    assert not started.found()
    assert process.wait() == -9


def test_one_that_is_born_while_the_others_are_being_ended_is_ended_too(started, monkeypatch):
    def look(token):
        found = with_token(token)
        if len(started.processes) < 4:
            started.program("signal.signal(signal.SIGTERM, signal.SIG_IGN)")
        return found

    started.program("")
    monkeypatch.setattr(processes, "with_token", look)
    end_all(started.token, grace=0)
    assert len(started.processes) == 4
    assert not started.found()


def test_others_are_left_alone(started):
    other = started.program("", token=uuid.uuid4().hex)
    started.program("")
    end_all(started.token)
    assert other.poll() is None


def test_with_nothing_to_end_it_does_nothing():
    assert end_all(uuid.uuid4().hex) == 0


def test_a_program_that_is_not_there_is_named(tmp_path):
    command = NodeCommand(node=0, host="h", arguments=["/nowhere/python"], environment={})
    with pytest.raises(InputError, match="/nowhere/python cannot be started"):
        start(command, tmp_path / "log")


def test_the_users_module_paths_stay_outside(started, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    started.program("print(os.environ.get('PYTHONPATH'))")
    assert (started.folder / "0.log").read_text().splitlines()[0] == "None"
