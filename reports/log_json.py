"""What logs come to as JSON and CSV, for other programs: docs/parse.md describes both forms."""

import csv
import io
from collections.abc import Sequence
from typing import Any

import msgspec

from reports.summary_json import estimate_json
from results.failure import printable
from results.logs.cases import LogCase
from results.logs.rules import Rule, throughput_of
from results.logs.verdict import LogResult

SCHEMA = "dlscale.parse/1"
UNIT = "images/s"
CSV_COLUMNS = (
    "log", "format", "status", "throughput", "unit", "steps", "nodes", "devices", "batch_size",
    "precision", "model", "repeat", "uniform", "dlperf_v1", "reasons", "step_seconds",
    "devices_assumed", "dlperf_v1_note",
)  # fmt: skip


def logs_json(
    results: Sequence[LogResult],
    cases: Sequence[LogCase],
    notices: Sequence[str],
    *,
    rule: Rule,
    warmup: int,
    steps: int,
) -> str:
    """Return logs and their cases as indented JSON; rates in images/s of the whole job."""
    document = {
        "schema": SCHEMA,
        "rule": rule,
        "warmup": warmup,
        "steps": steps,
        "logs": [_log(result, rule) for result in results],
        "cases": [_case(case) for case in cases],
        "notices": list(notices),
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def logs_csv(results: Sequence[LogResult], rule: Rule) -> str:
    """Return one line per log, with the columns `CSV_COLUMNS`; an empty cell where not known."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for result in results:
        facts = result.facts
        cells: list[Any] = [
            result.log, result.format, result.status, throughput_of(result, rule), UNIT,
            result.steps, facts.nodes, facts.devices, facts.batch_size, facts.precision,
            facts.model, facts.repeat, result.throughput, result.dlperf_v1,
            "; ".join(result.reasons), result.step_seconds, result.devices_assumed,
            result.dlperf_v1_note,
        ]  # fmt: skip
        writer.writerow(["" if cell is None else printable(str(cell)) for cell in cells])
    return text.getvalue().rstrip("\n")


def _log(result: LogResult, rule: Rule) -> dict[str, Any]:
    window = result.window
    return {
        "log": result.log,
        "format": result.format,
        "status": result.status,
        "throughput": throughput_of(result, rule),
        "unit": UNIT,
        "steps": result.steps,
        "reasons": list(result.reasons),
        "step_seconds": result.step_seconds,
        "devices_assumed": result.devices_assumed,
        "window": window
        and {
            "first": window.first + 1,
            "last": window.last,
            "steps": window.steps,
            "whole": window.whole,
        },
        "uniform": result.throughput,
        "dlperf_v1": result.dlperf_v1,
        "dlperf_v1_note": result.dlperf_v1_note,
        "case": msgspec.to_builtins(result.facts),
    }


def _case(case: LogCase) -> dict[str, Any]:
    return {
        "series": case.series,
        "name": case.name,
        "format": case.format,
        "label": case.facts.label,
        "model": case.facts.model,
        "precision": case.facts.precision,
        "batch_size": case.facts.batch_size,
        "logs": [log.log for log in case.logs],
        "repeats": case.repeats,
        "counted": case.counted,
        "throughput": estimate_json(case.throughput),
        "short": case.short,
        "base": case.base,
        "no_base": case.no_base,
        "speedup": estimate_json(case.speedup),
    }
