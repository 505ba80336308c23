"""From a request to everything that a run needs: cases, environment, data, a folder, a record."""

import hashlib
import os
import shutil
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from results.errors import InputError
from results.files import nearest_existing, require_writable
from results.record import RunRecord, read_run, section, write_record
from results.store import LATEST, find_run, new_run_folder
from runners import paths
from runners.bench import Place, disk_error, latest_unfinished
from runners.command import recorded_variables
from runners.emulated_network import network
from runners.environment import ensure_environment, environment_folder, python_of
from runners.hostfile import Host, read_hostfile
from runners.input_data import InputData, find_data
from runners.machine import Machine, this_machine
from runners.manifest import COMMON, MANIFEST, Manifest, load_manifest
from runners.matrix import Plan, make_plan
from runners.request import Request
from runners.source import source_facts

# Less than this, and the logs of a few repeats would not fit.
LEAST_FREE_BYTES = 16 * 2**20


@dataclass(frozen=True)
class Prepared:
    """A request that was checked against this machine; nothing is written or started yet."""

    request: Request
    manifest: Manifest
    machine: Machine
    plan: Plan
    hosts: list[str]
    data: InputData
    resumed: Path | None = None

    @property
    def python(self) -> Path:
        """The interpreter of the implementation's environment, whether or not it is built."""
        return python_of(environment_folder(self.manifest, paths.ENVIRONMENTS))

    def place(
        self, store: Path, named_python: str | None, console: Console
    ) -> tuple[Path, RunRecord, Place]:
        """Build what is missing and return the run's folder, its record, and where it runs."""
        _check_space(self.resumed or store)
        ensure_environment(self.manifest, paths.ENVIRONMENTS, named_python)
        data = self.data.ready(console)
        place = Place(
            manifest=self.manifest,
            python=self.python,
            data=str(data) if data else "",
            hosts=self.hosts,
            gpus=[gpu.id for gpu in self.machine.gpus],
            seed=self.request.seed,
            timeout=self.request.timeout,
        )
        environment = self._environment()
        if self.resumed:
            record = read_run(self.resumed)
            _check_same(record.environment, environment, self.resumed)
            return self.resumed, record, place
        folder = new_run_folder(store, self.manifest.about.name)
        record = RunRecord(
            id=folder.name,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            request=msgspec.to_builtins(self.request),
            repeats=self.plan.repeats,
            cases=self.plan.cases,
            notes=[*self.plan.notes, *self.data.notes],
            environment=environment,
        )
        try:
            write_record(folder, record)
        except OSError as error:
            raise disk_error(folder, error) from error
        return folder, record, place

    def _environment(self) -> dict[str, Any]:
        about, lock = self.manifest.about, self.manifest.lock.read_bytes()
        folder = self.manifest.folder
        scripts = sorted([*folder.glob("*.py"), folder / MANIFEST, *COMMON.glob("*.py")])
        digest = hashlib.sha256(b"".join(path.read_bytes() for path in scripts))
        return {
            "machine": msgspec.to_builtins(self.machine),
            "framework": {
                "name": about.name,
                "title": about.title,
                "network": about.network,
                "published": about.published,
                "version": self.manifest.version,
                "python": about.python,
                "lock_sha256": hashlib.sha256(lock).hexdigest(),
                "scripts_sha256": digest.hexdigest(),
            },
            "hosts": self.hosts,
            "data": self.data.facts(),
            "dlscale": source_facts(paths.ROOT),
            "variables": recorded_variables(),
        }


def prepare_new(request: Request) -> Prepared:
    """Check a request against this machine; `InputError` says what cannot be."""
    manifest = load_manifest(request.framework)
    machine = this_machine()
    hosts = read_hostfile(Path(request.hostfile)) if request.hostfile else None
    plan = make_plan(request, manifest.about, machine, len(hosts) if hosts else None)
    most_nodes = max(case.nodes for case in plan.cases)
    names = [machine.host] * most_nodes
    if hosts is not None:
        names = _hosts_of(hosts, most_nodes, max(case.devices for case in plan.cases), machine)
    if manifest.about.own_address and any(case.emulated for case in plan.cases):
        with network(1):
            pass  # refused now and not at the first repeat
    if request.compile:
        _check_compiler(manifest, plan)
    data = find_data(request.data)
    return Prepared(request, manifest, machine, plan, names, data)


def prepare_resumed(store: Path, name: str, given: dict[str, Any]) -> Prepared:
    """Take up a run again: its own request counts, and options that differ from it are refused.

    Only the timeout may be another: it changes no measurement.
    """
    folder = latest_unfinished(store) if name == LATEST else find_run(store, name)
    record = read_run(folder)
    try:
        request = msgspec.convert(record.request, Request)
    except msgspec.ValidationError as error:
        raise InputError(f"The request in {folder} is not one of this version: {error}.") from error
    for option, value in given.items():
        was = getattr(request, option)
        if value != was and option != "timeout":
            raise InputError(
                f"--resume goes on with run {record.id} as it was asked for, with {option} {was}, "
                f"not {value}: leave the option out, or start a new run."
            )
    timeout = given.get("timeout", request.timeout)
    prepared = prepare_new(msgspec.structs.replace(request, timeout=timeout))
    if prepared.plan.cases != record.cases:
        raise InputError(f"Run {record.id} cannot go on here: this machine gives other cases.")
    return replace(prepared, resumed=folder)


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


def _check_compiler(manifest: Manifest, plan: Plan) -> None:
    device = plan.cases[0].device
    tools = manifest.about.on[device].compiler_tools
    named = os.environ.get("CC" if device == "cuda" else "CXX")
    wanted = [named] if named else tools
    if tools and not any(shutil.which(tool) for tool in wanted):
        raise InputError(
            f"COMPILE=1: {manifest.about.compiler} needs a compiler, and {' or '.join(wanted)} is "
            "not on PATH: install one (Debian: apt install g++), or leave COMPILE out."
        )


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
    for part, keys in (
        ("machine", ("host", "processor", "cores", "gpus")),
        ("framework", ("version", "python", "lock_sha256", "scripts_sha256")),
        ("data", ("folder", "images")),
        ("variables", sorted({*section(was, "variables"), *now["variables"]})),
    ):
        for key in keys:
            before, after = section(was, part).get(key), now[part].get(key)
            if before != after:
                raise InputError(
                    f"{folder} cannot go on here: its {part} had {key} {before}, and now it is "
                    f"{after}; start a new run."
                )
