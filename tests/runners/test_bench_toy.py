"""The whole command with real processes: what it runs, what it leaves, how it ends."""

import json
import re
import signal
from types import SimpleNamespace

import pytest
from toy_bench import PATIENCE, Bench, finished, needs_two_cores, processes_with, snapshot

from runners.repeat import token_of

pytestmark = needs_two_cores
ENDED = re.compile(r"(\d)/6 (\dn\dg.* repeat \d): [\d.]+ s")


@pytest.fixture(scope="module")
def ladder(tmp_path_factory):
    bench = Bench(tmp_path_factory.mktemp("ladder"), "--nodes=2", "--devices=2")
    return SimpleNamespace(bench=bench, done=bench.run())


RANKS = {"1n1g": 1, "1n2g": 2, "2n2g": 4}  # the cases that it comes to
NAMES = ["1n1g", "1n2g", "2n2g (emulated)"]


def page_of(bench):
    return bench.reports / bench.folder.name / "report.md"


def seconds_of_window(log):
    """Return how long the window of a log took, computed as simply as can be."""
    lines = [json.loads(line.split(" ", 1)[1]) for line in log.read_text().splitlines()]
    ends = {x["metadata"]["step"]: x["value"] for x in lines if x["key"] == "step"}
    return ends[2 + 5] - ends[2]


class TestLadder:
    def test_ends_well(self, ladder):
        assert ladder.done.returncode == 0, ladder.done.stderr

    def test_leaves_a_record_and_the_logs_of_each_repeat(self, ladder):
        for label, ranks in RANKS.items():
            for repeat in (1, 2):
                record = ladder.bench.repeat(label, repeat)
                nodes = len(record.commands)
                assert (record.outcome, record.exit_codes) == ("completed", [0] * nodes)
                names = {path.name for path in ladder.bench.place(label, repeat).iterdir()}
                logs = {f"rank{rank}.log" for rank in range(ranks)}
                launchers = {f"launcher{node}.log" for node in range(nodes)}
                assert names == {"run.json", *logs, *launchers}

    def test_runs_the_cases_in_turn(self, ladder):
        paths = sorted(
            ladder.bench.folder.rglob("run.json"), key=lambda path: path.stat().st_mtime_ns
        )
        order = [(path.parts[-3], path.parts[-2][-1]) for path in paths]
        assert order == [(label, repeat) for repeat in "12" for label in RANKS]
        started = [ladder.bench.repeat(label, int(repeat)).started for label, repeat in order]
        assert started == sorted(started)

    def test_shows_each_repeat_as_it_ends(self, ladder):
        lines = ladder.done.stderr.splitlines()
        ended = [match.groups() for line in lines if (match := ENDED.fullmatch(line))]
        expected = [f"{name} repeat {repeat}" for repeat in (1, 2) for name in NAMES]
        assert ended == list(zip("123456", expected, strict=True))

    def test_writes_a_report_with_the_table_that_it_shows(self, ladder):
        assert f"\nReport: {page_of(ladder.bench)}\n" in ladder.done.stdout
        rows = page_of(ladder.bench).read_text().splitlines()
        for name in NAMES:
            line = next(line for line in ladder.done.stdout.splitlines() if f"│ {name} " in line)
            shown = re.fullmatch(r"│ [^│]+│ +([\d.,]+) │.*│ +2 of 2 │", line)
            row = next(row for row in rows if row.startswith(f"| {name} |"))
            assert f"| {shown[1]} |" in row

    def test_parse_gives_the_same_again(self, ladder):
        parsed = ladder.bench.here("parse")
        assert parsed.returncode == 0
        assert ladder.done.stdout.startswith(parsed.stdout)

    def test_parse_as_json_gives_the_images_over_the_time_of_the_slowest_rank(self, ladder):
        summary = json.loads(ladder.bench.here("parse", "--json").stdout)
        assert [case["label"] for case in summary["cases"]] == list(RANKS)
        for case in summary["cases"]:
            images = 5 * 8 * RANKS[case["label"]]
            for one in case["repeats"]:
                logs = ladder.bench.place(case["label"], one["repeat"]).glob("rank*.log")
                slowest = max(map(seconds_of_window, logs))
                assert one["throughput"] == pytest.approx(images / slowest)

    def test_records_the_request_and_where_it_ran(self, ladder):
        record = ladder.bench.record
        assert (record.request["devices"], record.request["steps"]) == (2, 5)
        assert record.environment["frameworks"]["toy"]["name"] == "toy"
        assert record.environment["machine"]["cores"] >= 2


