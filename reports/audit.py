"""The audit of DLPerf's published figures, on a terminal and as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from reports.gallery import KINDS
from reports.numbers import interval, rate
from reports.terminal import plain
from results.published_checks import Finding, Place, find_disagreements
from results.published_figures import DLPERF_COMMIT
from results.published_medians import MedianCheck, check_medians
from results.published_speedups import SpeedupCheck, check_speedups, has_own_base

SCHEMA = "dlscale.audit/1"


@dataclass(frozen=True)
class Audit:
    """Every published table of ResNet-50 computed again."""

    speedups: Sequence[SpeedupCheck]
    medians: Sequence[MedianCheck]
    findings: Sequence[Finding]


def audit_published() -> Audit:
    """Compute the committed figures again: speedups, medians of repeats, and what contradicts."""
    return Audit(check_speedups(), check_medians(), find_disagreements())


def print_audit(audit: Audit, console: Console | None = None) -> None:
    """Print how much agrees, then each disagreement with its values and their places."""
    console = console or Console()
    own = sum(has_own_base(check) for check in audit.speedups)
    wrong = sum(not check.agrees for check in audit.speedups)
    off = sum(not check.agrees for check in audit.medians)
    console.print(
        f"{len(audit.speedups)} printed speedups computed again, {own} from a base in their own "
        f"table and {len(audit.speedups) - own} from one in another document: {wrong} are not the "
        "ratio of their throughputs (one that is printed in several places is listed once).\n"
        f"{len(audit.medians)} medians of repeats computed again: {off} are not what is printed.\n"
        f"The places are files and lines of DLPerf at {DLPERF_COMMIT}.",
        highlight=False,
    )
    kind = ""
    for number, finding in enumerate(audit.findings, start=1):
        if finding.kind != kind:
            kind = finding.kind
            console.print(f"\n[bold]{plain(KINDS[kind])}[/]", highlight=False)
        console.print(f"{number}. {plain(finding.what)}", highlight=False)
        for stated in finding.stated:
            console.print(f"   {plain(stated.value)}", highlight=False)
            for place in stated.places:
                console.print(f"      {plain(_place(place))}", style="dim", highlight=False)
    console.print("\n[bold]Published medians, with the intervals of their repeats[/]")
    table = Table()
    for column, heading in enumerate(("case", "images/s", "95 % interval", "repeats")):
        table.add_column(heading, justify="left" if column == 0 else "right", overflow="fold")
    for check in audit.medians:
        cells = (rate(check.median.value), interval(check.median), str(len(check.values)))
        table.add_row(plain(check.case), *cells)
    console.print(table)
    console.print("A 95 % interval needs at least six repeats.", style="dim")


def audit_json(audit: Audit) -> str:
    """Return the audit as indented JSON; throughputs in images/s of the whole job."""
    document = {
        "schema": SCHEMA,
        "speedups": {
            "printed": len(audit.speedups),
            "own_base": sum(has_own_base(check) for check in audit.speedups),
            "disagree": sum(not check.agrees for check in audit.speedups),
        },
        "medians": [_median(check) for check in audit.medians],
        "findings": [_finding(finding) for finding in audit.findings],
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def _median(check: MedianCheck) -> dict[str, Any]:
    return {
        "case": check.case,
        "document": check.first.document,
        "repeats": list(check.values),
        "median": check.median.value,
        "low": check.median.low,
        "high": check.median.high,
        "published": list(check.published),
        "agrees": check.agrees,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "what": finding.what,
        "stated": [
            {"value": stated.value, "places": [msgspec.to_builtins(one) for one in stated.places]}
            for stated in finding.stated
        ],
    }


def _place(place: Place) -> str:
    return place.document if place.line is None else f"{place.document}:{place.line}"
