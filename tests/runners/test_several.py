"""Several implementations in one run, by the real command: copies of the toy (tests/toy)."""

import json
import re
import shutil
import signal
import socket
import subprocess
import sys

import msgspec
import pytest
from toy_bench import PATIENCE, ROOT, TOY, Bench, finished, processes_with

from results.record import read_run
from runners.environment import is_built
from runners.implementations import load_manifest

BROKEN = "nothing-of-this-name==1.0 --hash=sha256:" + "0" * 64 + "\n"


@pytest.fixture
def toys(tmp_path, monkeypatch):
    """Make toys of other names; with `own` each is a framework with an environment of its own."""
    monkeypatch.setenv("UV_OFFLINE", "1")
    (tmp_path / "benchmarks").symlink_to(ROOT / "benchmarks")  # where train.py looks for it

    def make(name, *, own=False, lock=""):
        folder = shutil.copytree(TOY, tmp_path / "toys" / name)
        manifest = folder / "benchmark.toml"
        text = manifest.read_text().replace('\nname = "toy"', f'\nname = "{name}"')
        if own:
            text = text.replace('framework = "toy"', f'framework = "{name}"')
        manifest.write_text(text)
        if lock:
            (folder / "requirements.lock").write_text(lock)
        return folder

    return make


class Several(Bench):
    """`dlscale bench` of several folders."""

    def __init__(self, home, folders, *options, **more):
        super().__init__(home, *options, **more)
        self.words = ",".join(map(str, folders))

    def start_run(self):
        return self.start("bench", self.words, *self.options)


def build(home, *folders):
    command = [sys.executable, "-m", "runners.cli", "build", ",".join(map(str, folders))]
    return subprocess.Popen(
        [*command, f"--environments={home}"], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )


def test_they_take_turns_and_are_shown_side_by_side(tmp_path, toys):
    bench = Several(tmp_path, [TOY, toys("other")], "--devices=1")
    done = bench.run()
    assert done.returncode == 0, done.stderr
    ended = re.findall(r"\d/4 (1n1g \w+ repeat \d): ", done.stderr)
    turns = [f"1n1g {name} repeat {repeat}" for repeat in (1, 2) for name in ("toy", "other")]
    assert ended == turns
    assert "┃ nodes ┃ devices ┃ toy ┃ other ┃" in re.sub(" +", " ", done.stdout)
    assert bench.folder.name.endswith("-2-frameworks")
    facts = bench.record.environment["frameworks"]
    assert facts.keys() == {"toy", "other"}
    summary = json.loads(bench.here("parse", "--json").stdout)
    shares = [case["of_fastest"] for case in summary["cases"]]
    assert max(shares) == 1
    assert all(0 < share <= 1 for share in shares)


def test_one_that_cannot_be_built_is_left_out_and_told(tmp_path, toys):
    bench = Several(tmp_path, [TOY, toys("broken", lock=BROKEN)], "--devices=1", "--repeats=1")
    done = bench.run()
    assert done.returncode == 1
    why = bench.record.left_out["broken"]
    assert re.search(r"environment of broken .* could not be built: .* failed as .*broken.log", why)
    assert any(note.startswith("left out: broken") for note in bench.record.notes)
    assert "left out: broken" in done.stdout
    assert {case.implementation for case in bench.record.cases} == {"toy"}
    half_built = ROOT.glob(".envs/toy-*")
    assert all((folder / "dlscale-complete").exists() for folder in half_built)


OWN = """
[strategy.own]
start = ["{folder}/launch.py", "--nodes={nodes}", "--node-rank={node_rank}", "--devices={devices}"]
backends = { cpu = ["gloo"] }
requirements = "own.lock"

[on.cpu]
"""


def test_a_strategy_without_its_environment_is_left_out_and_the_others_run(tmp_path, toys):
    folder = toys("two")
    manifest = folder / "benchmark.toml"
    manifest.write_text(manifest.read_text().replace("[on.cpu]\n", OWN, 1))
    (folder / "own.lock").write_text("# nothing more")
    bench = Several(tmp_path, [folder], "--devices=1", "--repeats=1", "--strategy=ddp,own")
    shown = bench.here("bench", str(folder), *bench.options, "--dry-run").stdout
    pythons = re.findall(r"(\S+)/bin/python", shown)
    assert len(set(pythons)) == 2
    (folder / "own.lock").write_text(BROKEN)
    done = bench.run()
    assert done.returncode == 1
    assert bench.record.left_out.keys() == {"two+own"}
    assert [case.strategy for case in bench.record.cases] == ["ddp"]
    assert bench.record.environment["environments"].keys() == {"two"}
    only = Several(tmp_path / "only", [folder], "--devices=1", "--strategy=own").run()
    assert only.returncode == 2
    assert "environment of two+own" in only.stderr.splitlines()[-1]


