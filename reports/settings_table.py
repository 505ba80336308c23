"""With which settings a run was made: what all its cases have in common, and what differs."""

from reports.numbers import NOTHING
from results.case import Case
from results.record import framework_facts
from results.summary import RunSummary


def setting_line(run: RunSummary) -> str:
    """Return what all cases of a run have in common, in one line."""
    told = [_told(run, case) for case in run.run.record.cases]
    return ", ".join(
        words
        for what, words in told[0].items()
        if words and all(one[what] == words for one in told)
    )


def settings_table(run: RunSummary) -> tuple[list[str], list[list[str]]]:
    """Return headings and a row for each variant: what differs between them."""
    told = {name: _told(run, cases[0].case) for name, cases in run.variants.items()}
    differs = [
        what
        for what in next(iter(told.values()))
        if len({words[what] for words in told.values()}) > 1
    ]
    rows = [[name, *(words[what] or NOTHING for what in differs)] for name, words in told.items()]
    return ["variant", *differs], rows


def _told(run: RunSummary, case: Case) -> dict[str, str]:
    facts = framework_facts(run.run.record.environment, case.implementation)
    title = facts.get("title", case.implementation)
    amp = f" ({case.amp_dtype})" if case.amp_dtype else ""
    through = f" over {case.backend}" if case.backend else ""
    return {
        "framework": f"{title} {facts.get('version', '')}",
        "precision": f"{case.precision}{amp}",
        "batch": f"batch {case.batch_size} per device",
        "image size": f"{case.image_size} px",
        "input": f"JPEGs by {case.loader}" if case.data == "jpeg" else "synthetic data",
        "layout": case.layout,
        "strategy": f"{case.strategy}{through}",
        "compiler": "compiled" if case.compile else "",
        "window": f"{case.warmup} + {case.steps} steps",
    }
