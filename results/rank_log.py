"""What one log says: the steps of one rank, and how it ended."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def _no_floats() -> Floats:
    return np.empty(0)


@dataclass(frozen=True, kw_only=True)
class RankLog:
    """The steps of one rank, in the units of the `uniform` rule.

    `ends`: end of each step in seconds on the rank's own clock, shape (steps,), rising;
    `losses` and `waits` (seconds a step waited for its data) have the same shape, or are empty
    where the format has none. `global_batch` is in images per step of the whole job. `status`
    is how the rank said it ended, empty where it did not say; `reason` is why it aborted.
    """

    format: str
    rank: int | None = None
    world_size: int | None = None
    global_batch: int | None = None
    parameters: int | None = None
    weights_checksum: str = ""
    framework_version: str = ""
    device_name: str = ""
    ends: Floats = field(default_factory=_no_floats)
    losses: Floats = field(default_factory=_no_floats)
    waits: Floats = field(default_factory=_no_floats)
    status: Literal["success", "aborted", ""] = ""
    reason: str = ""