class TestEmulatedNodes:
    def test_have_a_launcher_each(self, ladder):
        commands = ladder.bench.repeat("2n2g", 1).commands
        assert [command.node for command in commands] == [0, 1]

    def test_are_called_so_in_the_table(self, ladder):
        assert "│ 2n2g (emulated) │" in ladder.done.stdout
        assert "1n2g (emulated)" not in ladder.done.stdout

    def test_are_called_so_in_the_record(self, ladder):
        record = ladder.bench.record
        assert [case.emulated for case in record.cases] == [False, False, True]
        assert any(note.startswith("emulated: ") for note in record.notes)

    def test_are_called_so_in_the_report(self, ladder):
        page = page_of(ladder.bench).read_text()
        assert re.search("^# .*emulated", page)
        assert "| 2n2g (emulated) |" in page

    def test_are_called_so_in_the_plots(self, ladder):
        plots = sorted(page_of(ladder.bench).parent.glob("*.svg"))
        assert [path.stem for path in plots] == ["speedup", "throughput"]
        assert all("emulated" in plot.read_text().lower() for plot in plots)


FAULTS = ("crash", "nan", "weights", "memory", "short", "orphan")


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """Make a run in which another thing is wrong with rank 1 in each repeat."""
    faults = ",".join(f"{fault}@1n2g_{repeat}/1" for repeat, fault in enumerate(FAULTS, 1))
    home = tmp_path_factory.mktemp("faulty")
    bench = Bench(home, "--devices=2", "--cases=1n2g", f"--repeats={len(FAULTS)}", faults=faults)
    done = bench.run()
    parsed = bench.here("parse", "--json")
    summary = json.loads(parsed.stdout)
    judged = {one["repeat"]: one for one in summary["cases"][0]["repeats"]}
    of = {fault: judged[repeat] for repeat, fault in enumerate(FAULTS, 1)}
    records = {fault: bench.repeat("1n2g", repeat) for repeat, fault in enumerate(FAULTS, 1)}
    return SimpleNamespace(bench=bench, done=done, parsed=parsed, of=of, records=records)


class TestFaults:
    def test_the_run_ends_with_1_after_all_repeats(self, faulty):
        assert faulty.done.returncode == 1
        assert len(faulty.of) == len(FAULTS)

    def test_a_crash_is_shown_with_its_reason_and_the_end_of_the_log(self, faulty):
        assert faulty.records["crash"].outcome == "failed"
        assert "1n2g repeat 1: rank1: RuntimeError: the toy broke" in faulty.done.stdout
        assert 'raise RuntimeError("the toy broke")' in faulty.done.stdout

    def test_a_crash_is_not_counted(self, faulty):
        assert faulty.of["crash"]["throughput"] is None

    def test_a_loss_that_is_no_number(self, faulty):
        assert faulty.records["nan"].outcome == "completed"
        assert faulty.of["nan"]["reason"] == "rank 1: loss of step 3 is not finite"
        assert "1n2g repeat 2: rank 1: loss of step 3 is not finite" in faulty.done.stdout

    def test_weights_that_differ(self, faulty):
        assert faulty.of["weights"]["reason"].startswith("weights of ranks 0 and 1 differ")

    def test_out_of_memory(self, faulty):
        assert faulty.of["memory"]["outcome"] == "out of memory"
        assert "out of memory: rank1: torch.OutOfMemoryError: CUDA out" in faulty.done.stdout

    def test_a_step_too_few(self, faulty):
        assert faulty.of["short"]["reason"].startswith("rank 1: 6 steps, 7 needed")

    def test_a_process_that_outlives_its_rank_is_ended_and_harms_nothing(self, faulty):
        assert faulty.of["orphan"]["outcome"] == "completed"
        assert faulty.of["orphan"]["throughput"] > 0
        token = faulty.records["orphan"].commands[0].environment["DLSCALE_TOKEN"]
        assert not processes_with(token)

    def test_the_report_gives_the_reasons(self, faulty):
        page = page_of(faulty.bench).read_text()
        for reason in ("the toy broke", "loss of step 3 is not finite", "CUDA out of memory"):
            assert reason in page

    def test_parse_ends_with_1_too(self, faulty):
        assert faulty.parsed.returncode == 1


