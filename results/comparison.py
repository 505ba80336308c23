"""A run beside the figures that DLPerf published, per device and in scaling efficiency."""

from dataclasses import dataclass
from typing import Any

from results.case import Case
from results.published_figures import Series, published_for
from results.record import framework_facts, section
from results.statistics import Estimate
from results.summary import CaseSummary, RunSummary

# DLPerf's README: 4 nodes of 8 V100-SXM2-16GB each, 100 Gbit/s InfiniBand.
PUBLISHED_MACHINE = "up to 4 nodes x 8 V100-SXM2-16GB, 100 Gbit/s InfiniBand"
PUBLISHED_IMAGE_SIZE = 224
PUBLISHED_WINDOW = (20, 100)


@dataclass(frozen=True)
class Row:
    """One case beside its published figure; the published fields are None where there is none.

    `per_device` and `published_per_device` are images/s per device, `ratio` is the one over the
    other; efficiencies are speedup over the ratio of devices.
    """

    summary: CaseSummary
    published: Series | None
    published_throughput: float | None = None
    published_efficiency: float | None = None

    @property
    def per_device(self) -> float | None:
        """Images per second and device of the run."""
        throughput = self.summary.throughput
        return throughput.value / self.summary.case.world_size if throughput else None

    @property
    def published_per_device(self) -> float | None:
        """Images per second and device as published."""
        if self.published_throughput is None:
            return None
        return self.published_throughput / self.summary.case.world_size

    @property
    def ratio(self) -> float | None:
        """How many times as fast per device as published."""
        ours, theirs = self.per_device, self.published_per_device
        return ours / theirs if ours is not None and theirs else None

    @property
    def efficiency(self) -> Estimate | None:
        """Scaling efficiency of the run."""
        return self.summary.efficiency


@dataclass(frozen=True)
class Comparison:
    """A run and the published figures: `differences` say what is not comparable."""

    run: RunSummary
    machine: str
    rows: tuple[Row, ...]
    differences: tuple[str, ...]


def compare_with_published(run: RunSummary) -> Comparison:
    """Set each case of a run beside the published figure with the same nodes and devices."""
    environment = run.run.record.environment
    machine = describe_machine(environment)
    rows = [_row(summary, environment) for summary in run.cases]
    found = [f"machine: {machine}; published: {PUBLISHED_MACHINE}"]
    if any(one.emulated for one in run.run.record.cases):
        found.append("the run's nodes are emulated on one machine: its scaling is not a cluster's")
    if "sample_seed" in section(environment, "data"):
        found.append("input: dlscale's sample of generated JPEGs; published: ImageNet")
    by_name: dict[str, list[str]] = {}
    for name, cases in run.variants.items():
        case = cases[0].case
        series = next((r.published for r in rows if r.summary in cases and r.published), None)
        version = framework_facts(environment, case.implementation).get("version", "unknown")
        by_name[name] = _differences(case, series, str(version))
    return Comparison(run, machine, tuple(rows), (*found, *_named_where_several(by_name)))


def _named_where_several(by_name: dict[str, list[str]]) -> list[str]:
    """Return what differs, once where it holds for all, else with the names before it."""
    found = []
    for difference in dict.fromkeys(one for some in by_name.values() for one in some):
        names = [name for name, some in by_name.items() if difference in some]
        found.append(
            difference if len(names) == len(by_name) else f"{', '.join(names)}: {difference}"
        )
    return found


def describe_machine(environment: dict[str, Any]) -> str:
    """Return the machine of a run's record in a few words."""
    machine = section(environment, "machine")
    if not machine:
        return "unknown machine"
    gpus = [str(gpu.get("name")) for gpu in _listed(machine.get("gpus")) if isinstance(gpu, dict)]
    parts = [f"{gpus.count(name)} x {name}" for name in sorted(set(gpus))]
    parts.append(f"{machine.get('processor')} ({machine.get('cores')} cores)")
    return ", ".join(parts)


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _row(summary: CaseSummary, environment: dict[str, Any]) -> Row:
    case = summary.case
    facts = framework_facts(environment, case.implementation)
    names = [str(name) for name in _listed(facts.get("published"))]
    precision = "amp" if case.precision == "amp" else "fp32"
    for name in names:
        for series in published_for(name, precision, case.label):
            figure = series.points[case.label]
            return Row(summary, series, figure.throughput, series.efficiency(case.label))
    return Row(summary, None)


def _differences(case: Case, series: Series | None, version: str) -> list[str]:
    """Say which settings keep the two from being compared directly, the gravest first."""
    found = []
    if case.device == "cpu":
        found.append("device: a CPU rank; published: a GPU")
    if case.compile:
        found.append("compiler: switched on; published: not")
    if case.image_size != PUBLISHED_IMAGE_SIZE:
        found.append(f"image size: {case.image_size} px; published: {PUBLISHED_IMAGE_SIZE} px")
    if case.data == "synthetic":
        found.append("input: synthetic; published: JPEGs of ImageNet")
    if series:
        batch = series.settings.batch_size
        if case.batch_size != batch:
            found.append(f"batch per device: {case.batch_size}; published: {batch}")
        if case.implementation != series.settings.implementation:
            other = series.settings.implementation
            found.append(f"implementation: {case.implementation}; published: {other}")
        if version != series.settings.framework_version:
            found.append(f"framework: {version}; published: {series.settings.framework_version}")
        loader = "DALI" if series.settings.dali else "the framework's own loader"
        found.append(f"loader: {case.loader or 'none'}; published: {loader}")
    if case.precision == "tf32":
        found.append("precision: tf32; published: fp32")
    if case.amp_dtype == "bf16":
        found.append("16-bit type: bf16; published: fp16")
    if (case.warmup, case.steps) != PUBLISHED_WINDOW:
        was = " + ".join(map(str, PUBLISHED_WINDOW))
        found.append(f"window: {case.warmup} + {case.steps} steps; published: mostly {was}")
    found.append(
        "rule: work over time for all; published: each implementation by a rule of its own"
    )
    return found
