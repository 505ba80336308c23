"""What a log's figures say against its labels, and against what training can be."""

from collections.abc import Iterator

from results.logs.entry import Entry
from results.logs.facts import Facts
from results.logs.format import Format
from results.logs.uniform import LogWindow

# Figures and labels that lie further apart than this contradict each other.
TOLERANCE = 0.05
# No network has learned a thousand classes after so few steps.
EARLY_STEPS, EARLY_ACCURACY = 500, 0.9


def contradictions(window: LogWindow, facts: Facts, form: Format) -> Iterator[str]:
    """Yield what the printed figures say against what the log or its path says of the case."""
    implied = implied_batch(window, form)
    said = facts.batch_size if form.scope == "rank" else facts.job_batch
    if implied and said and abs(implied / said - 1) > TOLERANCE:
        text = f"rate and time fit {implied:.0f} images per step, not {said}"
        if facts.batch_size and form.scope == "job":
            text += f": {implied / facts.batch_size:.3g} devices, not {facts.world_size}"
        yield text
    for interval in window.intervals:
        entry = interval.entry
        if entry.loss == 0:
            yield f"line {entry.line}: a loss of exactly 0: this is no training on ImageNet"
            break
    for interval in window.intervals:
        accuracy = interval.entry.accuracy
        if accuracy is None or (interval.entry.step or 0) > EARLY_STEPS or interval.entry.epoch:
            continue
        if EARLY_ACCURACY < accuracy <= 1:
            yield (
                f"line {interval.entry.line}: an accuracy of {accuracy:.3g} so early: "
                "the data repeat, or are no ImageNet"
            )
            break


def implied_batch(window: LogWindow, form: Format) -> float | None:
    """Return the images per step that an entry's rate and time fit, the median over the window."""
    found = []
    for before, interval in zip((None, *window.intervals), window.intervals, strict=False):
        seconds = _seconds_beside_rate(before.entry if before else None, interval.entry, form)
        rate = interval.entry.rate
        if seconds and rate and interval.steps and not interval.begins:
            found.append(rate * seconds / interval.steps)
    return sorted(found)[len(found) // 2] if found else None


def _seconds_beside_rate(before: Entry | None, entry: Entry, form: Format) -> float | None:
    if entry.rate is None or form.covers == "all so far" or form.rate_counts == "steps":
        return None
    if entry.seconds is not None:
        return entry.seconds if form.covers == "since the last" else None
    if before is None or before.stamp is None or entry.stamp is None:
        return None
    seconds = entry.stamp - before.stamp
    return seconds if seconds > 0 else None
