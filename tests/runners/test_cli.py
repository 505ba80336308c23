"""The command as a whole: its help, its version, its list, and how quickly it answers."""

import json
import re
import shlex
import subprocess
import sys
from argparse import ArgumentParser
from importlib.metadata import version
from pathlib import Path

import pytest

from results.errors import BenchmarkError, InputError
from runners import cli
from runners.commands import bench
from runners.implementations import editions, implementations, load_manifest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("numpy", "scipy", "matplotlib", "rich", "msgspec", "PIL", "jinja2", "psutil", "reports")


def printed(capsys, *words):
    """Return what `dlscale` prints for these words, after checking that it ends well."""
    code = 0
    try:
        code = cli.main(list(words))
    except SystemExit as ended:  # argparse ends the process after --help
        code = ended.code or 0
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    return out


def test_help_names_every_command(capsys):
    text = printed(capsys, "--help")
    for name in cli.COMMANDS:
        assert f"    {name} " in text


def test_without_a_command_it_shows_its_help(capsys):
    assert printed(capsys) == printed(capsys, "--help")


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help(capsys, name):
    assert printed(capsys, name, "--help").startswith(f"usage: dlscale {name}")


def test_version(capsys):
    assert printed(capsys, "--version") == f"dlscale {version('dlscale')}\n"


@pytest.mark.parametrize("words", [["--help"], ["bench", "--help"], ["list", "--help"]])
def test_help_needs_no_library(words):
    program = (
        "import contextlib, io, sys\n"
        "from runners.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        f"    main({words})\n"
        f"print([name for name in {HEAVY} if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "[]\n"


class TestList:
    def test_as_json_has_versions_and_pins(self, capsys):
        described = json.loads(printed(capsys, "list", "--json"))
        assert [one["name"] for one in described] == implementations()
        for one in described:
            manifest = load_manifest(one["name"])
            assert one["version"] == one["pins"][one["framework"]] == manifest.version
            assert set(one["on"]) == set(manifest.about.on)

    def test_as_a_table_names_each_implementation(self, capsys, monkeypatch):
        monkeypatch.setenv("COLUMNS", "300")
        text = printed(capsys, "list")
        for name in implementations():
            about = load_manifest(name).about
            assert name in text
            assert f"{about.title} {load_manifest(name).version}" in text

    @pytest.mark.parametrize("edition", editions())
    @pytest.mark.parametrize("width", [80, 120])
    def test_all_that_an_edition_pins_is_in_the_width_of_a_terminal(
        self, capsys, monkeypatch, width, edition
    ):
        monkeypatch.setenv("COLUMNS", str(width))
        text = printed(capsys, "list", "--edition", edition)
        entries = text.split("\n\n")
        assert len(entries) == len(implementations(edition))
        for name, entry in zip(implementations(edition), entries, strict=True):
            about, words = load_manifest(name, edition).about, entry.split()
            upstream, elsewhere = about.upstream, about.elsewhere
            assert entry.startswith(f"{name}: {about.title}\n")
            given = [*upstream.arguments, *upstream.texts]
            given += [text for one in about.strategy.values() for text in one.upstream_arguments]
            fetched = [upstream.repository, upstream.commit, *upstream.paths]
            pinned = [*([upstream.package] if upstream.package else fetched), upstream.log_format]
            whole = [one for one in (*given, *pinned) if " " not in one]
            assert [o for o in whole if not {o, shlex.quote(o)} & set(words)] == []
            version = load_manifest(name, edition).pinned_version
            assert f"framework    {about.framework} {version}\n" in entry
            if elsewhere:
                assert elsewhere.container in words or elsewhere.gone in " ".join(words)
        long = [line for line in text.splitlines() if len(line) > width]
        assert [line for line in long if len(line[17:].split()) > 1] == []  # a word is not cut

    def test_an_edition_as_json_has_what_it_pins(self, capsys):
        described = json.loads(printed(capsys, "list", "--edition", "dlperf-v1.0", "--json"))
        assert [one["name"] for one in described] == implementations("dlperf-v1.0")
        for one in described:
            upstream = one["upstream"]
            assert upstream["log_format"]
            assert upstream["arguments"]
            assert one["version"] != "-"
            assert one["elsewhere"] or one["pins"]
            if not upstream["package"]:
                assert re.fullmatch("[0-9a-f]{40}", upstream["commit"])
                assert upstream["paths"]

    def test_without_a_terminal_a_row_is_a_line(self, capsys, monkeypatch):
        monkeypatch.delenv("COLUMNS", raising=False)
        text = printed(capsys, "list", "--edition", "dlperf-v1.0")
        rows = [line for line in text.splitlines() if line.startswith(" ")]
        assert [row for row in rows if not row[4:16].strip()] == []


@pytest.mark.parametrize(("error", "code"), [(InputError("Bad."), 2), (BenchmarkError("Bad."), 1)])
def test_an_error_is_one_line_and_a_code(capsys, monkeypatch, error, code):
    def fail(_):
        raise error

    monkeypatch.setattr(cli, "_run", fail)
    assert cli.main([]) == code
    assert capsys.readouterr() == ("", "dlscale: Bad.\n")


def test_ctrl_c_ends_with_130(capsys, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_run", interrupt)
    assert cli.main([]) == 130
    assert capsys.readouterr().err == "dlscale: interrupted\n"


@pytest.mark.parametrize("words", [["nonsense"], ["--nonsense"], ["bench", "--nonsense"]])
def test_words_that_are_not_known_are_named(capsys, words):
    assert cli.main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words[-1] in err
    assert "--help`" in err
    assert err.count("\n") == 1


def test_a_reader_that_goes_away_is_no_error():
    command = f"'{sys.executable}' -m runners.cli list --json | true"
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False, cwd=ROOT)
    assert done.stderr == b""


def test_paths_of_a_request_are_absolute_so_that_it_can_go_on_from_elsewhere():
    parser = ArgumentParser()
    bench.add_arguments(parser)
    words = ["mine/toy", "--data=images", "--hostfile=hosts", "--results=here"]
    args = parser.parse_args(words)
    here = Path.cwd()
    assert args.framework == str(here / "mine/toy")
    assert (args.data, args.hostfile) == (str(here / "images"), str(here / "hosts"))
    assert args.results == here / "here"


def test_names_of_a_request_are_not_paths():
    parser = ArgumentParser()
    bench.add_arguments(parser)
    args = parser.parse_args(["pytorch", "--data=synthetic"])
    assert (args.framework, args.data) == ("pytorch", "synthetic")
