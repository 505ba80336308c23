"""A run's figures as JSON, for other programs. The form's version is in `schema`."""

from typing import Any

import msgspec

from results.statistics import Estimate
from results.summary import CaseSummary, RunSummary


def summary_json(run: RunSummary) -> str:
    """Return the figures as indented JSON; rates in images/s, times in seconds."""
    record = run.run.record
    document = {
        "schema": "dlscale.summary/1",
        "run": record.id,
        "rule": "uniform",
        "notes": record.notes,
        "notices": list(run.run.notices),
        "left_out": record.left_out,
        "cases": [_case(run, case) for case in run.cases],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def _case(run: RunSummary, summary: CaseSummary) -> dict[str, Any]:
    return {
        "label": summary.case.label,
        "name": run.names[summary.case],
        "case": msgspec.to_builtins(summary.case),
        "throughput": estimate_json(summary.throughput),
        "minimum": summary.minimum,
        "maximum": summary.maximum,
        "base": summary.base.label if summary.base else None,
        "no_base": summary.no_base,
        "speedup": estimate_json(summary.speedup),
        "efficiency": estimate_json(summary.efficiency),
        "of_fastest": run.of_fastest(summary),
        "data_share": summary.data_share,
        "asked": summary.asked,
        "repeats": [
            {
                "repeat": repeat.record.repeat,
                "outcome": repeat.record.outcome,
                "throughput": repeat.throughput,
                "seconds": repeat.window.seconds if repeat.window else None,
                "reason": repeat.reason,
            }
            for repeat in (*summary.counted, *summary.failed)
        ],
    }


def estimate_json(estimate: Estimate | None) -> dict[str, float | None] | None:
    """Return an estimate and the ends of its interval, null where there is none."""
    if estimate is None:
        return None
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}
