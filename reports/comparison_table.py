"""The table of a run beside the published figures, as text."""

from reports.numbers import NOTHING, percent, rate
from results.comparison import Comparison, Row

COMPARISON_HEADINGS = (
    "case",
    "per device",
    "published",
    "ratio",
    "efficiency",
    "published",
    "published for",
)


def comparison_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """Return one row per case, a cell for each of `COMPARISON_HEADINGS`."""
    return [_row(row, comparison.run.names[row.summary.case]) for row in comparison.rows]


def _row(row: Row, name: str) -> tuple[str, ...]:
    series = row.published
    source = (
        f"{series.settings.implementation} {series.settings.framework_version}" if series else ""
    )
    return (
        name,
        rate(row.per_device),
        rate(row.published_per_device),
        NOTHING if row.ratio is None else f"{row.ratio:.3g}",
        percent(row.efficiency.value if row.efficiency else None),
        percent(row.published_efficiency),
        source or f"none for {row.summary.case.label}",
    )
