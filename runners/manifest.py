"""An implementation's `benchmark.toml`: what it is, what it supports, how it is started."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec

import benchmarks
from results.case import AmpDtype, Device, Layout, Precision
from results.errors import InputError
from results.formats import formats
from runners.container import Container
from runners.forms.registry import FORMS
from runners.given_interpreter import Interpreter
from runners.upstream import Upstream

MANIFEST = "benchmark.toml"
COMMON = Path(next(iter(benchmarks.__path__))) / "common"
_UPSTREAM = COMMON.with_name("upstream")
# The edition of upstream scripts that a name is looked for in where none is asked for.
TODAY = "today"
_NAME = re.compile(r"(?!interrupted$)[A-Za-z0-9][A-Za-z0-9_.-]{0,60}")
# What can stand in braces in `start` and `environment`; runners/command.py fills it in.
PLACES = [
    *("folder", "nodes", "node_rank", "devices", "ranks", "threads", "backend"),
    *("master_address", "master_port", "hosts", "python", "packages"),
    *("node_address", "addresses", "endpoints", "device_ids"),
]
# What can stand in braces in the arguments of an upstream script, too.
UPSTREAM_PLACES = [
    *("data", "data_root", "batch", "node_batch", "global_batch", "image_size", "workers"),
    *("node_workers", "total_steps", "more_steps", "images", "learning_rate"),
    *("node_learning_rate", "checkout", "shards"),
]

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


@dataclass(frozen=True)
class Manifest:
    """A description and the folder it stands in.

    `strategy` names one that has an environment of its own, and then stands for all with that
    environment; it is empty for the environment that the others have in common. An `interpreter`
    that the user names takes the place of all its environments, and so does the one in a
    `container`, once that is looked into.
    """

    folder: Path
    about: Description
    strategy: str = ""
    interpreter: Interpreter | None = None
    container: Container | None = None

    def for_strategy(self, name: str) -> "Manifest":
        """Return the implementation with the environment of one of its strategies."""
        if self.is_there:
            return self
        strategies = self.about.strategy
        own = strategies[name].environment
        alike = [one for one, strategy in strategies.items() if strategy.environment == own]
        return replace(self, strategy=alike[0] if own else "")

    @property
    def is_there(self) -> bool:
        """Whether its environment is none that is built: an interpreter or a container."""
        return self.interpreter is not None or self.container is not None

    @property
    def environments(self) -> list["Manifest"]:
        """The implementation with each of its environments."""
        every = [self.for_strategy(name) for name in self.about.strategy]
        return list({one.environment_name: one for one in every}.values())

    @property
    def environment_name(self) -> str:
        """What its environment is called: `pytorch`, or `pytorch+horovod`, which no folder is."""
        return f"{self.about.name}+{self.strategy}" if self.strategy else self.about.name

    @property
    def elsewhere(self) -> Elsewhere | None:
        """What holds its environment where no lock makes it."""
        own = self.about.strategy[self.strategy].elsewhere if self.strategy else None
        return own or self.about.elsewhere

    @property
    def lock(self) -> Path:
        """The hash-locked requirements file."""
        return self.folder / self.about.requirements

    @property
    def lock_text(self) -> str:
        """What is locked for its environment: the file, and what its strategy needs beside it."""
        if not self.about.requirements:
            return ""
        text = self.lock.read_text()
        own = self.about.strategy[self.strategy].requirements if self.strategy else ""
        if own:
            known = _pins(text)
            text = f"{text.rstrip()}\n" + _part(
                (self.folder / own).read_text(), lambda name: name not in known
            )
        return text

    @property
    def built(self) -> list[str]:
        """Packages of its environment that are built from source."""
        return [name for name in self.about.build.packages if name in self.pins]

    @property
    def patches(self) -> dict[str, Path]:
        """The files that the sources of some of them are changed with."""
        patches = self.about.build.patches
        return {name: self.folder / patches[name] for name in self.built if name in patches}

    @property
    def upstream_patch(self) -> Path | None:
        """The file that an upstream script is changed with."""
        upstream = self.about.upstream
        return self.folder / upstream.patch if upstream and upstream.patch else None

    @property
    def upstream_source(self) -> str:
        """What is pinned of a script that is not ours, and what it is changed by."""
        upstream = self.about.upstream
        if upstream is None:
            return ""
        if upstream.package:
            return f"PyPI's {upstream.package} {self.pins.get(upstream.package, '-')}"
        changed = f", changed by {upstream.patch}" if upstream.patch else ""
        return f"{upstream.repository} at commit {upstream.commit}{changed}"

    @property
    def version(self) -> str:
        """The version of the framework that is run; `-` where nothing says which."""
        if self.interpreter:
            return self.interpreter.version_of(self.about.framework) or "-"
        return self.pinned_version

    @property
    def pinned_version(self) -> str:
        """The framework's version that is locked, or that is elsewhere."""
        elsewhere = self.elsewhere
        return elsewhere.version if elsewhere else self.pins.get(self.about.framework, "-")

    @property
    def pins(self) -> dict[str, str]:
        """Every locked package and its version."""
        return _pins(self.lock_text)

    def site_packages(self, python: Path) -> Path:
        """Return where an environment's packages lie, by its interpreter."""
        if self.interpreter:
            return self.interpreter.site_packages
        if self.elsewhere:  # not looked at yet
            return Path("PACKAGES")
        return python.parents[1] / f"lib/python{self.about.python}/site-packages"

    def locked(self, wanted: Callable[[str], bool]) -> str:
        """Return the lines of the lock but those of the packages that are not wanted."""
        return _part(self.lock_text, wanted)


