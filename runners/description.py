"""The keys of a `benchmark.toml`: what an implementation is, supports, and is started by."""

from typing import Annotated, Literal, TypeVar

import msgspec

from results.case import AmpDtype, Device, Layout, Precision
from runners.upstream import Upstream

T = TypeVar("T")
# A list with a first element, which is the default.
Choices = Annotated[list[T], msgspec.Meta(min_length=1)]


class Support(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an implementation can do on one kind of device; the first of each list is the default.

    `workers` is the number of loader processes or threads per rank; `environment` are variables
    set for every rank, those of `precision_environment` with a precision; the framework's compiler
    needs one of `compiler_tools`. `batch_sizes` and `precision_layouts` are the defaults of a
    precision, where it has its own; another layout than that is not to be had with it.
    """

    precisions: Choices[Precision]
    amp_dtypes: list[AmpDtype]
    loaders: Choices[str]
    layouts: Choices[Layout]
    workers: int
    environment: dict[str, str] = {}
    precision_environment: dict[Precision, dict[str, str]] = {}
    batch_sizes: dict[Precision, Annotated[int, msgspec.Meta(ge=1)]] = {}
    precision_layouts: dict[Precision, Layout] = {}
    compiler_tools: list[str] = []

    @property
    def environments(self) -> list[dict[str, str]]:
        """All variables that it may set."""
        return [self.environment, *self.precision_environment.values()]

    def layouts_with(self, precision: Precision) -> list[Layout]:
        """Return the layouts that go with a precision, the default first."""
        own = self.precision_layouts.get(precision)
        return [own] if own else self.layouts


class Build(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Locked packages that are built from source here, after the others and with them at hand.

    `environment` are variables set for their builds, which need the programs in `tools`, and come
    out otherwise where those in `optional_tools` are at hand. `patches` names the patch that a
    package's source is changed with before.
    """

    packages: list[str] = []
    patches: dict[str, str] = {}
    environment: dict[str, str] = {}
    tools: list[str] = []
    optional_tools: list[str] = []


class Elsewhere(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An environment that no lock makes: what holds it, or why it is not to be had.

    `version` is the framework's in it. `container` is an image that holds it, and `gone` says why
    none can be made any more: it is for a Python that the user names then.
    """

    version: str
    container: str = ""
    gone: str = ""


class Launch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What starts a job, and what an upstream script is told then; as in `Strategy`."""

    start: list[str] = []
    program: str = ""
    arguments: list[str] = []


class Strategy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How ranks are kept in step, and what starts them.

    `start` is the launcher and its arguments after the interpreter, or after the `program` that is
    executed instead of it, started on each node, or once for the job, `per` which it is; `backends`
    are what ranks can talk through on each kind of device, the first of which is the default: a
    device that is not there cannot be trained on so. With `one_process` one process drives all
    devices of the only node, with `one_device` there is but one device. `requirements` is the
    hash-locked file of what it needs beside the implementation's: it has its own environment then,
    as it has where that is `elsewhere`. `arguments` are the upstream script's, those of `one_node`
    and `more_nodes` where the job has one node, or more. A job of `one_device`, or of `one_node`,
    is started and told otherwise where `instead` says so.
    `unavailable` says of a loader, or of `compile`, why it cannot be had with this strategy.
    """

    start: list[str]
    program: str = ""
    arguments: list[str] = []
    one_node: list[str] = []
    more_nodes: list[str] = []
    instead: dict[Literal["one_device", "one_node"], Launch] = {}
    backends: Annotated[dict[Device, Choices[str]], msgspec.Meta(min_length=1)]
    per: Literal["node", "job"] = "node"
    one_process: bool = False
    one_device: bool = False
    requirements: str = ""
    elsewhere: Elsewhere | None = None
    unavailable: dict[str, str] = {}

    @property
    def environment(self) -> object:
        """What tells its environment from the others'; nothing where it is the common one."""
        return self.requirements or self.elsewhere

    @property
    def upstream_arguments(self) -> list[str]:
        """Everything that an upstream script may be told with it."""
        others = [text for one in self.instead.values() for text in one.arguments]
        return [*self.arguments, *self.one_node, *self.more_nodes, *others]

    @property
    def starts(self) -> list[str]:
        """Everything that a launcher may be told."""
        return [*self.start, *(text for one in self.instead.values() for text in one.start)]

    def launch(self, nodes: int, devices: int) -> Launch:
        """Return what starts a job of so many nodes with so many devices each."""
        own = Launch(start=self.start, program=self.program, arguments=self.arguments)
        if nodes == 1:
            own = self.instead.get("one_node", own)
            own = self.instead.get("one_device", own) if devices == 1 else own
        return own


class Description(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of `benchmark.toml`.

    The first `strategy` is the default; `published` names DLPerf's implementations that a run is
    set beside, the nearest first. `unavailable` says of a device, a strategy or the like why it
    cannot be had, or not yet. `forms` names the form that a loader reads, where it reads another
    than folders of images (runners/forms). With `own_address`, two nodes at one address are taken
    for one, so emulated nodes get a network namespace each. `backend_tools` names the program that
    a backend needs on PATH, and `build` what is built from source here. With `upstream` the script
    is not ours: it lies in another repository. Its environment is made of `requirements` on
    `python`, or is `elsewhere`.
    """

    name: str
    title: str
    network: str
    script: str
    python: str = ""
    requirements: str = ""
    elsewhere: Elsewhere | None = None
    framework: str
    strategy: Annotated[dict[str, Strategy], msgspec.Meta(min_length=1)]
    compiler: str = ""
    published: list[str] = []
    own_address: bool = False
    backend_tools: dict[str, str] = {}
    build: Build = Build()
    forms: dict[str, str] = {}
    unavailable: dict[str, str] = {}
    upstream: Upstream | None = None
    on: Annotated[dict[Device, Support], msgspec.Meta(min_length=1)]

    def __post_init__(self) -> None:
        """Refuse an environment that is neither locked nor elsewhere."""
        if self.elsewhere and (self.python or self.requirements):
            raise ValueError("what is elsewhere has no python and no requirements")
        if not self.elsewhere and not (self.python and self.requirements):
            raise ValueError("python and requirements are needed, or elsewhere")

    def strategies_on(self, device: Device) -> list[str]:
        """Return the strategies that a kind of device has, the default first."""
        return [name for name, one in self.strategy.items() if device in one.backends]

    def form_of(self, loader: str) -> str:
        """Return the form that a loader reads; empty for folders of images."""
        return self.forms.get(loader, "")
