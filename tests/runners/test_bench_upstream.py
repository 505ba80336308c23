"""`dlscale bench` of a script that lies in another repository, which these tests make."""

import json
import shutil

import pytest
from repositories import commit_all, git
from toy_bench import TOY, Bench, finished, processes_with

from results.store import read_stored_run
from runners import paths
from runners.repeat import token_of

# Prints what pytorch/examples' main.py prints, a step of `seconds` after the other, for ever.
SCRIPT = """
import signal, sys, time

seconds, fault = float(sys.argv[1]), sys.argv[2]

def complain(number, _):  # as torchrun does
    raise RuntimeError(f"got signal: {number}")

if fault == "complaint":
    signal.signal(signal.SIGTERM, complain)
print("=> creating model 'resnet50'", flush=True)
for step in range(1, 10**6):
    time.sleep(0.01)
    if fault == "crash" and step == 4:
        raise ValueError("told to crash")
    if fault == "end" and step == 4:
        break
    loss = "nan" if fault == "nan" and step == 5 else "7.1e+00"
    print(f"Epoch: [0][{step:5d}/9999]\\tTime  {seconds:6.3f} ({seconds:6.3f})\\t"
          f"Data  0.100 ( 0.100)\\tLoss {loss} ({loss})\\tAcc@1   0.00 (  0.00)", flush=True)
"""
MANIFEST = """
name = "theirs"
title = "Theirs"
network = "none"
script = "train/main.py"
python = "3.11"
requirements = "requirements.lock"
framework = "toy"

[upstream]
repository = "file://{repository}"
commit = "{commit}"
paths = ["train"]
log_format = "pytorch-examples"
endless = true
image_sizes = [224]
arguments = ["{seconds}", "{fault}", "--batch={{batch}}"]
differences = ["it is made up"]

[upstream.data]
synthetic = ["--dummy"]

[strategy.alone]
start = []
arguments = ["--alone"]
backends = {{ cpu = ["none"] }}
one_device = true

[unavailable]
jpeg = "it makes its own"

[on.cpu]
precisions = ["fp32"]
amp_dtypes = []
loaders = ["none"]
layouts = ["channels_first"]
workers = 1
"""


@pytest.fixture
def theirs(tmp_path):
    """Make a manifest for a repository of one commit; its checkout goes with the test."""
    made = []

    def make(*, seconds="0.500", fault="none"):
        repository = tmp_path / tmp_path.name  # a checkout is named after it
        (repository / "train").mkdir(parents=True)
        (repository / "train" / "main.py").write_text(SCRIPT)
        commit = commit_all(repository)
        folder = tmp_path / "theirs"
        folder.mkdir()
        shutil.copy(TOY / "requirements.lock", folder)
        text = MANIFEST.format(repository=repository, commit=commit, seconds=seconds, fault=fault)
        (folder / "benchmark.toml").write_text(text)
        made.append(f"{tmp_path.name}-{commit[:12]}-*")
        return folder

    yield make
    for pattern in made:
        for path in paths.UPSTREAM.glob(pattern):
            shutil.rmtree(path)
        for lock in paths.UPSTREAM.glob(f".{pattern}.lock"):
            lock.unlink()


def bench_of(folder, home):
    bench = Bench(home)
    return bench, finished(bench.start("bench", folder, *bench.options))


def test_it_is_measured_by_what_it_prints_and_ended_then(theirs, tmp_path):
    bench, done = bench_of(theirs(), tmp_path / "home")
    assert done.returncode == 0, done.stderr
    run = read_stored_run(bench.folder)
    assert [repeat.throughput for repeat in run.repeats] == pytest.approx([16.0, 16.0])  # 8 / 0.5
    assert list(run.repeats[0].step_seconds) == pytest.approx([0.5] * 5)
    assert list(run.repeats[0].data_seconds) == pytest.approx([0.1] * 5)
    record = run.repeats[0].record
    assert (record.outcome, record.exit_codes) == ("completed", [None])
    (command,) = record.commands
    assert command.arguments[-3:] == ["--batch=8", "--alone", "--dummy"]
    place = bench.place("1n1g", 1)
    assert processes_with(token_of(place)) == []
    # What is read back says the same again, from the raw output alone.
    assert "16.0" in bench.here("parse", run.folder.name).stdout