def test_a_hang_is_ended_after_the_timeout(tmp_path):
    faults = "hang@1n1g_1/0"
    bench = Bench(tmp_path, "--cases=1n1g", "--repeats=1", "--timeout=1", faults=faults)
    done = bench.run()
    record = bench.repeat("1n1g", 1)
    assert done.returncode == 1
    assert (record.outcome, record.reason) == ("hung", "still running after 1 s, ended")
    assert "hung: still running after 1 s" in done.stdout
    assert not processes_with(token_of(bench.place("1n1g", 1)))


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """Stop a run with Ctrl-C in its second repeat, then go on with it."""
    bench = Bench(tmp_path_factory.mktemp("stopped"), "--cases=1n1g", faults="hang@1n1g_2/0")
    driver = bench.start_run()
    bench.await_log("1n1g/*_2/rank0.log", "the toy hangs")
    rival = bench.here("bench", "--resume")
    token = token_of(bench.place("1n1g", 2))
    alive = processes_with(token)
    driver.send_signal(signal.SIGINT)
    done = finished(driver)
    facts = SimpleNamespace(bench=bench, done=done, alive=alive, rival=rival, token=token)
    facts.left, facts.interrupted = processes_with(token), bench.repeat("1n1g", 2)
    facts.before = snapshot(bench.folder)
    facts.differing = bench.here("bench", "--resume", "--steps=6")
    facts.after_differing = snapshot(bench.folder)
    facts.resumed = bench.resume("--steps=5")
    facts.after = snapshot(bench.folder)
    return facts


def of_repeat(files, repeat):
    return {name: content for name, content in files.items() if f"_synthetic_{repeat}/" in name}


class TestCtrlC:
    def test_ends_with_130(self, stopped):
        assert stopped.done.returncode == 130

    def test_leaves_no_process(self, stopped):
        assert len(stopped.alive) == 2  # launcher and rank, until then
        assert not stopped.left

    def test_keeps_what_was_measured_and_reports_it(self, stopped):
        assert stopped.bench.repeat("1n1g", 1).outcome == "completed"
        assert re.search("│ 1n1g .*│ +1 of 2 │", stopped.done.stdout)
        assert "Report: " in stopped.done.stdout

    def test_records_the_interruption(self, stopped):
        assert stopped.interrupted.outcome == "interrupted"

    def test_says_how_to_go_on(self, stopped):
        assert f"make bench RESUME={stopped.bench.folder.name}" in stopped.done.stderr

    def test_a_run_that_is_going_on_is_not_taken_up_by_a_second_driver(self, stopped):
        assert stopped.rival.returncode == 2
        assert "is going on in another process" in stopped.rival.stderr


class TestResume:
    def test_runs_only_what_is_missing(self, stopped):
        assert stopped.resumed.returncode == 0
        assert of_repeat(stopped.after, 1) == of_repeat(stopped.before, 1)
        assert stopped.bench.repeat("1n1g", 2).outcome == "completed"
        assert "2/2 1n1g repeat 2" in stopped.resumed.stderr
        assert "1/2" not in stopped.resumed.stderr

    def test_keeps_the_record_of_the_run(self, stopped):
        assert stopped.after["record.json"] == stopped.before["record.json"]

    def test_keeps_the_interrupted_attempt_aside(self, stopped):
        (name,) = (name for name in stopped.before if name.endswith("_2/run.json"))
        aside = name.replace("_2/", "_2-1/")
        assert stopped.after[f"interrupted/{aside}"] == stopped.before[name]

    def test_counts_all_repeats(self, stopped):
        assert re.search("│ 1n1g .*│ +2 of 2 │", stopped.resumed.stdout)

    def test_refuses_options_that_differ(self, stopped):
        assert stopped.differing.returncode == 2
        assert "with steps 5, not 6" in stopped.differing.stderr
        assert stopped.after_differing == stopped.before


def test_sigterm_ends_a_deaf_rank_and_a_child_in_a_session_of_its_own(tmp_path):
    faults = "deaf@1n1g_2/0,orphan@1n1g_2/0"
    bench = Bench(tmp_path, "--cases=1n1g", faults=faults)
    driver = bench.start_run()
    bench.await_log("1n1g/*_2/rank0.log", "the toy is deaf")
    driver.send_signal(signal.SIGTERM)
    done = finished(driver)
    assert done.returncode == 130
    assert not processes_with(token_of(bench.place("1n1g", 2)))
    assert bench.repeat("1n1g", 1).outcome == "completed"
    assert "the toy was asked to end" in (bench.place("1n1g", 2) / "rank0.log").read_text()


