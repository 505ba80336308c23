"""docs/add-a-log-format.md: the file it shows, added, reads logs."""

import importlib.util
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from results.errors import InputError
from results.formats import _format, formats
from results.logs.format import Covers, Format, Scope, Source
from results.parse_logs import Wanted, parse_bytes

PAGE = Path(__file__).resolve().parents[2] / "docs" / "add-a-log-format.md"


def shown(tmp_path):
    """Return the module that the page shows."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    file = tmp_path / "my_trainer.py"
    file.write_text(code)
    spec = importlib.util.spec_from_file_location("my_trainer", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_format_of_the_page_reads_logs(tmp_path, monkeypatch):
    form = shown(tmp_path).FORMAT
    monkeypatch.setattr(Wanted, "formats", (*formats(), form))
    lines = ["batch per device: 64"]
    lines += [
        f"step {step} of epoch 0: loss 6.9131, {50.0 if step <= 20 else 412.5} images/s on rank {r}"
        for step in range(1, 131)
        for r in range(2)
    ]
    result = parse_bytes("\n".join([*lines, ""]).encode(), Wanted(), "1n2g/my_1.log")
    assert (result.format, result.status, result.steps) == ("my-trainer", "ok", 130)
    assert result.throughput == pytest.approx(825)
    assert result.facts.batch_size == 64


def test_a_file_that_declares_no_format_is_named(monkeypatch):
    monkeypatch.setattr("results.formats.importlib.import_module", lambda _: object())
    with pytest.raises(InputError, match=r"results/formats/mine.py has no FORMAT: declare one"):
        _format("mine")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"covers": "a step"}, "covers cannot be 'a step': take one of one step, "),
        ({"scope": "node"}, "scope cannot be 'node'"),
        ({"sources": ("ms",)}, "sources cannot be 'ms': take one of seconds, rate, stamp"),
        ({"sources": ()}, "needs hints and sources"),
        ({"step": re.compile(rb"(?P<speed>\d)")}, "the groups of step cannot be 'speed'"),
    ],
)
def test_what_a_format_cannot_be_is_named(tmp_path, wrong, sentence):
    with pytest.raises(InputError) as error:
        replace(shown(tmp_path).FORMAT, **wrong)
    assert str(error.value).startswith("format my-trainer: ")
    assert sentence in str(error.value)


def test_the_page_names_what_there_is(tmp_path):
    page = PAGE.read_text()
    fields = Format.__dataclass_fields__
    for word in (
        "covers",
        "scope",
        "facts",
        "begin",
        "pause",
        "other",
        "void",
        "key",
        "rank_begin",
    ):
        assert f"`{word}`" in page
        assert word in fields
    for value in (*get_args(Covers), *get_args(Scope), *get_args(Source)):
        assert f"`{value}`" in page
    for path in re.findall(r"`((?:results|tests)/[\w/.]+)`", page):
        assert (PAGE.parents[1] / path).exists(), path
    assert shown(tmp_path).__doc__.startswith("What my-trainer prints")


def test_every_format_says_where_it_was_read():
    folder = PAGE.parents[1] / "results" / "formats"
    for path in folder.glob("[!_]*.py"):
        text = path.read_text()
        assert re.search(r"Read off|The form is that of", text), path
        assert re.search(r"github\.com|mindspore at|tf-models-official", text), path
