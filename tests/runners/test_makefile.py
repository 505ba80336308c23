"""`make` passes every variable on as the one word that it is."""

import os
import re
import shlex
import shutil
import subprocess
from argparse import ArgumentParser
from pathlib import Path

import pytest

from runners.commands import bench

MAKEFILE = Path(__file__).resolve().parents[2] / "Makefile"
TEXT = MAKEFILE.read_text()


@pytest.fixture
def make(tmp_path):
    """Run make where the driver is a script that prints its arguments, a line for each."""
    shutil.copy(MAKEFILE, tmp_path)
    for name in ("requirements.lock", "requirements-dev.lock", "pyproject.toml"):
        (tmp_path / name).touch()
    (tmp_path / ".venv/bin").mkdir(parents=True)
    script = tmp_path / ".venv/bin/python"
    script.write_text("#!/bin/sh\nshift 2\nprintf '%s\\n' \"$@\"\n")
    script.chmod(0o755)
    for name in (".driver", ".dev"):
        (tmp_path / ".venv" / name).touch()

    def run(*words):
        done = subprocess.run(
            ["make", *words],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    return run


def test_values_are_quoted(make):
    line = make("-n", "bench", "FRAMEWORK=pytorch", "NODES=4", "DATA=a b'c")
    arguments = ["bench", "pytorch", "--nodes", "4", "--data", "a b'c"]
    assert shlex.split(line) == [".venv/bin/python", "-m", "runners.cli", *arguments]


@pytest.mark.parametrize("value", ["a b'c", "a;b", '"x"', "`x`", "a\\b", "*", "-x", "a|b", "é&"])
def test_values_arrive_as_they_are(make, value):
    assert make("bench", f"DATA={value}").splitlines() == ["bench", "--data", value]


def test_without_variables_there_are_no_options(make):
    assert make("bench", "FRAMEWORK=pytorch").splitlines() == ["bench", "pytorch"]


@pytest.mark.parametrize(("value", "given"), [("1", True), ("yes", True), ("0", False)])
@pytest.mark.parametrize("name", ["COMPILE", "DRY_RUN"])
def test_a_switch(make, name, value, given):
    option = f"--{name.lower().replace('_', '-')}"
    assert (option in make("bench", f"{name}={value}").splitlines()) == given


@pytest.mark.parametrize(
    ("value", "words"), [("1", ["--resume"]), ("20260101-toy", ["--resume", "20260101-toy"])]
)
def test_resume_goes_on_with_the_latest_run_or_a_named_one(make, value, words):
    assert make("bench", f"RESUME={value}").splitlines() == ["bench", *words]


def test_convert_takes_folders_and_a_form(make):
    words = make("convert", "DATA=a b", "FORM=tfrecord", "TO=there", "VERIFY=1").splitlines()
    assert words == ["data", "convert", "a b", "--form", "tfrecord", "--to", "there", "--verify"]


@pytest.mark.parametrize("target", ["compare", "report"])
def test_a_run_can_be_named(make, target):
    words = make(target, "RUN=my run", "RESULTS=there").splitlines()
    assert words == [target, "my run", "--results", "there"]


def test_every_option_is_one_of_the_command():
    parser = ArgumentParser()
    bench.add_arguments(parser)
    block = re.search(r"^BENCH_OPTIONS = (?:.*\\\n)*.*", TEXT, re.MULTILINE)[0]
    options = re.findall(r"--[a-z-]+", block)
    assert len(options) > 20
    assert set(options) <= set(parser._option_string_actions)


def test_help_lists_every_target(make):
    targets = re.findall(r"^\.PHONY: (.+)$", TEXT, re.MULTILINE)
    listed = re.findall(r"^  make (\S+) +\S", make("help"), re.MULTILINE)
    assert listed == targets


def test_make_alone_shows_the_help(make):
    assert make() == make("help")