def test_ctrl_c_while_a_hung_rank_is_being_ended_leaves_no_process(tmp_path):
    faults = "deaf@1n1g_1/0,deaf@1n1g_2/0"
    bench = Bench(tmp_path, "--cases=1n1g", "--timeout=1", faults=faults)
    driver = bench.start_run()
    bench.await_log("1n1g/*_1/rank0.log", "the toy was asked to end")
    driver.send_signal(signal.SIGINT)
    assert finished(driver).returncode == 130
    for place in bench.folder.glob("toy/1n1g/*"):
        assert not processes_with(token_of(place))


def test_a_driver_that_was_killed_is_followed_by_one_that_tidies_up_and_goes_on(tmp_path):
    faults = "hang@1n1g_2/0,orphan@1n1g_2/0"
    bench = Bench(tmp_path, "--cases=1n1g", faults=faults)
    driver = bench.start_run()
    bench.await_log("1n1g/*_2/rank0.log", "the toy hangs")
    driver.kill()
    finished(driver)
    place = bench.place("1n1g", 2)
    first = snapshot(bench.place("1n1g", 1))
    assert not (place / "run.json").exists()
    assert len(processes_with(token_of(place))) == 3  # launcher, rank and the rank's child
    resumed = bench.resume(faults="census@1n1g_2/0")
    assert resumed.returncode == 0, resumed.stderr
    assert "processes of this repeat: 2\n" in (place / "rank0.log").read_text()
    assert not processes_with(token_of(place))
    assert snapshot(bench.place("1n1g", 1)) == first
    assert bench.repeat("1n1g", 2).outcome == "completed"


def test_a_dry_run_starts_and_writes_nothing(tmp_path):
    done = Bench(tmp_path, "--devices=2", "--dry-run").run()
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].startswith("2 cases x 2 repeats on ")
    assert done.stdout.count("toy/launch.py") == 2
    assert not list(tmp_path.iterdir())


def test_a_reports_folder_that_cannot_be_written_is_noticed_before_anything_is_measured(tmp_path):
    (tmp_path / "reports").write_text("a file")
    done = Bench(tmp_path, "--cases=1n1g").run()
    assert done.returncode == 2
    assert "reports cannot be written" in done.stderr
    assert not (tmp_path / "results").exists()


def test_a_longer_timeout_does_not_keep_a_run_from_going_on(tmp_path):
    bench = Bench(tmp_path, "--cases=1n1g", "--repeats=1")
    assert bench.run().returncode == 0
    assert bench.resume(f"--resume={bench.folder.name}", "--timeout=99").returncode == 0


def test_nohup_is_respected(tmp_path):
    bench = Bench(tmp_path, "--cases=1n1g", "--repeats=1", "--timeout=2", faults="hang@1n1g_1/0")
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        driver = bench.start_run()
    finally:
        signal.signal(signal.SIGHUP, before)
    bench.await_log("1n1g/*_1/rank0.log", "window")
    driver.send_signal(signal.SIGHUP)
    assert finished(driver).returncode == 1
    assert bench.repeat("1n1g", 1).outcome == "hung"


def test_a_reader_that_goes_away_does_not_stop_the_run(tmp_path):
    bench = Bench(tmp_path, "--cases=1n1g")
    driver = bench.start_run()
    driver.stderr.close()
    driver.stdout.close()
    driver.wait(PATIENCE)
    assert bench.repeat("1n1g", 2).outcome == "completed"
    assert page_of(bench).exists()


def test_a_run_that_changed_since_is_not_gone_on_with(tmp_path):
    bench = Bench(tmp_path, "--cases=1n1g", "--repeats=1")
    assert bench.run().returncode == 0
    record = bench.folder / "record.json"
    text = record.read_text()
    for old, new, what in (
        ('"scripts_sha256": "', '"scripts_sha256": "0', "its toy had scripts_sha256"),
        ('"processor": "', '"processor": "Another ', "its machine had processor"),
        ('"variables": {', '"variables": {"NCCL_ALGO": "Ring",', "its variables had NCCL_ALGO"),
    ):
        record.write_text(text.replace(old, new))
        done = bench.here("bench", f"--resume={bench.folder.name}")
        assert done.returncode == 2
        assert what in done.stderr


def test_resume_alone_takes_the_latest_run_that_is_not_finished(tmp_path):
    bench = Bench(tmp_path, "--cases=1n1g", "--repeats=1")
    assert bench.run().returncode == 0
    unfinished = bench.folder
    (bench.place("1n1g", 1) / "run.json").unlink()
    assert bench.run().returncode == 0
    done = bench.resume()
    assert done.returncode == 0
    assert f"Run {unfinished.name}:" in done.stderr
    again = bench.resume()
    assert again.returncode == 2
    assert "is unfinished: there is nothing to go on with" in again.stderr
