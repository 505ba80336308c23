"""The report of one run: a Markdown page with its plots, from the store alone."""

from pathlib import Path
from typing import Any

import numpy as np

from reports.comparison_table import COMPARISON_HEADINGS, comparison_rows
from reports.environment_table import environment_rows
from reports.markdown import environment
from reports.numbers import NOTHING, percent, rate, ratio
from reports.plots import Line, plot_speedup, plot_throughput
from reports.summary_table import HEADINGS, case_name, failures, setting_line, summary_rows
from results.comparison import compare_with_published, describe_machine
from results.errors import InputError
from results.files import write_atomically
from results.record import section, shown
from results.statistics import Estimate
from results.summary import CaseSummary, RunSummary

STEP_HEADINGS = ("case", "steps", "median", "10 %", "90 %", "99 %", "longest")


def write_report(run: RunSummary, folder: Path) -> Path:
    """Write `report.md` and its plots to a folder named by the run; return the page's path.

    Raises `InputError` where the folder cannot be written.
    """
    home = folder / run.run.folder.name
    try:
        home.mkdir(parents=True, exist_ok=True)
        pictures = _plots(run, home)
        page = home / "report.md"
        write_atomically(page, _page(run, pictures).encode())
    except OSError as error:
        raise InputError(
            f"The report {home} cannot be written ({error.strerror}): make room or make it "
            "writable, then run `dlscale report`."
        ) from error
    return page


def _page(run: RunSummary, pictures: list[Path]) -> str:
    return environment().get_template("run.md.j2").render(**_values(run, pictures))


def _values(run: RunSummary, pictures: list[Path]) -> dict[str, Any]:
    comparison = compare_with_published(run)
    record = run.run.record
    emulated = any(case.emulated for case in record.cases)
    return {
        "title": f"Run {record.id}" + (" (emulated nodes)" if emulated else ""),
        "answer": answer(run),
        "settings": setting_line(run),
        "record": record,
        "emulated": emulated,
        "headings": HEADINGS,
        "rows": summary_rows(run),
        "pictures": pictures,
        "failures": failures(run),
        "comparison": comparison,
        "comparison_headings": COMPARISON_HEADINGS,
        "comparison_rows": comparison_rows(comparison),
        "step_headings": STEP_HEADINGS,
        "step_rows": [_step_row(case) for case in run.cases],
        "environment": environment_rows(run),
        "commands": _commands(run) or [NOTHING],
        "notices": run.run.notices,
        "case": record.cases[0],
        "folder": str(run.run.folder),
    }


def answer(run: RunSummary) -> str:
    """Return the run's result in one or two sentences."""
    good = [case for case in run.cases if case.throughput]
    if not good:
        return "No repeat of this run counts: see the reasons below."
    largest = max(good, key=lambda case: case.case.world_size)
    said = f"{case_name(largest)}: {_with_interval(largest.throughput)} images/s"
    if largest.speedup and largest.base and largest.base != largest.case:
        said += (
            f", {ratio(largest.speedup.value)} times {largest.base.label} "
            f"({percent(largest.efficiency.value if largest.efficiency else None)} efficiency)"
        )
    bad = len(run.failed)
    return said + (f". {bad} repeat{'s do' if bad > 1 else ' does'} not count." if bad else ".")


def _with_interval(estimate: Estimate | None) -> str:
    if estimate is None:
        return NOTHING
    if estimate.low is None or estimate.high is None:
        return rate(estimate.value)
    return f"{rate(estimate.value)} ({rate(estimate.low)} to {rate(estimate.high)})"


def _plots(run: RunSummary, home: Path) -> list[Path]:
    good = [case for case in run.cases if case.throughput]
    by_size = {case.case.world_size: case for case in sorted(good, key=lambda c: c.case.nodes)}
    cases = [by_size[size] for size in sorted(by_size)]
    if not cases:
        return []
    title = str(section(run.run.record.environment, "framework").get("title", ""))
    emulated = any(case.case.emulated for case in cases)
    subtitle = f"{describe_machine(run.run.record.environment)}; {setting_line(run)}"
    drawn = plot_throughput(
        [_line(title, cases, [case.throughput for case in cases])],
        title=f"ResNet-50 v1.5 training throughput{' (emulated nodes)' if emulated else ''}",
        subtitle=subtitle,
        path_stem=home / "throughput",
    )
    scaled = [case for case in cases if case.speedup and case.base]
    if len(scaled) > 1 and scaled[0].base:
        drawn += plot_speedup(
            [_line(title, scaled, [case.speedup for case in scaled])],
            title=f"ResNet-50 v1.5 training speedup{' (emulated nodes)' if emulated else ''}",
            subtitle=subtitle,
            path_stem=home / "speedup",
            base_devices=scaled[0].base.world_size,
        )
    return [path for path in drawn if path.suffix == ".svg"]


def _line(name: str, cases: list[CaseSummary], values: list[Estimate | None]) -> Line:
    known = [value for value in values if value]
    lows = [value.low if value.low is not None else value.value for value in known]
    highs = [value.high if value.high is not None else value.value for value in known]
    return Line(
        name, [c.case.world_size for c in cases], [v.value for v in known], low=lows, high=highs
    )


def _step_row(summary: CaseSummary) -> tuple[str, ...]:
    seconds = summary.step_seconds
    if not len(seconds):
        return (case_name(summary), "0", *[NOTHING] * 5)
    marks = (*np.percentile(seconds, [50, 10, 90, 99]), seconds.max())
    return (case_name(summary), str(len(seconds)), *(f"{float(mark):.4f}" for mark in marks))


def _commands(run: RunSummary) -> list[str]:
    lines = []
    for case in run.cases:
        repeats = (*case.counted, *case.failed)
        for command in repeats[0].record.commands if repeats else []:
            lines.append(f"{case_name(case)} node {command.node} on {command.host}:")
            lines.append(f"  {shown(command)}")
    return lines