def implementations(edition: str = "") -> list[str]:
    """Return the names of the implementations that come with dlscale, in order.

    Of an edition they are upstream scripts; `InputError` where there is no such edition.
    """
    if edition and edition not in editions():
        raise InputError(
            f"EDITION={edition!r} is none of {', '.join(editions())}: choose of these."
        )
    return sorted(path.parent.name for path in _home(edition).glob(f"*/{MANIFEST}"))


def editions() -> list[str]:
    """Return the editions of upstream scripts: each pins commits and versions of one time."""
    return sorted({path.parents[1].name for path in _UPSTREAM.glob(f"*/*/{MANIFEST}")})


def every_manifest() -> list["Manifest"]:
    """Return all that comes with dlscale, of every edition."""
    return [load_manifest(name, one) for one in ("", *editions()) for name in implementations(one)]


def load_manifest(name: str, edition: str = "") -> Manifest:
    """Load the manifest of an implementation, or of a folder that holds a `benchmark.toml`.

    A name that is none of our own is looked for in an edition of upstream scripts. Raises
    `InputError` where there is no such implementation, or its manifest is not valid.
    """
    own = implementations()
    upstream = implementations(edition or TODAY)
    home = _home("" if name in own else edition or TODAY)
    folder = Path(name) if "/" in name else home / name
    if name not in {*own, *upstream} and not ("/" in name and (folder / MANIFEST).is_file()):
        raise InputError(
            f"Unknown framework {name!r}: choose one of {', '.join(own)}, of "
            f"{', '.join(upstream)} (edition {edition or TODAY}; see `dlscale list`), or name a "
            f"folder that holds a {MANIFEST}."
        )
    path = folder.resolve() / MANIFEST
    try:
        about = msgspec.toml.decode(path.read_bytes(), type=Description)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a valid manifest: {error}.") from error
    if not _NAME.fullmatch(about.name):
        raise InputError(f"{path}: the name {about.name!r} cannot be a folder's: choose another.")
    needed = [one.requirements for one in about.strategy.values() if one.requirements]
    needed += [about.requirements or MANIFEST, *about.build.patches.values()]
    needed += [about.upstream.patch or MANIFEST] if about.upstream else [about.script]
    for key in needed:
        if not (path.parent / key).is_file():
            raise InputError(f"{path} names {key!r}, which is not in its folder.")
    for device, support in about.on.items():
        if "amp" in support.precisions and not support.amp_dtypes:
            raise InputError(f"{path}: amp on {device} needs at least one of amp_dtypes.")
        if not about.strategies_on(device):
            raise InputError(f"{path}: no strategy has backends on {device}.")
    for package in about.build.patches:
        if package not in about.build.packages:
            raise InputError(f"{path}: build has a patch for {package!r}, which it does not build.")
    _check_forms(path, about)
    environments = [one for support in about.on.values() for one in support.environments]
    variables = [text for one in environments for text in one.values()]
    starts = [text for strategy in about.strategy.values() for text in strategy.starts]
    places = [*PLACES, *UPSTREAM_PLACES] if about.upstream else PLACES
    _check_places(path, [*starts, *variables], places)
    _check_upstream(path, about)
    return Manifest(path.parent, about)


def _check_places(path: Path, texts: list[str], places: list[str]) -> None:
    for text in texts:
        try:
            text.format(**dict.fromkeys(places, 0))
        except (LookupError, ValueError, AttributeError) as error:
            raise InputError(
                f"{path}: {text!r} holds braces, but none of {', '.join(places)}."
            ) from error


def _check_upstream(path: Path, about: Description) -> None:
    given = [text for one in about.strategy.values() for text in one.upstream_arguments]
    if about.upstream is None:
        if given:
            raise InputError(f"{path}: arguments of a strategy are for upstream scripts alone.")
        return
    _check_places(path, [*given, *about.upstream.texts], [*PLACES, *UPSTREAM_PLACES])
    if bool(about.compiler) != bool(about.upstream.compile):
        raise InputError(f"{path}: compiler and upstream.compile are given both, or none.")
    package = about.upstream.package
    if package and package not in Manifest(path.parent, about).pins:
        raise InputError(f"{path}: {about.requirements} does not lock {package!r}.")
    known = [form.name for form in formats()]
    if about.upstream.log_format not in known:
        raise InputError(
            f"{path}: log_format {about.upstream.log_format!r} is none of {', '.join(known)}."
        )
    for support in about.on.values():
        for precision in support.precisions:
            if about.upstream.precision and precision not in about.upstream.precision:
                raise InputError(f"{path}: upstream.precision has no arguments for {precision}.")


def _check_forms(path: Path, about: Description) -> None:
    loaders = [loader for support in about.on.values() for loader in support.loaders]
    for loader, form in about.forms.items():
        if loader not in loaders:
            raise InputError(f"{path}: forms names the loader {loader!r}, which no device has.")
        if form not in FORMS:
            raise InputError(f"{path}: forms names {form!r}, which is none of {', '.join(FORMS)}.")


def _pins(lock: str) -> dict[str, str]:
    versions = {_locked_name(line): line.partition("==")[2] for line in lock.splitlines()}
    return {name: rest.split()[0] for name, rest in versions.items() if name}


def _part(lock: str, wanted: Callable[[str], bool]) -> str:
    lines, keep = [], True
    for line in lock.splitlines(keepends=True):
        name = _locked_name(line)
        keep = wanted(name) if name else keep
        if keep or line.startswith("--"):  # options are for all
            lines.append(line)
    return "".join(lines)


def _locked_name(line: str) -> str:
    """Return the package that a line of a lock begins; empty where it begins none."""
    name, found, _ = line.partition("==")
    return name.strip() if found and not line.startswith((" ", "#")) else ""


def _home(edition: str) -> Path:
    return _UPSTREAM / edition if edition else _UPSTREAM.parent
