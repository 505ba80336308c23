"""The figures that DLPerf and NVIDIA published, typed, and DLPerf's v1.0 edition of them.

Where each file comes from: `results/published/README.md`.
"""

from collections.abc import Iterable
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from results.errors import InputError
from results.published_csv import read_rows

FOLDER = Path(__file__).parent / "published"

DLPERF = "https://github.com/Oneflow-Inc/DLPerf"
DLPERF_COMMIT = "c89430bac64f64caabb0445ff7eb80175641454c"
NVIDIA = "https://github.com/NVIDIA/DeepLearningExamples"
NVIDIA_COMMIT = "729963dd47e7c8bd462ad10bfac7a7b0b604e6dd"

V1_REPORT = "reports/dlperf_benchmark_test_report_v1.md"
ROOT_README = "README.md"
MINDSPORE_README = "MindSpore/resnet50v1.5/README.md"
V1_LABELS = ("1n1g", "1n8g", "2n8g", "4n8g")
# Images per device in the column headers of both the root README and the v1.0 report.
HEADER_BATCH = {"fp32": 128, "amp": 256}


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What two published figures share when they scale into each other."""

    implementation: str
    framework_version: str
    precision: Literal["fp32", "amp"]
    xla: bool
    dali: bool | None  # None: synthetic data, or a text model
    batch_size: int  # samples per device


class PublishedFigure(msgspec.Struct, frozen=True, kw_only=True):
    """One cell of a table in DLPerf.

    `throughput` is that of the whole job, in images/s (BERT: sentences/s). `speedup` is what
    the document prints, with its digits; None where it prints none. `line` is that of the
    table's header row in `document`, a path in DLPerf at `DLPERF_COMMIT`.
    """

    implementation: str
    framework_version: str
    precision: Literal["fp32", "amp"]
    xla: bool
    dali: bool | None
    batch_size: int = msgspec.field(name="batch_size_per_device")
    nodes: int
    devices_per_node: int
    throughput: float
    speedup: Decimal | None = None
    document: str
    line: int
    note: str = ""

    @property
    def label(self) -> str:
        """Nodes and devices per node as DLPerf writes them, such as `4n8g`."""
        return f"{self.nodes}n{self.devices_per_node}g"

    @property
    def devices(self) -> int:
        """Devices of the whole job."""
        return self.nodes * self.devices_per_node

    @property
    def settings(self) -> Settings:
        """All that makes two figures of different size belong together."""
        return Settings(**{name: getattr(self, name) for name in Settings.__struct_fields__})

    @property
    def is_single_run(self) -> bool:
        """Whether this is one run, and not the median of several."""
        return self.note.startswith("individual run")


class PublishedRepeat(msgspec.Struct, frozen=True, kw_only=True):
    """One repeat of one case, in images/s, as a document prints it beside its tables."""

    implementation: str
    precision: Literal["fp32", "amp"]
    xla: bool
    dali: bool
    batch_size: int = msgspec.field(name="batch_size_per_device")
    nodes: int
    devices_per_node: int
    repeat: int
    throughput: float
    document: str


class NvidiaFigure(msgspec.Struct, frozen=True, kw_only=True):
    """One of NVIDIA's own ResNet-50 figures on one node, in images/s; None is "not stated"."""

    implementation: str
    container: str | None = None
    gpu: str
    gpus: int
    nodes: int
    precision: Literal["fp32", "tf32", "amp"]
    xla: bool | None = None
    dali: bool | None = None
    batch_size: int | None = msgspec.field(name="batch_size_per_device", default=None)
    throughput: float
    speedup: Decimal | None = msgspec.field(name="speedup_weak_scaling", default=None)
    document: str
    line: int
    note: str = ""


