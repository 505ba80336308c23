"""From a request to everything that a run needs: cases, environment, data, a folder, a record."""

import hashlib
import shutil
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from results.case import Case
from results.errors import BenchmarkError, InputError
from results.files import nearest_existing, require_writable
from results.record import RunRecord, framework_facts, read_run, section, write_record
from results.store import LATEST, find_run, new_run_folder
from runners import paths
from runners.bench import Installed, Place, disk_error, latest_unfinished
from runners.build import ensure_environments
from runners.command import recorded_variables
from runners.container import PYTHON
from runners.environment import environment_folder, python_of
from runners.hostfile import Host, read_hostfile
from runners.input_data import InputData, find_data
from runners.largest_batch import FOLDER, Answer, Search, sized, to_search
from runners.machine import Machine, this_machine
from runners.manifest import COMMON, MANIFEST, Manifest
from runners.request import MAX, Request
from runners.selection import Selection, require_version, select
from runners.source import source_facts
from runners.upstream_checkout import checkout_of

# Less than this, and the logs of a few repeats would not fit.
LEAST_FREE_BYTES = 16 * 2**20


@dataclass(frozen=True)
class Prepared:
    """A request that was checked against this machine; nothing is written or started yet.

    `failed` says of environments why they could not be built, or have no batch that trains;
    `found` tells of the batches that were searched.
    """

    request: Request
    machine: Machine
    selection: Selection
    hosts: list[str]
    data: InputData
    resumed: Path | None = None
    failed: dict[str, str] = field(default_factory=dict)
    found: tuple[str, ...] = ()

    @property
    def left_out(self) -> dict[str, str]:
        """Who was asked for and has no cases, and why."""
        return {**self.selection.left_out, **self.failed}

    @property
    def notes(self) -> list[str]:
        """What a reader must know of the run."""
        left_out = [f"left out: {name}: {why}" for name, why in self.left_out.items()]
        upstream = [
            note for one in self.selection.manifests.values() for note in _upstream_notes(one)
        ]
        named = [
            note for one in self.selection.manifests.values() for note in _interpreter_notes(one)
        ]
        notes = [*self.selection.plan.notes, *self.found, *self.data.notes]
        return [*notes, *named, *upstream, *left_out]

    @property
    def installed(self) -> dict[tuple[str, str], Installed]:
        """Implementation and strategy with their interpreter, whether or not that is there yet."""
        installed = {}
        for case in self.selection.plan.cases:
            manifest = self.selection.environment_of(case)
            installed[case.implementation, case.strategy] = Installed(
                manifest, _python_of(manifest)
            )
        return installed

    def built(self, store: Path, named_python: str | None, console: Console) -> "Prepared":
        """Build the environments that are missing; cases that get none are left out.

        Upstream scripts are fetched first: that takes seconds.
        """
        _check_space(self.resumed or store)
        for one in self.selection.manifests.values():
            if one.is_there or not one.elsewhere:
                checkout_of(one, paths.UPSTREAM)
        selection, unbuilt = self._looked_into()
        to_build = {n: one for n, one in selection.environments.items() if not one.is_there}
        if to_build:
            unbuilt |= ensure_environments(to_build, paths.ENVIRONMENTS, named_python, console)
        elif len(unbuilt) == len(self.selection.manifests):
            raise InputError(" ".join(unbuilt.values()))
        if unbuilt and self.resumed:
            raise InputError(" ".join(unbuilt.values()))
        left = replace(self, selection=selection).without(unbuilt)
        require_launchers(left.selection)
        return left

    def _looked_into(self) -> tuple[Selection, dict[str, str]]:
        """Look into the containers, fetched where need be; tell of those that cannot be used."""
        manifests, unusable = dict(self.selection.manifests), dict[str, str]()
        for name, manifest in self.selection.manifests.items():
            if manifest.container is None:
                continue
            try:
                container = manifest.container.fetched()
                found = container.interpreter()
                require_version(manifest, found, any_version=self.request.any_version)
            except InputError as error:
                unusable[name] = str(error)
            else:
                manifests[name] = replace(manifest, container=container, interpreter=found)
        return replace(self.selection, manifests=manifests), unusable

    def sized(self, store: Path, place: Place, console: Console) -> "Prepared":
        """Search the largest batches, where they are asked for and not known.

        Environments whose search fails are left out; `BenchmarkError` where no other is left.
        """
        if self.request.batch_size != MAX or self.resumed:
            return self
        search = Search(store / FOLDER, msgspec.to_builtins(self.machine), console)
        failed: dict[str, str] = {}
        answers: dict[Case, Answer] = {}
        for case in to_search(self.selection.plan.cases):
            manifest = self.selection.environment_of(case)
            name = manifest.environment_name
            if name in failed:
                continue
            facts = {**_framework_facts(manifest), **_environment_facts(manifest)}
            try:
                answers[case.settings] = search.largest(case, facts, place)
            except BenchmarkError as error:
                failed[name] = str(error)
        left = self.without(failed)
        if not left.selection.plan.cases:
            raise BenchmarkError(" ".join(failed.values()))
        batches = {settings: answer.case.batch_size for settings, answer in answers.items()}
        selection = left.selection.with_cases(sized(left.selection.plan.cases, batches))
        return replace(left, selection=selection, found=tuple(a.note for a in answers.values()))

    def place(self, console: Console) -> Place:
        """Make the data that is missing and return where repeats are started."""
        data = self.data.ready(console)
        return Place(
            installed=self.installed,
            data=str(data) if data else "",
            hosts=self.hosts,
            gpus=[gpu.id for gpu in self.machine.gpus],
            seed=self.request.seed,
            timeout=self.request.timeout,
            converted={form: str(self.data.folder_for(form)) for form in self.data.forms},
        )

    def opened(self, store: Path) -> tuple[Path, RunRecord]:
        """Return the run's folder and its record, which is written where it is new."""
        environment = self._environment()
        if self.resumed:
            record = read_run(self.resumed)
            _check_same(record.environment, environment, self.resumed)
            return self.resumed, record
        names = list(self.selection.manifests)
        folder = new_run_folder(store, names[0] if len(names) == 1 else f"{len(names)}-frameworks")
        record = RunRecord(
            id=folder.name,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            request=msgspec.to_builtins(self.request),
            repeats=self.selection.plan.repeats,
            cases=self.selection.plan.cases,
            notes=self.notes,
            environment=environment,
            left_out=self.left_out,
        )
        try:
            write_record(folder, record)
        except OSError as error:
            raise disk_error(folder, error) from error
        return folder, record

    def without(self, failed: dict[str, str]) -> "Prepared":
        """Return it without the environments that failed, and say why."""
        selection = self.selection.without(failed)
        return replace(self, selection=selection, failed={**self.failed, **failed})

    def _environment(self) -> dict[str, Any]:
        selection = self.selection
        return {
            "machine": msgspec.to_builtins(self.machine),
            "frameworks": {n: _framework_facts(one) for n, one in selection.manifests.items()},
            "environments": {n: _environment_facts(o) for n, o in selection.environments.items()},
            "hosts": self.hosts,
            "data": self.data.facts(),
            "dlscale": source_facts(paths.ROOT),
            "variables": recorded_variables(),
        }


