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
from runners.forms.registry import FORMS

MANIFEST = "benchmark.toml"
COMMON = Path(next(iter(benchmarks.__path__))) / "common"
_NAME = re.compile(r"(?!interrupted$)[A-Za-z0-9][A-Za-z0-9_.-]{0,60}")
# What can stand in braces in `start` and `environment`; runners/command.py fills it in.
PLACES = [
    *("folder", "nodes", "node_rank", "devices", "ranks", "threads", "backend"),
    *("master_address", "master_port", "hosts", "python", "packages"),
]

T = TypeVar("T")
# A list with a first element, which is the default.
Choices = Annotated[list[T], msgspec.Meta(min_length=1)]


class Support(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an implementation can do on one kind of device; the first of each list is the default.

    `workers` is the number of loader processes or threads per rank; `environment` are variables
    set for every rank; the framework's compiler needs one of `compiler_tools`.
    """

    precisions: Choices[Precision]
    amp_dtypes: list[AmpDtype]
    loaders: Choices[str]
    layouts: Choices[Layout]
    workers: int
    environment: dict[str, str] = {}
    compiler_tools: list[str] = []


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


class Strategy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How ranks are kept in step, and what starts them.

    `start` is the launcher and its arguments after the interpreter, started on each node, or once
    for the job, `per` which it is; `backends` are what ranks can talk through on each kind of
    device, the first of which is the default: a device that is not there cannot be trained on so.
    With `one_process` one process drives all devices of the only node. `requirements` is the
    hash-locked file of what it needs beside the implementation's: it has its own environment then.
    """

    start: list[str]
    backends: Annotated[dict[Device, Choices[str]], msgspec.Meta(min_length=1)]
    per: Literal["node", "job"] = "node"
    one_process: bool = False
    requirements: str = ""


class Description(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of `benchmark.toml`.

    The first `strategy` is the default; `published` names DLPerf's implementations that a run is
    set beside, the nearest first. `unavailable` says of a device, a strategy or the like why it
    cannot be had, or not yet. `forms` names the form that a loader reads, where it reads another
    than folders of images (runners/forms). With `own_address`, two nodes at one address are taken
    for one, so emulated nodes get a network namespace each. `backend_tools` names the program that
    a backend needs on PATH, and `build` what is built from source here.
    """

    name: str
    title: str
    network: str
    script: str
    python: str
    requirements: str
    framework: str
    strategy: Annotated[dict[str, Strategy], msgspec.Meta(min_length=1)]
    compiler: str = ""
    published: list[str] = []
    own_address: bool = False
    backend_tools: dict[str, str] = {}
    build: Build = Build()
    forms: dict[str, str] = {}
    unavailable: dict[str, str] = {}
    on: Annotated[dict[Device, Support], msgspec.Meta(min_length=1)]

    def form_of(self, loader: str) -> str:
        """Return the form that a loader reads; empty for folders of images."""
        return self.forms.get(loader, "")


@dataclass(frozen=True)
class Manifest:
    """A description and the folder it stands in.

    `strategy` names one that has an environment of its own, and then stands for all with that
    environment; it is empty for the environment that the others have in common.
    """

    folder: Path
    about: Description
    strategy: str = ""

    def for_strategy(self, name: str) -> "Manifest":
        """Return the implementation with the environment of one of its strategies."""
        strategies = self.about.strategy
        own = strategies[name].requirements
        alike = [one for one, strategy in strategies.items() if strategy.requirements == own]
        return replace(self, strategy=alike[0] if own else "")

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
    def lock(self) -> Path:
        """The hash-locked requirements file."""
        return self.folder / self.about.requirements

    @property
    def lock_text(self) -> str:
        """What is locked for its environment: the file, and what its strategy needs beside it."""
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
    def version(self) -> str:
        """The locked version of the framework; `-` where the lock does not hold it."""
        return self.pins.get(self.about.framework, "-")

    @property
    def pins(self) -> dict[str, str]:
        """Every locked package and its version."""
        return _pins(self.lock_text)

    def locked(self, wanted: Callable[[str], bool]) -> str:
        """Return the lines of the lock but those of the packages that are not wanted."""
        return _part(self.lock_text, wanted)


def implementations() -> list[str]:
    """Return the names of the implementations that come with dlscale, in order."""
    return sorted(path.parent.name for path in _home().glob(f"*/{MANIFEST}"))


def load_manifest(name: str) -> Manifest:
    """Load the manifest of an implementation, or of a folder that holds a `benchmark.toml`.

    Raises `InputError` where there is no such implementation, or its manifest is not valid.
    """
    folder = Path(name) if "/" in name else _home() / name
    if name not in implementations() and not ("/" in name and (folder / MANIFEST).is_file()):
        raise InputError(
            f"Unknown framework {name!r}: choose one of {', '.join(implementations())} "
            f"(see `dlscale list`), or name a folder that holds a {MANIFEST}."
        )
    path = folder.resolve() / MANIFEST
    try:
        about = msgspec.toml.decode(path.read_bytes(), type=Description)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a valid manifest: {error}.") from error
    if not _NAME.fullmatch(about.name):
        raise InputError(f"{path}: the name {about.name!r} cannot be a folder's: choose another.")
    own = [one.requirements for one in about.strategy.values() if one.requirements]
    for key in (about.script, about.requirements, *own, *about.build.patches.values()):
        if not (path.parent / key).is_file():
            raise InputError(f"{path} names {key!r}, which is not in its folder.")
    for device, support in about.on.items():
        if "amp" in support.precisions and not support.amp_dtypes:
            raise InputError(f"{path}: amp on {device} needs at least one of amp_dtypes.")
        if not any(device in one.backends for one in about.strategy.values()):
            raise InputError(f"{path}: no strategy has backends on {device}.")
    for package in about.build.patches:
        if package not in about.build.packages:
            raise InputError(f"{path}: build has a patch for {package!r}, which it does not build.")
    _check_forms(path, about)
    variables = [text for support in about.on.values() for text in support.environment.values()]
    starts = [text for strategy in about.strategy.values() for text in strategy.start]
    for text in (*starts, *variables):
        try:
            text.format(**dict.fromkeys(PLACES, 0))
        except (LookupError, ValueError, AttributeError) as error:
            places = ", ".join(PLACES)
            raise InputError(f"{path}: {text!r} holds braces, but none of {places}.") from error
    return Manifest(path.parent, about)


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


def _home() -> Path:
    return Path(next(iter(benchmarks.__path__)))
