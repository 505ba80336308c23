"""Which implementations a request means, and the cases of all of them together."""

import os
import re
import shlex
import shutil
from collections.abc import Collection
from dataclasses import dataclass, replace

import msgspec

from results.case import Case
from results.errors import InputError
from runners.container import RUNTIMES, Container, find_runtime
from runners.emulated_network import network
from runners.given_interpreter import Interpreter, look_at
from runners.implementations import implementations, load_manifest
from runners.machine import Machine
from runners.manifest import Manifest
from runners.matrix import Plan, make_plan
from runners.request import Request

ALL = "all"


@dataclass(frozen=True)
class Selection:
    """Implementations by name, their cases in the order of running, and who cannot take part.

    `left_out` says of an implementation why it cannot do what was asked of all.
    """

    manifests: dict[str, Manifest]
    plan: Plan
    left_out: dict[str, str]

    @property
    def forms(self) -> dict[str, str]:
        """The form that each loader of the cases reads, empty for folders of images."""
        forms: dict[str, str] = {}
        for case in self.plan.cases:
            form = self.manifests[case.implementation].about.form_of(case.loader)
            if forms.setdefault(case.loader, form) != form:
                raise InputError(
                    f"LOADER={case.loader} reads other files in {case.implementation} than in the "
                    "others: run that one by itself."
                )
        return forms

    def environment_of(self, case: "Case") -> Manifest:
        """Return the case's implementation with the environment of its strategy."""
        return self.manifests[case.implementation].for_strategy(case.strategy)

    @property
    def environments(self) -> dict[str, Manifest]:
        """The environments that the cases need, by name."""
        needed = [self.environment_of(case) for case in self.plan.cases]
        return {one.environment_name: one for one in needed}

    def without(self, environments: Collection[str]) -> "Selection":
        """Return the selection without what needs these environments."""
        cases = [
            case
            for case in self.plan.cases
            if self.environment_of(case).environment_name not in environments
        ]
        left = {case.implementation for case in cases}
        kept = {name: one for name, one in self.manifests.items() if name in left}
        return replace(self, manifests=kept).with_cases(cases)

    def with_cases(self, cases: list["Case"]) -> "Selection":
        """Return the selection with other cases."""
        return replace(self, plan=msgspec.structs.replace(self.plan, cases=cases))


def load_manifests(words: list[str], edition: str = "") -> dict[str, Manifest]:
    """Load the manifests that words name: implementations, folders, or `all` alone.

    With an edition, `all` are its upstream scripts, and names are also looked for there.
    """
    manifests: dict[str, Manifest] = {}
    if ALL in words and len(words) > 1:
        raise InputError("FRAMEWORK=all stands for every one: leave the other names out.")
    for word in implementations(edition) if words == [ALL] else words:
        manifest = load_manifest(word, edition)
        other = manifests.setdefault(manifest.about.name, manifest)
        if other.folder != manifest.folder:
            raise InputError(
                f"{other.folder} and {manifest.folder} are both called {manifest.about.name!r}: "
                "give one of them another name in its benchmark.toml."
            )
    return manifests


def environments_for(
    manifests: dict[str, Manifest], strategies: list[str] | None
) -> dict[str, Manifest]:
    """Return the environments of strategies, by name; `all` are all, and none each one's first.

    Of several implementations those count that have such a strategy.
    """
    wanted: list[Manifest] = []
    known = dict.fromkeys(name for one in manifests.values() for name in one.about.strategy)
    for manifest in manifests.values():
        own = list(manifest.about.strategy)
        names = own[:1] if strategies is None else strategies
        names = own if names == [ALL] else names
        wanted += [manifest.for_strategy(name) for name in names if name in own]
    for name in strategies or []:
        if name not in {*known, ALL}:
            raise InputError(f"STRATEGY={name!r} is none of {', '.join(known)}: choose of these.")
    return {one.environment_name: one for one in wanted}