def prepare_new(request: Request) -> Prepared:
    """Check a request against this machine; `InputError` says what cannot be."""
    machine = this_machine()
    hosts = read_hostfile(Path(request.hostfile)) if request.hostfile else None
    selection = select(request, machine, len(hosts) if hosts else None)
    cases = selection.plan.cases
    most_nodes = max(case.nodes for case in cases)
    names = [machine.host] * most_nodes
    if hosts is not None:
        names = _hosts_of(hosts, most_nodes, max(case.devices for case in cases), machine)
    return Prepared(request, machine, selection, names, find_data(request.data, selection.forms))


def prepare_resumed(store: Path, name: str, given: dict[str, Any]) -> Prepared:
    """Take up a run again: its own request counts, and options that differ from it are refused.

    Only the timeout may be another: it changes no measurement.
    """
    folder = latest_unfinished(store) if name == LATEST else find_run(store, name)
    record = read_run(folder)
    try:
        request = msgspec.convert(record.request, Request)
    except msgspec.ValidationError as error:
        raise InputError(
            f"The request in {folder} is not one of this version of dlscale ({error}): go on with "
            "the version that wrote it, or start a new run."
        ) from error
    for option, value in given.items():
        was = getattr(request, option)
        if value != was and option != "timeout":
            raise InputError(
                f"--resume goes on with run {record.id} as it was asked for, with {option} {was}, "
                f"not {value}: leave the option out, or start a new run."
            )
    timeout = given.get("timeout", request.timeout)
    prepared = prepare_new(msgspec.structs.replace(request, timeout=timeout))
    selection = prepared.selection.without(record.left_out)
    if request.batch_size == MAX:
        batches = {_unsized(case): case.batch_size for case in record.cases}
        cases = selection.plan.cases
        known = {case.settings: batches.get(_unsized(case), case.batch_size) for case in cases}
        selection = selection.with_cases(sized(cases, known))
    if selection.plan.cases != record.cases:
        raise InputError(
            f"Run {record.id} cannot go on here: this machine or this version of dlscale makes "
            "other cases of its request; start a new run."
        )
    planned = prepared.selection.left_out
    failed = {name: why for name, why in record.left_out.items() if name not in planned}
    return replace(prepared, selection=selection, failed=failed, resumed=folder)


def _unsized(case: Case) -> Case:
    return msgspec.structs.replace(case.settings, batch_size=1)


def _hosts_of(hosts: list[Host], nodes: int, devices: int, machine: Machine) -> list[str]:
    for host in hosts[:nodes]:
        if host.slots is not None and host.slots < devices:
            raise InputError(
                f"DEVICES={devices}: host {host.name} has {host.slots} slots; ask for fewer."
            )
        if host.name not in {machine.host, "localhost", "127.0.0.1", "::1"}:
            raise InputError(
                f"Host {host.name} is another machine, and this version starts ranks on "
                f"{machine.host} alone: run there, or leave HOSTFILE out to emulate nodes here."
            )
    if nodes > 1:
        raise InputError(
            f"Hosts {hosts[0].name} and {hosts[1].name} are both this machine, which is one node: "
            "leave HOSTFILE out to emulate nodes here."
        )
    return [host.name for host in hosts[:nodes]]


