"""docs/add-a-log-format.md: the file it shows, added, reads logs."""

import importlib.util
import re
from pathlib import Path

import pytest

from results.formats import formats
from results.logs.format import Format
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
    for path in re.findall(r"`((?:results|tests)/[\w/.]+)`", page):
        assert (PAGE.parents[1] / path).exists(), path
    assert shown(tmp_path).__doc__.startswith("What my-trainer prints")


def test_every_format_says_where_it_was_read():
    folder = PAGE.parents[1] / "results" / "formats"
    for path in folder.glob("[!_]*.py"):
        text = path.read_text()
        assert re.search(r"Read off|The form is that of", text), path
        assert re.search(r"github\.com|mindspore at|tf-models-official", text), path
