"""Renders DLPerf's published ResNet-50 figures in DLPerf's form: tables, plots, disagreements."""

from collections.abc import Sequence
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from reports.markdown import environment, escaped
from reports.plots import Line, plot_speedup, plot_throughput
from results import published_figures as published
from results.published_checks import Finding, Place, find_disagreements
from results.published_figures import Series, Settings
from results.published_speedups import SpeedupCheck, check_speedups

FOLDER = Path(__file__).parent / "gallery"
NAMES = {
    "oneflow": "OneFlow",
    "ngc-mxnet": "NGC MXNet",
    "ngc-tensorflow": "NGC TensorFlow 1.x",
    "ngc-pytorch": "NGC PyTorch",
    "mxnet": "MXNet",
    "tensorflow": "TensorFlow 2.x",
    "pytorch": "PyTorch",
    "paddlepaddle": "PaddlePaddle",
    "mindspore": "MindSpore",
}
KINDS = {
    "value": "One figure, two values",
    "speedup": "Printed speedups that are not the ratio of their throughputs",
    "batch": "Batch sizes that are not those of the column's header",
    "source": "One implementation, two revisions of its source",
    "edition": "Results that the v1.0 report does not have",
    "odd": "As printed, and remarkable all the same",
}
MACHINES = "1 to 4 nodes with 8 V100-SXM2-16GB each"


def render_gallery(folder: Path = FOLDER) -> list[Path]:
    """Write the page and its plots into `folder`; returns what was written.

    The bytes depend on the published figures alone, so that a second rendering changes nothing.
    """
    series = published.dlperf_v1_series()
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "README.md"
    text = render_page(series, check_speedups(), find_disagreements())
    page.write_text(text, encoding="utf-8", newline="\n")
    return [page, *_plots(series, folder)]


def render_page(
    series: Sequence[Series], checks: Sequence[SpeedupCheck], findings: Sequence[Finding]
) -> str:
    """Render the Markdown page; whatever the figures say in words stays plain text."""
    made = environment()
    made.filters["place"] = _place
    made.filters["number"] = lambda value: "-" if value is None else f"{value:.2f}"
    made.filters["percent"] = lambda value: "-" if value is None else f"{value:.0%}"
    summary = [check for check in checks if check.figure.document == published.ROOT_README]
    return made.get_template("gallery.md.j2").render(
        published=published,
        machines=MACHINES,
        sections=[_section(part) for part in _by_precision(series)],
        summary=_summary(summary),
        summary_place=Place(summary[0].figure.document, summary[0].figure.line),
        checks=checks,
        wrong=sum(not check.agrees for check in checks),
        findings=[
            (KINDS[kind], list(group)) for kind, group in groupby(findings, lambda one: one.kind)
        ],
    )


def _by_precision(series: Sequence[Series]) -> list[list[Series]]:
    return [list(part) for _, part in groupby(series, lambda one: one.settings.precision)]


def _section(series: Sequence[Series]) -> dict[str, Any]:
    """Lay out one precision: columns are series, rows are nodes and devices."""
    settings = series[0].settings
    places: dict[Place, list[str]] = {}
    for one in series:
        point = next(iter(one.points.values()))
        places.setdefault(Place(point.document, point.line), []).append(_name(one.settings))
    return {
        "precision": settings.precision,
        "batch": published.HEADER_BATCH[settings.precision],
        "columns": [[_name(one.settings), *_options(one.settings)] for one in series],
        "rows": [
            (label, next(one.points[label] for one in series if label in one.points), series)
            for label in published.V1_LABELS
            if any(label in one.points for one in series)
        ],
        "places": [(place, list(dict.fromkeys(names))) for place, names in places.items()],
    }


def _summary(checks: Sequence[SpeedupCheck]) -> list[tuple[str, list[Any]]]:
    """Put the fp32 and amp cells of each implementation side by side, as the root README does."""
    rows = []
    for name in dict.fromkeys(check.figure.implementation for check in checks):
        own = [check for check in checks if check.figure.implementation == name]
        cells = [[one for one in own if one.figure.precision == kind] for kind in ("fp32", "amp")]
        for fp32, amp in zip_longest(*cells):
            pair = [(one, _options(one.figure.settings)) if one else None for one in (fp32, amp)]
            rows.append((NAMES.get(name, name), pair))
    return rows


def _name(settings: Settings) -> str:
    return NAMES.get(settings.implementation, settings.implementation)


def _options(settings: Settings) -> list[str]:
    """Name what sets a column apart, in DLPerf's words; NVIDIA's own always load with DALI."""
    options = ["w/XLA"] * settings.xla
    if settings.dali and not settings.implementation.startswith("ngc-"):
        options.append("w/DALI")
    if settings.batch_size != published.HEADER_BATCH[settings.precision]:
        options.append(f"bsz={settings.batch_size}")
    return options


def _plots(series: Sequence[Series], folder: Path) -> list[Path]:
    written = []
    for part in _by_precision(series):
        precision = part[0].settings.precision
        batch = published.HEADER_BATCH[precision]
        what = f"ResNet-50 v1.5 training, {precision.upper()}"
        where = f"DLPerf v1.0 (2020), MindSpore added later: {MACHINES}, batch {batch} unless noted"
        written += plot_throughput(
            [_line(one, [point.throughput for point in one.points.values()], []) for one in part],
            title=f"{what}: throughput",
            subtitle=where,
            path_stem=folder / f"throughput_{precision}",
        )
        written += plot_speedup(
            [
                _line(one, [one.speedup(label) or 0 for label in one.points], _efficiency(one))
                for one in part
            ],
            title=f"{what}: speedup over one device, and efficiency",
            subtitle=where,
            path_stem=folder / f"speedup_{precision}",
        )
    return written


def _line(series: Series, values: list[float], notes: list[str]) -> Line:
    devices = [point.devices for point in series.points.values()]
    note = ", ".join([*notes, *_options(series.settings)])
    return Line(_name(series.settings), devices, values, note=note)


def _efficiency(series: Series) -> list[str]:
    efficiency = series.efficiency(list(series.points)[-1])
    return [] if efficiency is None else [f"{efficiency:.0%}"]


def _place(place: Place) -> Markup:
    """Link to a place in DLPerf, at the commit that was read."""
    url = f"{published.DLPERF}/blob/{published.DLPERF_COMMIT}/{quote(place.document)}"
    if place.line is not None:
        url += f"?plain=1#L{place.line}"
    text = place.document if place.line is None else f"{place.document}:{place.line}"
    return Markup("[{}]({})").format(escaped(text), url)
