"""The report of one run: a Markdown page with its plots, from the store alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reports.comparison_table import COMPARISON_HEADINGS, comparison_rows
from reports.environment_table import environment_rows
from reports.markdown import environment
from reports.numbers import NOTHING, percent, rate, ratio
from reports.plots import Line, plot_speedup, plot_throughput
from reports.settings_table import setting_line, settings_table
from reports.summary_table import failures, summary_table
from reports.variant_table import variant_table
from results.comparison import compare_with_published, describe_machine
from results.errors import InputError
from results.files import write_atomically
from results.record import framework_facts, shown
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
        "variants": variant_table(run) if len(run.variants) > 1 else None,
        "variant_settings": settings_table(run),
        "summary": summary_table(run),
        "pictures": pictures,
        "failures": failures(run),
        "comparison": comparison,
        "comparison_headings": COMPARISON_HEADINGS,
        "comparison_rows": comparison_rows(comparison),
        "step_headings": STEP_HEADINGS,
        "step_rows": [(run.names[case.case], *_step_cells(case)) for case in run.cases],
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
    size = max((case.case.world_size, case.case.nodes) for case in good)
    largest = [case for case in good if (case.case.world_size, case.case.nodes) == size]
    largest.sort(key=lambda case: -(run.of_fastest(case) or 0.0))
    first, *others = largest
    variants = {case.case: name for name, cases in run.variants.items() for case in cases}
    fastest = " is the fastest:" if others else ":"
    said = f"{run.names[first.case]}{fastest} {_with_interval(first.throughput)} images/s"
    if first.speedup and first.base and first.base != first.case:
        said += (
            f", {ratio(first.speedup.value)} times {first.base.label} "
            f"({percent(first.efficiency.value if first.efficiency else None)} efficiency)"
        )
    if others:
        shares = [f"{variants[one.case]} {percent(run.of_fastest(one))}" for one in others]
        said += f". The others reach of that: {', '.join(shares)}"
    bad = len(run.failed)
    return said + (f". {bad} repeat{'s do' if bad > 1 else ' does'} not count." if bad else ".")


def _with_interval(estimate: Estimate | None) -> str:
    if estimate is None:
        return NOTHING
    if estimate.low is None or estimate.high is None:
        return rate(estimate.value)
    return f"{rate(estimate.value)} ({rate(estimate.low)} to {rate(estimate.high)})"


def _plots(run: RunSummary, home: Path) -> list[Path]:
    """Draw a line for each variant; one alone is called by its framework's title."""
    lines = {name: _largest_of_each_size(cases) for name, cases in run.variants.items()}
    lines = {name: cases for name, cases in lines.items() if cases}
    if not lines:
        return []
    environment = run.run.record.environment
    titles = {name: name for name in lines}
    if len(lines) == 1:
        ((name, cases),) = lines.items()
        facts = framework_facts(environment, cases[0].case.implementation)
        titles[name] = str(facts.get("title", name))
    emulated = any(case.case.emulated for cases in lines.values() for case in cases)
    subtitle = f"{describe_machine(environment)}; {setting_line(run)}"
    drawn = plot_throughput(
        [
            _line(titles[name], cases, [case.throughput for case in cases])
            for name, cases in lines.items()
        ],
        title=f"ResNet-50 v1.5 training throughput{' (emulated nodes)' if emulated else ''}",
        subtitle=subtitle,
        path_stem=home / "throughput",
    )
    scaled = {name: [one for one in cases if one.speedup] for name, cases in lines.items()}
    scaled = {name: cases for name, cases in scaled.items() if len(cases) > 1}
    bases = {case.base.world_size for cases in scaled.values() for case in cases if case.base}
    if len(bases) == 1:
        drawn += plot_speedup(
            [
                _line(titles[name], cases, [case.speedup for case in cases])
                for name, cases in scaled.items()
            ],
            title=f"ResNet-50 v1.5 training speedup{' (emulated nodes)' if emulated else ''}",
            subtitle=subtitle,
            path_stem=home / "speedup",
            base_devices=bases.pop(),
        )
    return [path for path in drawn if path.suffix == ".svg"]


def _largest_of_each_size(cases: Sequence[CaseSummary]) -> list[CaseSummary]:
    """Return the measured cases by their devices; of equal ones, that with the most nodes."""
    good = [case for case in cases if case.throughput]
    by_size = {case.case.world_size: case for case in sorted(good, key=lambda c: c.case.nodes)}
    return [by_size[size] for size in sorted(by_size)]


def _line(name: str, cases: list[CaseSummary], values: list[Estimate | None]) -> Line:
    known = [value for value in values if value]
    lows = [value.low if value.low is not None else value.value for value in known]
    highs = [value.high if value.high is not None else value.value for value in known]
    return Line(
        name, [c.case.world_size for c in cases], [v.value for v in known], low=lows, high=highs
    )


def _step_cells(summary: CaseSummary) -> tuple[str, ...]:
    seconds = summary.step_seconds
    if not len(seconds):
        return ("0", *[NOTHING] * 5)
    marks = (*np.percentile(seconds, [50, 10, 90, 99]), seconds.max())
    return (str(len(seconds)), *(f"{float(mark):.4f}" for mark in marks))


def _commands(run: RunSummary) -> list[str]:
    lines = []
    for case in run.cases:
        repeats = (*case.counted, *case.failed)
        for command in repeats[0].record.commands if repeats else []:
            lines.append(f"{run.names[case.case]} node {command.node} on {command.host}:")
            lines.append(f"  {shown(command)}")
    return lines
