import json
import re

import pytest
from conftest import CASE, case_like
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from reports.markdown import escape
from reports.run_report import write_report
from reports.summary_json import summary_json
from reports.terminal import print_summary
from results.errors import InputError
from results.store import read_stored_run
from results.summary import summarise

TWO = case_like(devices=2)
EMULATED = case_like(nodes=2, emulated=True)
HOSTILE = "<script>alert(1)</script> | `x` $y$ [b](c)"


@pytest.fixture
def ladder(make_run):
    run = make_run([CASE, TWO], repeats=7)
    for repeat in range(1, 8):
        run.add(CASE, repeat, 0.5 + repeat / 1000)
        run.add(TWO, repeat, 0.55 + repeat / 1000)
    return run


def summary_of(run):
    return summarise(read_stored_run(run.folder))


def terminal(run):
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: PTH123, SIM115
    print_summary(summary_of(run), console)
    return console.export_text()


def test_a_report_has_the_figures_and_the_plots(ladder, tmp_path):
    page = write_report(summary_of(ladder), tmp_path / "reports")
    text = page.read_text()
    assert "1n2g: 28.88 (28.73 to 29.04) images/s, 1.82 times 1n1g (91.0 % efficiency)." in text
    assert "| 1n1g | 1 | 1 | 15.87 | 15.78 to 15.97 |" in text
    for name in re.findall(r"!\[.*\]\((.*)\)", text):
        assert (page.parent / name).exists()
    assert text.count("![") == 2


def test_several_implementations_stand_side_by_side(make_run, tmp_path):
    paddle = {"implementation": "paddlepaddle", "layout": "channels_first", "loader": "paddle.io"}
    cases = [CASE, case_like(**paddle), TWO, case_like(**paddle, devices=2)]
    facts = {
        "pytorch": {"title": "PyTorch", "version": "2.14.1", "published": ["pytorch"]},
        "paddlepaddle": {"title": "PaddlePaddle", "version": "3", "published": ["paddlepaddle"]},
    }
    run = make_run(cases, environment={"frameworks": facts})
    for case, seconds in zip(cases, (0.5, 1.0, 0.5, 0.8), strict=True):
        run.add(case, 1, seconds)
    page = write_report(summary_of(run), tmp_path / "reports")
    text = page.read_text()
    assert "1n2g pytorch is the fastest: 32.00 images/s, 2.00 times 1n1g" in text
    assert "The others reach of that: paddlepaddle 62.5 %." in text
    assert "| 1 | 1 | 16.00 | 8.00 |\n| 1 | 2 | 32.00 | 20.00 |" in text
    assert "| pytorch | PyTorch 2.14.1 | JPEGs by torchvision | channels\\_last |" in text
    assert "| 1n1g paddlepaddle | 1 | 1 | 8.00 | 50.0 % |" in text
    assert "- paddlepaddle: framework: 3; published: 1.8.3.post107" in text
    assert "- pytorch: framework: 2.14.1; published: 1.6.0" in text
    assert "- batch per device: 8; published: 128" in text
    assert text.count("![") == 2
    shown = terminal(run)
    assert "pytorch ┃ paddlepaddle" in shown
    assert "1n2g paddlepaddle" in shown


def test_emulated_nodes_are_said_everywhere(make_run, tmp_path):
    run = make_run([CASE, EMULATED])
    run.add(CASE, 1, 0.5)
    run.add(EMULATED, 1, 0.6)
    page = write_report(summary_of(run), tmp_path / "reports")
    text = page.read_text()
    assert "(emulated nodes)" in text.splitlines()[0]
    assert "| 2n1g (emulated) |" in text
    assert "2n1g (emulated)" in terminal(run)
    assert '"emulated": true' in summary_json(summary_of(run))


def test_failed_repeats_are_shown_with_reason_and_log(make_run, tmp_path):
    run = make_run([CASE], repeats=2)
    run.add(CASE, 1, 0.5)
    run.add(CASE, 2, 0.5, outcome="failed", reason="rank0: ValueError: no", tail=["last line"])
    page = write_report(summary_of(run), tmp_path / "reports").read_text()
    for text in (page, terminal(run)):
        assert "rank0: ValueError: no" in text
        assert "last line" in text
        assert "1 of 2" in text


def test_a_run_without_a_good_repeat_has_a_report_too(make_run, tmp_path):
    run = make_run([CASE])
    run.add(CASE, 1, 0.5, outcome="hung", reason="still running after 5 s, ended")
    page = write_report(summary_of(run), tmp_path / "reports").read_text()
    assert "No repeat of this run counts" in page
    assert "hung: still running" in terminal(run)


def test_hostile_names_stay_text(make_run, tmp_path):
    run = make_run([CASE], notes=[HOSTILE])
    run.add(CASE, 1, 0.5, outcome="failed", reason=HOSTILE, tail=[HOSTILE])
    (run.folder / "[red]x").write_text("")
    page = write_report(summary_of(run), tmp_path / "reports").read_text()
    outside_code = [line for line in page.splitlines() if not line.startswith("    ")]
    assert "<script>" not in "\n".join(outside_code)
    assert HOSTILE in terminal(run).replace("\n", " ")
    assert "[red]x" in terminal(run)


def test_a_report_folder_that_cannot_be_written(ladder, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_report(summary_of(ladder), tmp_path / "file")


def test_json_holds_what_the_table_shows(ladder):
    read = json.loads(summary_json(summary_of(ladder)))
    assert read["schema"] == "dlscale.summary/1"
    one, two = read["cases"]
    assert one["throughput"]["value"] == pytest.approx(8 / 0.504)
    assert two["base"] == "1n1g"
    assert len(two["repeats"]) == 7


@given(st.text(max_size=80))
def test_escaped_text_has_no_markup_left(text):
    shown = escape(text)
    assert "\n" not in shown
    assert "<" not in shown
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*_\[\]|~$]", shown)


def test_escape_sequences_do_not_reach_the_terminal_or_the_page(make_run, tmp_path):
    hostile = "a\x1b]0;title\x07b\x1b[31mc\n# heading"
    run = make_run([CASE], notes=[hostile])
    run.add(CASE, 1, 0.5, outcome="failed", reason=hostile, tail=[hostile])
    page = write_report(summary_of(run), tmp_path / "reports").read_text()
    for text in (page, terminal(run)):
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "\n# heading" not in text


def test_an_id_cannot_lead_a_report_out_of_its_folder(make_run, tmp_path):
    run = make_run([CASE], id="../../escaped")
    run.add(CASE, 1, 0.5)
    page = write_report(summary_of(run), tmp_path / "reports")
    assert page.parent.parent == tmp_path / "reports"


@pytest.mark.parametrize("part", [{"framework": "x"}, {"machine": {"gpus": ["a"]}}, {"data": 3}])
def test_an_environment_of_another_form_is_survived(make_run, tmp_path, part):
    run = make_run([CASE], environment=part)
    run.add(CASE, 1, 0.5)
    assert write_report(summary_of(run), tmp_path / "reports").exists()
    assert "1n1g" in terminal(run)
