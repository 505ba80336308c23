"""An implementation: its description, the folder it stands in, and which environment it has."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import benchmarks
from runners.container import Container
from runners.description import Description, Elsewhere
from runners.given_interpreter import Interpreter

MANIFEST = "benchmark.toml"
COMMON = Path(next(iter(benchmarks.__path__))) / "common"


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
