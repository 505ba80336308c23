"""`dlscale parse PATH` and `dlscale audit`, as a user calls them."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runners import cli

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "results"))
from log_writer import OUT_OF_MEMORY, Oddities, truth, write

ROOT = Path(__file__).resolve().parents[2]


def make_tree(folder, repeats=2):
    for label, ranks in (("1n1g", 1), ("1n8g", 8)):
        (folder / label).mkdir(parents=True)
        for number in range(1, repeats + 1):
            log = write("gluon-cv", truth(130, ranks=ranks, seed=number))
            (folder / label / f"r50_b128_fp32_{number}.log").write_bytes(log)
    return folder


def dlscale(capsys, *words):
    code = cli.main(list(map(str, words)))
    out, err = capsys.readouterr()
    return code, out, err


def test_json_has_the_fields_that_are_documented(tmp_path, capsys):
    code, out, _ = dlscale(capsys, "parse", make_tree(tmp_path), "--json", "--rule", "both")
    document = json.loads(out)
    assert (code, document["schema"], document["rule"]) == (0, "dlscale.parse/1", "both")
    page = (ROOT / "docs" / "parse.md").read_text()
    for name in document["logs"][0]:
        assert f"`.{name}`" in page or f"`.{name}`," in page or f", `.{name}`" in page, name
    for name in [*document, *document["cases"][0], *document["logs"][0]["case"]]:
        assert f"`{name}" in page, name
    log = document["logs"][0]
    assert (log["status"], log["format"], log["unit"]) == ("ok", "gluon-cv", "images/s")
    assert log["window"] == {"first": 21, "last": 120, "steps": 100, "whole": True}
    assert [case["label"] for case in document["cases"]] == ["1n1g", "1n8g"]
    assert document["cases"][1]["speedup"]["value"] == pytest.approx(8, rel=0.01)


def test_csv_has_a_line_per_log(tmp_path, capsys):
    code, out, _ = dlscale(capsys, "parse", make_tree(tmp_path), "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert (code, len(rows)) == (0, 4)
    assert {row["status"] for row in rows} == {"ok"}
    assert rows[0]["batch_size"] == "128"


def test_the_table_shows_cases_and_reasons(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    folder = make_tree(tmp_path)
    bad = write("gluon-cv", truth(60, ranks=8), Oddities(ending=OUT_OF_MEMORY))
    (folder / "1n8g" / "r50_b128_fp32_3.log").write_bytes(bad)
    code, out, _ = dlscale(capsys, "parse", f"{folder}/")
    assert code == 1
    assert "out of memory: RuntimeError: CUDA out of memory" in out
    assert "2 of 3" in out
    assert "5 logs: 1 failed, 4 ok" in out


def test_of_many_logs_each_kind_of_reason_is_told(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for number in range(1, 50):
        log = write("oneflow-benchmark", truth(130, ranks=8, seed=number))
        folder = tmp_path / ("2n8g" if number <= 28 else "1n8g")
        folder.mkdir(exist_ok=True)
        (folder / f"r50_b128_fp32_{number}.log").write_bytes(log)
    (tmp_path / "1n8g" / "r50_b128_fp32_50.log").write_bytes(b"Killed\n")
    code, out, _ = dlscale(capsys, "parse", tmp_path, "--rule", "both")
    assert code == 1
    lines = out.splitlines()
    told = lines.index("  devices: the log says 8, its path 16; the log's is taken")
    assert lines[told - 1] == "28 logs, such as 2n8g/r50_b128_fp32_1.log"
    assert "  dlperf-v1: " in out
    assert "1n8g/r50_b128_fp32_50.log\n  line 1: " in out
    assert max(map(len, lines[: lines.index("1n8g/r50_b128_fp32_50.log")])) <= 80


def test_both_rules_have_their_speedups(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    for label, ranks in (("1n1g", 1), ("1n8g", 8)):
        (tmp_path / label).mkdir()
        t = truth(130, ranks=ranks)
        t.seconds[:, 5:21] *= 2  # the warm-up, which DLPerf's extractor takes for the run
        log = write("pytorch-examples", t)
        (tmp_path / label / "r50_b128_fp32_1.log").write_bytes(log)
    _, out, _ = dlscale(capsys, "parse", tmp_path, "--rule", "both")
    assert "Cases, by the rules uniform and dlperf-v1" in out
    (row,) = [line.split() for line in out.splitlines() if line.startswith(" resnet50 1n8g")]
    assert 7.9 < float(row[5]) < 8.1
    assert 1.9 < float(row[7]) < 2.3
    assert "after these: it is about the warm-up" in out


def test_options_for_logs_are_refused_for_a_run(tmp_path, capsys):
    for words in (["--csv"], ["--rule", "both"], ["--batch", "64"], ["--steps", "10"]):
        code, out, err = dlscale(capsys, "parse", *words, "--results", tmp_path)
        assert (code, out) == (2, "")
        assert f"{words[0]} is for logs that are no run of ours" in err


def test_relative_paths_and_several_of_them(tmp_path, capsys, monkeypatch):
    make_tree(tmp_path / "logs")
    monkeypatch.chdir(tmp_path)
    code, out, _ = dlscale(capsys, "parse", "logs/1n1g", "logs/1n8g/r50_b128_fp32_1.log", "--json")
    document = json.loads(out)
    assert (code, len(document["logs"])) == (0, 3)
    monkeypatch.chdir(tmp_path / "logs" / "1n8g")
    code, out, _ = dlscale(capsys, "parse", "r50_b128_fp32_1.log", "--json")
    (log,) = json.loads(out)["logs"]
    assert (log["case"]["nodes"], log["case"]["devices"]) == (1, 8)


def test_escape_sequences_do_not_reach_the_terminal(tmp_path, capsys):
    log = tmp_path / "1n1g\x1b[2J" / "r50_b128_fp32_1.log"
    log.parent.mkdir()
    ending = "RuntimeError: CUDA out of memory [red]\x1b]0;owned\x07\x1b[31m[/]"
    log.write_bytes(write("gluon-cv", truth(60), Oddities(ending=ending)))
    for words in ([], ["--csv"], ["--json"]):
        _, out, err = dlscale(capsys, "parse", tmp_path, *words)
        assert "\x1b]" not in out + err
        assert "\x1b[31m" not in out + err
        assert "\x1b[2J" not in out + err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nothing-there"], "neither a run's folder nor a run"),
        (["nothing-there", "x"], "nothing-there is not there"),
        (["nothing/there"], "nothing/there is not there: name a log, a folder of logs, or a run"),
        (["there.log"], "there.log is not there"),
        ([".", "--json", "--csv"], "not allowed with argument --json"),
        (["."], "has no log in it"),
        (["empty", "--format", "no-such"], "invalid choice: 'no-such'"),
        (["empty", "--steps", "0"], "'0' is not a whole number"),
        (["empty", "--rule", "mine"], "invalid choice: 'mine'"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, capsys, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    code, out, err = dlscale(capsys, "parse", *words)
    assert (code, out) == (2, "")
    assert sentence in err
    assert len(err.strip().splitlines()) == 1


def test_many_logs_are_read_by_several_processes(tmp_path, capsys):
    log = write("gluon-cv", truth(130))
    (tmp_path / "1n1g").mkdir()
    for number in range(320):
        (tmp_path / "1n1g" / f"r50_b128_fp32_{number}.log").write_bytes(log)
    code, out, _ = dlscale(capsys, "parse", tmp_path, "--json")
    document = json.loads(out)
    assert (code, len(document["logs"])) == (0, 320)
    assert document["cases"][0]["counted"] == 320
    assert [log["log"] for log in document["logs"]] == sorted(
        log["log"] for log in document["logs"]
    )


def test_a_long_log_is_read_in_little_memory(tmp_path):
    entry = (
        "Epoch: [{}][{:4d}/5005]\tTime  0.3{:02d} ( 0.350)\tData  0.011 ( 0.013)"
        "\tLoss 6.9e+00 (6.9e+00)\n"
    )
    path = tmp_path / "1n1g" / "r50_b128_fp32_1.log"
    path.parent.mkdir()
    with path.open("w") as file:
        for step in range(600_000):
            epoch, index = divmod(step, 5005)
            file.write(entry.format(epoch, index, step % 100))
    program = (
        "import re, sys\nfrom pathlib import Path\nfrom runners.cli import main\n"
        "main(['parse', sys.argv[1], '--json'])\n"
        # Not getrusage: what the test's own process had counts there.
        "peak = re.search(r'VmHWM:\\s+(\\d+) kB', Path('/proc/self/status').read_text())\n"
        "print(peak[1], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    (log,) = json.loads(done.stdout)["logs"]
    assert (log["status"], log["steps"]) == ("ok", 600_000)
    assert log["throughput"] == pytest.approx(128 * 100 / 34.95, rel=0.001)
    assert int(done.stderr.splitlines()[-1]) < 300 * 1024  # KiB; the log has 60 MB


def test_audit_lists_what_disagrees(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = dlscale(capsys, "audit")
    assert code == 0
    assert "182 printed speedups computed again, 163 from a base in their own table" in out
    assert "45 medians of repeats computed again: 0 are not what is printed" in out
    for value in ("11331.93 images/s", "11233.92 images/s", "28.67 printed", "10.2 printed"):
        assert value in out
    assert "README.md:122" in out
    code, out, _ = dlscale(capsys, "audit", "--json")
    document = json.loads(out)
    assert document["schema"] == "dlscale.audit/1"
    assert document["speedups"] == {"printed": 182, "own_base": 163, "disagree": 3}
    assert {finding["kind"] for finding in document["findings"]} == {
        "value", "speedup", "batch", "source", "edition", "odd",
    }  # fmt: skip
