"""What a log format says about itself: everything that differs from one to the next."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from results.errors import InputError

Pattern = re.Pattern[bytes]
Covers = Literal[
    "one step",
    "since the last",
    "mean since the last",
    "mean of the last 20",
    "all so far",
    "all so far or since the last",
]
# Where the time of an entry comes from.
Source = Literal["seconds", "rate", "stamp"]
Scope = Literal["rank", "process", "job"]
# The groups that a `step` pattern can have.
GROUPS = (
    "epoch", "index", "since", "until", "seconds", "ms", "step_ms", "mean", "rate", "stamp",
    "clock", "loss", "accuracy", "wait", "rank",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class Format:
    """A log format, declared.

    `step` matches one entry: the line that says that a step (or several) is done. Its groups have
    these names, each where the format prints it:

    epoch, index     which step, counted from `first` on in each epoch
    since, until     the step numbers of the whole run between which the entry lies
    seconds, ms      time of the entry, in seconds or milliseconds
    step_ms          milliseconds per step, beside the time of all its steps in `seconds` or `ms`
    mean             running mean of `seconds` over the epoch, this step with it
    rate             images per second, or steps per second where `rate_counts` says so
    stamp, clock     when it was printed: seconds since some moment, or date and time of day
    wait             seconds that the step waited for its data
    loss, accuracy   as printed
    rank             which rank printed it (what a launcher puts before a line is known anyway)

    `covers` says which steps `seconds` or `rate` are about: the one that is named; those since the
    entry before (`seconds` being their sum, or their mean); or, as a mean, the last twenty or all
    of the epoch up to here, from the index `mean_from` on. Where releases that print alike differ
    in that, the stamps decide. `only_training` is set where the time never holds what lies between
    two epochs, `rates_averaged` where a rate over several steps is the mean of theirs. `scope` says
    whose figures they are: a rate counts the images of one device (`rank`), of all devices of the
    process that prints, or of the job; a time is that of a rank, or of the job where it is for all
    ranks together. `sources` are the times that are taken, the best first.

    `unprinted` is how many steps at the beginning of a run are never printed.

    `first_alone` is set where only the first of a job's processes prints, so that the other nodes'
    logs have no step. `no_gpu` matches what says that it trains on the CPU though there are GPUs.

    `hints` are literals of which every log of the format has one; the first stands in every entry,
    and hardly anywhere else. `key` matches a line before an entry that names its epoch, index and
    loss, where the entry itself does not. `facts` find what the log says about its case, one group
    each; the names are those of `results.logs.facts.Facts`. `begin` matches what is printed once
    when a run begins, `rank_begin` what each rank prints when it begins, its number as a group;
    `pause` what is printed when training halts (validation, a checkpoint); `other` lines that are
    no training, for a log that has only those; `void` a line that says that nothing was measured.
    Where a log has lines of two formats, one named in `yields_to` is read.

    Patterns begin with a literal and have no unbounded repetition, so that a line of any length
    takes linear time.
    """

    name: str
    hints: tuple[bytes, ...]
    step: Pattern
    covers: Covers
    sources: tuple[Source, ...]
    scope: Scope = "job"
    mean_from: int = 0
    rates_averaged: bool = False
    only_training: bool = False
    first_alone: bool = False
    unprinted: int = 0
    rate_counts: Literal["images", "steps"] = "images"
    first: int = 0
    facts: Mapping[str, Pattern] = field(default_factory=dict)
    key: Pattern | None = None
    begin: Pattern | None = None
    rank_begin: Pattern | None = None
    pause: Pattern | None = None
    other: Pattern | None = None
    void: Pattern | None = None
    no_gpu: Pattern | None = None
    yields_to: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise `InputError` for what no log could be read with."""
        for field_name, values, known in (
            ("covers", (self.covers,), get_args(Covers)),
            ("scope", (self.scope,), get_args(Scope)),
            ("sources", self.sources, get_args(Source)),
            ("the groups of step", tuple(self.step.groupindex), GROUPS),
        ):
            for value in values:
                if value not in known:
                    raise InputError(
                        f"format {self.name}: {field_name} cannot be {value!r}: take one of "
                        f"{', '.join(known)}."
                    )
        if not self.hints or not self.sources:
            raise InputError(f"format {self.name}: it needs hints and sources.")

    def recognises(self, block: bytes) -> bool:
        """Tell whether a part of a log has an entry of this format, or a line that is none."""
        for hint in self.hints:
            if hint in block:
                found = self.step.search(block) or (self.other and self.other.search(block))
                return found is not None
        return False