class PublishedSource(msgspec.Struct, frozen=True, kw_only=True):
    """The repository and revision that a document names as an implementation's source."""

    implementation: str
    repository: str
    revision: str
    document: str
    line: int


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """One implementation with one set of options, over its numbers of devices.

    `points` maps labels such as `4n8g` to the published figure (images/s, with its source).
    """

    settings: Settings
    points: dict[str, PublishedFigure]

    def speedup(self, label: str) -> float | None:
        """Throughput over this series' own 1n1g; None where either is not published."""
        point, base = self.points.get(label), self.points.get("1n1g")
        return point.throughput / base.throughput if point and base else None

    def efficiency(self, label: str) -> float | None:
        """Speedup per device: 1.0 is ideal. None where there is no speedup."""
        speedup = self.speedup(label)
        return None if speedup is None else speedup / self.points[label].devices


@cache
def load_resnet50() -> tuple[PublishedFigure, ...]:
    """Every cell of DLPerf's ResNet-50 tables."""
    return read_rows(FOLDER / "resnet50_tables.csv", PublishedFigure)


@cache
def load_resnet50_repeats() -> tuple[PublishedRepeat, ...]:
    """Every repeat that eight of DLPerf's documents print."""
    return read_rows(FOLDER / "resnet50_repeats.csv", PublishedRepeat)


@cache
def load_resnet50_sources() -> tuple[PublishedSource, ...]:
    """Which revision of which repository each document says was measured."""
    return read_rows(FOLDER / "resnet50_sources.csv", PublishedSource)


@cache
def load_bert() -> tuple[PublishedFigure, ...]:
    """Every cell of DLPerf's BERT base tables, in sentences/s."""
    return read_rows(FOLDER / "bert_tables.csv", PublishedFigure)


@cache
def load_nvidia_resnet50() -> tuple[NvidiaFigure, ...]:
    """NVIDIA's own ResNet-50 training figures, at `NVIDIA_COMMIT`."""
    return read_rows(FOLDER / "nvidia_resnet50_tables.csv", NvidiaFigure)


def series_of(figures: Iterable[PublishedFigure]) -> list[Series]:
    """Group the figures of one edition into series, in order of appearance.

    Raises `InputError` when one cell is given twice.
    """
    grouped: dict[Settings, dict[str, PublishedFigure]] = {}
    for figure in figures:
        points = grouped.setdefault(figure.settings, {})
        if figure.label in points:
            raise InputError(
                f"{figure.document}, line {figure.line}: {figure.implementation} "
                f"{figure.precision} {figure.label} is there twice, with {figure.throughput} "
                f"images/s the second time; keep one of them in the published figures"
            )
        points[figure.label] = figure
    return [Series(settings=settings, points=points) for settings, points in grouped.items()]


def dlperf_v1_series() -> list[Series]:
    """DLPerf's v1.0 edition, columns as in its report, 1n1g to 4n8g.

    The report covers eight implementations. MindSpore came later and stands in the root README
    (4n8g only), so that its series, the last of each precision, is from its own document.
    """
    figures = load_resnet50()
    report = [figure for figure in figures if figure.document == V1_REPORT]
    mindspore = [
        figure
        for figure in figures
        if figure.document == MINDSPORE_README and figure.label in V1_LABELS
    ]
    return sorted(
        series_of([*report, *mindspore]), key=lambda one: one.settings.precision != "fp32"
    )


def readme_table() -> tuple[PublishedFigure, ...]:
    """Every cell of the summary in DLPerf's root README: 4n8g, with the printed speedup."""
    return tuple(figure for figure in load_resnet50() if figure.document == ROOT_README)


def published_for(implementation: str, precision: str, label: str) -> tuple[Series, ...]:
    """Every v1.0 series that has a figure for this; read it with `points[label]`.

    Empty where DLPerf published none: there is no `amp` for `pytorch`, for one. More than one
    where it published several options (`ngc-tensorflow` amp is there with and without XLA).
    """
    return tuple(
        series
        for series in dlperf_v1_series()
        if series.settings.implementation == implementation
        and series.settings.precision == precision
        and label in series.points
    )
