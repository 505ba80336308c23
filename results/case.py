"""A case: what is trained, on how many devices, and with which settings."""

from typing import Annotated, Literal

import msgspec

Device = Literal["cpu", "cuda"]
Precision = Literal["fp32", "tf32", "amp"]
Data = Literal["jpeg", "synthetic"]
Layout = Literal["channels_last", "channels_first"]
AmpDtype = Literal["", "bf16", "fp16"]


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One combination of implementation, devices and settings.

    `batch_size` is in images per device, `image_size` in pixels (a square), `threads` and
    `workers` count compute threads and loader processes (or threads) of one rank; `warmup`
    steps are dropped and `steps` are timed. `backend` is what ranks talk through, empty in the
    records of versions that did not say; with `one_process` one process drives all devices.
    `log_format` is the format of what an upstream script prints, empty for our own scripts.
    """

    implementation: str
    nodes: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    devices: Annotated[int, msgspec.Meta(ge=1, le=1_000)]
    device: Device
    batch_size: Annotated[int, msgspec.Meta(ge=1)]
    precision: Precision
    amp_dtype: AmpDtype = ""
    image_size: Annotated[int, msgspec.Meta(ge=1)]
    data: Data
    loader: str
    workers: int
    threads: int
    layout: Layout
    compile: bool = False
    strategy: str
    backend: str = ""
    one_process: bool = False
    log_format: str = ""
    warmup: Annotated[int, msgspec.Meta(ge=0)]
    steps: Annotated[int, msgspec.Meta(ge=1)]
    emulated: bool = False

    @property
    def label(self) -> str:
        """Nodes and devices per node as DLPerf writes them, such as `4n8g`."""
        return f"{self.nodes}n{self.devices}g"

    @property
    def world_size(self) -> int:
        """Devices of the whole job."""
        return self.nodes * self.devices

    @property
    def ranks(self) -> int:
        """Processes of the whole job, each with a log of its own."""
        return 1 if self.one_process else self.world_size

    @property
    def global_batch(self) -> int:
        """Images per step of the whole job."""
        return self.world_size * self.batch_size

    @property
    def stem(self) -> str:
        """The case's part of a file name in DLPerf's form: `r50_b128_fp32`, then what differs."""
        parts = [f"r50_b{self.batch_size}_{self.precision}"]
        if self.precision == "amp":
            parts.append(self.amp_dtype)
        parts.append(self.loader if self.data == "jpeg" else "synthetic")
        if self.layout == "channels_first":
            parts.append("nchw")
        if self.compile:
            parts.append("compile")
        if self.backend:
            parts += [self.strategy, self.backend]
        return "_".join(parts)

    @property
    def folder(self) -> str:
        """The case's folder inside a run, such as `pytorch/4n8g/r50_b128_fp32_synthetic`."""
        return f"{self.implementation}/{self.label}/{self.stem}"

    @property
    def settings(self) -> "Case":
        """The case on one device: two cases that scale into each other have equal settings."""
        return msgspec.structs.replace(self, nodes=1, devices=1, emulated=False)
