"""How numbers are written: digits that were measured, and a dash where there is nothing."""

from collections.abc import Callable

from results.statistics import Estimate

NOTHING = "—"


def rate(value: float | None) -> str:
    """Write images per second."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if value >= 10_000 else f"{value:.2f}" if value < 100 else f"{value:.1f}"


def ratio(value: float | None) -> str:
    """Write a ratio, such as a speedup."""
    return NOTHING if value is None else f"{value:.2f}"


def percent(value: float | None) -> str:
    """Write a share."""
    return NOTHING if value is None else f"{100 * value:.1f} %"


def interval(estimate: Estimate | None, write: Callable[[float | None], str] = rate) -> str:
    """Write the ends of an estimate's interval."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return NOTHING
    return f"{write(estimate.low)} to {write(estimate.high)}"