def require_launchers(selection: Selection) -> None:
    """Refuse now, and not at the first repeat, where a program that starts ranks is not there."""
    for case in selection.plan.cases:
        manifest = selection.manifests[case.implementation]
        program = manifest.about.strategy[case.strategy].launch(case.nodes, case.devices).program
        if program and not manifest.container and not shutil.which(program):
            raise InputError(
                f"{case.implementation} is started by {program}, which is not on PATH: install it, "
                "or choose another of `dlscale list`."
            )


def _python_of(manifest: Manifest) -> Path:
    """Return the interpreter of an environment, whether or not it is there."""
    if manifest.interpreter:
        return manifest.interpreter.python
    if manifest.elsewhere:
        return PYTHON
    return python_of(environment_folder(manifest, paths.ENVIRONMENTS))


def _interpreter_notes(manifest: Manifest) -> list[str]:
    """Say that an environment is not the locked one, and which version its framework has."""
    if manifest.interpreter is None:
        return []
    about, pinned = manifest.about, manifest.pinned_version
    place = str(manifest.interpreter.python)
    if manifest.container:
        place = f"the container {manifest.container.image}, {manifest.container.digest}"
    other = "" if manifest.version == pinned else f", not the pinned {pinned}"
    return [f"{about.name} runs on {place}, with {about.framework} {manifest.version}{other}"]


def _upstream_notes(manifest: Manifest) -> list[str]:
    """Say what a reader must know of an implementation whose script is not ours."""
    name, upstream = manifest.about.name, manifest.about.upstream
    if upstream is None:
        return []
    what = "its figures are read off what it prints, and whether ranks' weights agree is not known"
    return [
        f"{name}: {manifest.upstream_source}; {what}",
        *(f"{name}: {one}" for one in upstream.differences),
    ]


def _framework_facts(manifest: Manifest) -> dict[str, Any]:
    about, folder = manifest.about, manifest.folder
    scripts = sorted([*folder.glob("*.py"), folder / MANIFEST, *COMMON.glob("*.py")])
    if about.upstream:  # the commit stands in the manifest
        given = [*folder.glob("*.patch"), *folder.glob("*.yaml")]
        scripts = [folder / MANIFEST, *sorted(given)]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in scripts))
    upstream = {"upstream": msgspec.to_builtins(about.upstream)} if about.upstream else {}
    return {
        **upstream,
        "name": about.name,
        "title": about.title,
        "network": about.network,
        "published": about.published,
        "version": manifest.version,
        "python": manifest.interpreter.version if manifest.interpreter else about.python,
        "scripts_sha256": digest.hexdigest(),
    }


def _environment_facts(manifest: Manifest) -> dict[str, Any]:
    """Return what an environment was made of; its folder's name says with which tools, too."""
    if manifest.interpreter:
        container, interpreter = manifest.container, manifest.interpreter
        image = {"image": container.image, "digest": container.digest} if container else {}
        return {**image, "folder": str(interpreter.python), "packages": interpreter.packages}
    return {
        "folder": environment_folder(manifest, paths.ENVIRONMENTS).name,
        "lock_sha256": hashlib.sha256(manifest.lock_text.encode()).hexdigest(),
        "patches_sha256": {
            name: hashlib.sha256(patch.read_bytes()).hexdigest()
            for name, patch in manifest.patches.items()
        },
    }


def _check_space(folder: Path) -> None:
    require_writable(folder, "results")
    free = shutil.disk_usage(nearest_existing(folder)).free
    if free < LEAST_FREE_BYTES:
        raise InputError(
            f"The disk of the results folder {folder} is full ({free / 2**20:.0f} MiB free, "
            f"{LEAST_FREE_BYTES // 2**20} needed): free some space or name another with --results."
        )


def _check_same(was: dict[str, Any], now: dict[str, Any], folder: Path) -> None:
    """Refuse to mix measurements of two machines, or of two versions, in one run."""
    variables = {*section(was, "variables"), *now["variables"]}
    for part, keys in (
        ("machine", ["host", "processor", "cores", "gpus"]),
        ("data", ["folder", "images"]),
        ("variables", sorted(variables)),
    ):
        _check_part(part, section(was, part), now[part], keys, folder)
    for name, facts in now["frameworks"].items():
        keys = ["version", "python", "scripts_sha256"]
        _check_part(name, framework_facts(was, name), facts, keys, folder)
    for name, facts in now["environments"].items():
        before = section(section(was, "environments"), name)
        keys = ["lock_sha256", "digest", "packages", "folder"]
        _check_part(f"environment of {name}", before, facts, keys, folder)


def _check_part(
    part: str, was: dict[str, Any], now: dict[str, Any], keys: list[str], folder: Path
) -> None:
    for key in keys:
        if was.get(key) != now.get(key):
            raise InputError(
                f"{folder} cannot go on here: its {part} had {key} {was.get(key)}, and now it is "
                f"{now.get(key)}; start a new run."
            )