def select(request: Request, machine: Machine, hosts: int | None) -> Selection:
    """Return what a request comes to; cases of one label follow each other.

    `all` leaves out whoever cannot do what is asked, and says why; an implementation that was
    named and cannot is an `InputError`. Several are compared on one kind of device.
    """
    words = request.framework.split(",")
    manifests = load_manifests(words, request.edition)
    if len(manifests) > 1 and request.device is None:
        request = msgspec.structs.replace(request, device="cuda" if machine.gpus else "cpu")
    interpreter = look_at(request.interpreter) if request.interpreter else None
    plans: dict[str, Plan] = {}
    left_out: dict[str, str] = {}
    for name, manifest in manifests.items():
        try:
            if interpreter:
                require_version(manifest, interpreter, any_version=request.any_version)
            plan = make_plan(request, manifest.about, machine, hosts)
            _require_what_it_needs(manifest, plan)
        except InputError as error:
            if words != [ALL]:
                if len(manifests) == 1:
                    raise
                raise InputError(f"{name}: {error} Or leave {name} out of the list.") from error
            left_out[name] = str(error)
        else:
            plans[name] = plan
    if not plans:
        reasons = list(dict.fromkeys(left_out.values()))
        one_by_one = [f"{name}: {why}" for name, why in left_out.items()]
        raise InputError(reasons[0] if len(reasons) == 1 else " ".join(one_by_one))
    taking_part = {name: _in_its_place(manifests[name], interpreter) for name in plans}
    return Selection(taking_part, _together(plans), left_out)


def _in_its_place(manifest: Manifest, interpreter: Interpreter | None) -> Manifest:
    """Return an implementation with the interpreter or the container that it is to run in."""
    elsewhere = manifest.about.elsewhere
    if interpreter or elsewhere is None or not elsewhere.container:
        return replace(manifest, interpreter=interpreter)
    # Without a runtime the plan can still be shown.
    return replace(
        manifest, container=Container(find_runtime() or RUNTIMES[0], elsewhere.container)
    )


def require_version(manifest: Manifest, interpreter: Interpreter, *, any_version: bool) -> None:
    """Refuse an upstream script under another version of its framework than it is pinned to.

    A benchmark is reproduced only where commit, version and arguments match (DLPerf's lesson).
    """
    about, pinned = manifest.about, manifest.pinned_version
    found = interpreter.version_of(about.framework)
    if not found:
        raise InputError(
            f"{interpreter.python} has no {about.framework}, which {about.name} needs: name one "
            "that has it with INTERPRETER=PATH."
        )
    if about.upstream and _release(found) != _release(pinned) and not any_version:
        consequence = about.upstream.other_versions or "what it does then is not known"
        raise InputError(
            f"{about.name} is pinned to {about.framework} {pinned}, and {interpreter.python} has "
            f"{found}: {consequence}. Leave INTERPRETER out, name another, or go on regardless "
            "with ANY_VERSION=1."
        )


def _release(version: str) -> str:
    """Return a version without what names a build: 1.6.0+cu101, 1.8.3.post107."""
    return re.sub(r"(\.post\d+)?(\+.*)?$", "", version)


def _together(plans: dict[str, Plan]) -> Plan:
    by_label: dict[str, list[Case]] = {}
    for plan in plans.values():
        for case in plan.cases:
            by_label.setdefault(case.label, []).append(case)
    for cases in by_label.values():
        for case in cases[1:]:
            _require_alike(cases[0], case)
    return Plan(
        cases=[case for cases in by_label.values() for case in cases],
        repeats=next(iter(plans.values())).repeats,
        notes=list(dict.fromkeys(note for plan in plans.values() for note in plan.notes)),
    )


def _require_alike(one: Case, other: Case) -> None:
    """Refuse to set two implementations side by side that would be measured differently."""
    for option, field in (("IMAGE_SIZE", "image_size"), ("DEVICES", "threads")):
        mine, its = getattr(one, field), getattr(other, field)
        if mine != its:
            raise InputError(
                f"{one.implementation} and {other.implementation} would not do the same on "
                f"{one.label}: {field.replace('_', ' ')} {mine} and {its}; say {option}=N for both."
            )


def _require_what_it_needs(manifest: Manifest, plan: Plan) -> None:
    """Refuse now, and not at the first repeat, what this machine lacks."""
    if manifest.about.own_address and any(case.emulated for case in plan.cases):
        with network(1):
            pass
    for backend in dict.fromkeys(case.backend for case in plan.cases):
        tool = manifest.about.backend_tools.get(backend)
        if tool and not shutil.which(tool):
            raise InputError(
                f"BACKEND={backend} needs {tool}, which is not on PATH: install it, or choose "
                "another of `dlscale list`."
            )
    case = plan.cases[0]
    tools = manifest.about.on[case.device].compiler_tools if case.compile else []
    variable = "CC" if case.device == "cuda" else "CXX"
    named = shlex.split(os.environ.get(variable, ""))
    wanted = named[:1] or tools
    if tools and not any(shutil.which(tool) for tool in wanted):
        raise InputError(
            f"COMPILE=1: {manifest.about.compiler} needs a compiler, and {' or '.join(wanted)}"
            f"{f' ({variable})' if named else ''} is not on PATH: install one (Debian: apt install "
            "g++), or leave COMPILE out."
        )