def test_the_record_holds_commit_and_differences(theirs, tmp_path):
    folder = theirs()
    bench, _ = bench_of(folder, tmp_path / "home")
    commit = git(tmp_path / tmp_path.name, "rev-parse", "HEAD")
    facts = bench.record.environment["frameworks"]["theirs"]["upstream"]
    assert facts["commit"] == commit
    notes = " ".join(bench.record.notes)
    assert commit in notes
    assert "it is made up" in notes
    assert json.loads((bench.folder / "record.json").read_text())["cases"][0]["log_format"]


def test_what_was_fetched_beforehand_needs_no_repository(theirs, tmp_path):
    folder = theirs()
    built = finished(Bench(tmp_path / "home").start("build", folder))
    assert built.returncode == 0, built.stderr
    shutil.rmtree(tmp_path / tmp_path.name)
    _, done = bench_of(folder, tmp_path / "home")
    assert done.returncode == 0, done.stderr


def test_what_is_said_of_being_ended_is_no_failure(theirs, tmp_path):
    bench, done = bench_of(theirs(fault="complaint"), tmp_path / "home")
    assert done.returncode == 0, done.stderr
    assert [repeat.throughput for repeat in read_stored_run(bench.folder).repeats] == [16.0, 16.0]
    log = (bench.place("1n1g", 1) / "launcher0.log").read_text()
    assert log.index("\ndlscale: the window is in this log") < log.index("got signal: 15")


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("crash", "told to crash"),
        ("end", "shorter than the window"),
        ("nan", "the loss is nan"),
    ],
)
def test_one_that_is_not_good_does_not_count(theirs, tmp_path, fault, reason):
    folder = theirs(fault=fault)
    bench = Bench(tmp_path / "home")
    done = finished(bench.start("bench", folder, *bench.options, "--repeats=1"))
    assert done.returncode == 1
    (repeat,) = read_stored_run(bench.folder).repeats
    assert repeat.throughput is None
    assert reason in repeat.reason


def test_a_checkout_that_was_changed_is_refused(theirs, tmp_path):
    folder = theirs()
    bench_of(folder, tmp_path / "home")
    (script,) = paths.UPSTREAM.glob(f"{tmp_path.name}-*/train/main.py")
    script.write_text(SCRIPT.replace("0.01", "0.001"))
    _, done = bench_of(folder, tmp_path / "again")
    assert done.returncode == 2
    assert "train/main.py in" in done.stderr
    assert "is not as in commit" in done.stderr


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--image-size=96", "IMAGE_SIZE=96 is not possible with theirs"),
        ("--devices=2", "trains on one device alone"),
        ("--nodes=2", "trains on one device alone"),
        ("--precision=amp", "PRECISION='amp' is not possible"),
        ("--data=/nowhere", "DATA=images is not possible with theirs (it makes its own)"),
    ],
)
def test_what_it_has_no_option_for_is_refused(theirs, tmp_path, option, said):
    bench = Bench(tmp_path / "home", sizes=())
    given = (option,) if option.startswith("--data") else ("--data=synthetic", option)
    done = bench.here("bench", str(theirs()), "--dry-run", *given)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"--batch={batch}"', '"--batch={bitch}"', "holds braces"),
        ('log_format = "pytorch-examples"', 'log_format = "none"', "log_format 'none' is none of"),
        ("endless = true", 'patch = "no.patch"', "names 'no.patch'"),
        ('commit = "', 'commit = "x', "not a valid manifest"),
        ('paths = ["train"]', "", "repository, commit and paths are needed, or a package"),
        ('paths = ["train"]', 'package = "toy"', "a package has no repository"),
    ],
)
def test_a_manifest_that_cannot_be_is_named(theirs, tmp_path, old, new, said):
    path = theirs() / "benchmark.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    done = Bench(tmp_path / "home").here("bench", str(path.parent), "--dry-run")
    assert done.returncode == 2
    assert said in done.stderr
