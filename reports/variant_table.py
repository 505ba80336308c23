"""Throughput in DLPerf's form: a row for each size, a column for each implementation."""

from reports.numbers import NOTHING, rate
from results.summary import RunSummary


def variant_table(run: RunSummary) -> tuple[list[str], list[list[str]]]:
    """Return headings and rows of the medians in images/s; emulated nodes are called so."""
    by_size = {(one.case.label, name): one for name, cases in run.variants.items() for one in cases}
    rows = []
    for label in dict.fromkeys(case.label for case in run.run.record.cases):
        found = [by_size.get((label, name)) for name in run.variants]
        case = next(one.case for one in found if one)
        nodes = f"{case.nodes} (emulated)" if case.emulated else str(case.nodes)
        rates = [rate(one.throughput.value) if one and one.throughput else NOTHING for one in found]
        rows.append([nodes, str(case.world_size), *rates])
    return ["nodes", "devices", *run.variants], rows
