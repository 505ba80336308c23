"""The record of a run's environment, as rows of a table."""

from typing import Any

from results.summary import RunSummary


def environment_rows(run: RunSummary) -> list[tuple[str, str]]:
    """Return (what, value) of everything the record says of machine, versions and commits."""
    record = run.run.record
    rows = [("run", record.id), ("created (UTC)", record.created)]
    for part, value in record.environment.items():
        rows.extend(_flat(part, value))
    rows.extend(
        (f"asked for: {option}", str(value))
        for option, value in record.request.items()
        if value is not None
    )
    return rows


def _flat(name: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [row for key, inner in value.items() for row in _flat(f"{name}: {key}", inner)]
    if isinstance(value, list):
        return [(name, "; ".join(_short(inner) for inner in value) or "none")]
    return [(name, str(value))]


def _short(value: Any) -> str:
    return " ".join(map(str, value.values())) if isinstance(value, dict) else str(value)
