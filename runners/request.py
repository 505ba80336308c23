"""What a user asks `dlscale bench` for, before it meets a machine."""

from typing import Literal

import msgspec

MAX: Literal["max"] = "max"


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `dlscale bench`; None where the default depends on the machine.

    Sizes: `batch_size` in images per device, or `max` for the largest that trains; `image_size` in
    pixels, `warmup` and `steps` in optimiser updates, `timeout` in seconds per repeat.
    """

    framework: str
    edition: str = ""
    nodes: int = 1
    devices: int | None = None
    cases: list[str] | None = None
    device: str | None = None
    batch_size: int | Literal["max"] | None = None
    precision: str = "fp32"
    amp_dtype: str | None = None
    image_size: int | None = None
    warmup: int | None = None
    steps: int | None = None
    repeats: int | None = None
    data: str | None = None
    loader: str | None = None
    workers: int | None = None
    layout: str | None = None
    compile: bool = False
    strategy: list[str] | None = None
    backend: list[str] | None = None
    hostfile: str | None = None
    interpreter: str = ""
    any_version: bool = False
    timeout: float = 1800.0
    seed: int = 0