def test_where_none_can_be_built_that_is_the_end(tmp_path, toys):
    folders = [toys("broken", lock=BROKEN), toys("broken2", lock=BROKEN)]
    done = Several(tmp_path, folders, "--devices=1").run()
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("dlscale: The environment of broken ")
    assert not list((tmp_path / "results").glob("*/record.json"))


def test_a_run_of_several_goes_on_without_who_was_left_out(tmp_path, toys):
    folders = [TOY, toys("other"), toys("broken", lock=BROKEN)]
    bench = Several(tmp_path, folders, "--devices=1", faults="hang@1n1g_1/0")
    process = bench.start_run()
    bench.await_log("1n1g/*_1/rank0.log", "the toy hangs")
    process.send_signal(signal.SIGINT)
    assert finished(process).returncode == 130
    before = read_run(bench.folder)
    done = bench.resume()
    assert done.returncode == 1  # one of those that were asked for was not measured
    assert read_run(bench.folder) == before
    assert re.search(r"│ 1n1g other +│.*2 of 2", done.stdout)


def test_build_makes_several_at_once(tmp_path, toys):
    home, folders = (
        tmp_path / "home",
        [toys(name, own=True) for name in ("one", "two", "three", "four")],
    )
    process = build(home, *folders)
    errors = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 0, errors
    assert sorted(errors.splitlines()[1:]) == [
        "four: built",
        "one: built",
        "three: built",
        "two: built",
    ]
    assert all(is_built(load_manifest(str(folder)), home) for folder in folders)
    command = [sys.executable, "-m", "runners.cli", "build", str(folders[0]), "--strategy=none"]
    refused = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "STRATEGY='none' is none of ddp" in refused.stderr


def test_build_names_who_failed_and_makes_the_rest(tmp_path, toys):
    folders = [toys("one", own=True), toys("broken", own=True, lock=BROKEN)]
    home = tmp_path / "home"
    process = build(home, *folders)
    errors = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode == 2
    assert re.search(r"broken: The environment of broken .* could not be built", errors)
    assert is_built(load_manifest(str(folders[0])), home)


def test_ended_it_ends_what_it_started(tmp_path, toys, monkeypatch):
    monkeypatch.delenv("UV_OFFLINE")
    monkeypatch.setenv("DLSCALE_TOKEN", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as silent:  # an index that never answers
        port = silent.getsockname()[1]
        monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://127.0.0.1:{port}/simple")
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
        folders = [toys(name, own=True, lock=BROKEN) for name in ("one", "two")]
        process = build(tmp_path / "home", *folders)
        silent.accept()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert not processes_with(str(tmp_path))


def test_one_python_is_not_for_several(tmp_path, toys):
    done = Several(tmp_path, [TOY, toys("other")], "--python=python3.11").run()
    assert done.returncode == 2
    assert "name one framework" in done.stderr


def test_a_record_that_named_its_framework_alone_is_still_read(tmp_path):
    bench = Bench(tmp_path, "--cases=1n1g", "--repeats=1")
    assert bench.run().returncode == 0
    record = bench.record
    environment = dict(record.environment)
    environment["framework"] = environment.pop("frameworks")["toy"]
    old = msgspec.structs.replace(record, environment=environment)
    text = msgspec.json.decode(msgspec.json.encode(old))
    del text["left_out"]
    (bench.folder / "record.json").write_text(json.dumps(text))
    shown = bench.here("parse")
    assert shown.returncode == 0
    assert "Toy" in shown.stdout


def test_whose_largest_batch_cannot_be_found_is_left_out(tmp_path, toys, monkeypatch):
    monkeypatch.setenv("TOY_MEMORY", "20")
    folders = [toys("one"), toys("other")]
    bench = Several(tmp_path, folders, "--cases=1n1g", "--batch=max", faults="crash@other-*_b8/0")
    done = bench.run()
    assert done.returncode == 1
    assert "ends at 8, which fails for another reason" in bench.record.left_out["other"]
    assert {case.implementation: case.batch_size for case in bench.record.cases} == {"one": 20}
    bench.faults = ""
    both = bench.run()
    assert both.returncode == 0, both.stderr
