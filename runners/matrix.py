"""From a request and a machine to the cases of a run."""

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec

from results.case import AmpDtype, Case, Data, Device
from results.errors import InputError
from runners.description import Description, Strategy, Support
from runners.machine import Machine
from runners.request import MAX, Request

T = TypeVar("T")
_LABEL = re.compile(r"([1-9]\d{0,4})n([1-9]\d{0,2})g")
# The CPU's stand-in for DLPerf's 8 devices per node: no more ranks than this by default.
MOST_CPU_DEVICES = 8
# Emulated nodes crowd one machine; beyond this they would bring it down.
MOST_RANKS_PER_CORE = 16


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """Default sizes on one kind of device, in the units of `Request`."""

    batch_size: int
    image_size: int
    warmup: int
    steps: int
    repeats: int = 7


# DLPerf's (README, "Test conditions"): 224 px, 20 + 100 steps, 7 repeats.
GPU_SIZES = {
    "fp32": Sizes(batch_size=128, image_size=224, warmup=20, steps=100),
    "tf32": Sizes(batch_size=128, image_size=224, warmup=20, steps=100),
    "amp": Sizes(batch_size=256, image_size=224, warmup=20, steps=100),
}
# Small enough that a ladder ends in minutes on a few cores.
CPU_SIZES = Sizes(batch_size=8, image_size=96, warmup=3, steps=10)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The cases of a run, how often each is repeated, and what a reader must know of them."""

    cases: list[Case]
    repeats: int
    notes: list[str]


def make_plan(request: Request, about: Description, machine: Machine, hosts: int | None) -> Plan:
    """Return the cases that a request comes to on a machine.

    `hosts` is the number of hosts in the host file, None where there is none: then more nodes
    than one are emulated on this machine. Raises `InputError` for what cannot be.
    """
    device = _device(request, about, machine)
    support = about.on[device]
    named = _named(request)
    nodes_here = 1 if hosts is not None else max([n for n, _ in named], default=request.nodes)
    most_named = max([d for _, d in named], default=1)
    if request.devices is None and _trains_alone(request, about, device):
        request = msgspec.structs.replace(request, devices=most_named)
    devices = _devices_per_node(request, device, machine, nodes_here, most_named)
    labels = named or _ladder(request.nodes, devices)
    most_nodes = max(nodes for nodes, _ in labels)
    if hosts is not None and most_nodes > hosts:
        raise InputError(
            f"NODES={most_nodes} needs {most_nodes} hosts, and the host file names {hosts}: "
            "add hosts to it, or ask for fewer nodes."
        )
    emulated = most_nodes > 1 and hosts is None
    ranks_here = max(d * (n if emulated else 1) for n, d in labels)
    if ranks_here > MOST_RANKS_PER_CORE * machine.cores:
        raise InputError(
            f"{ranks_here} ranks are too many for the {machine.cores} cores of this machine: ask "
            f"for {MOST_RANKS_PER_CORE * machine.cores} at most, or name hosts with HOSTFILE."
        )
    share = max(1, machine.cores // (devices * (most_nodes if emulated else 1)))
    template = _template(request, about, support, device, threads=share)
    cases = [
        msgspec.structs.replace(each, nodes=n, devices=d, emulated=emulated and n > 1)
        for n, d in labels
        for each in _with_strategies(template, request, about, most_nodes, devices)
    ]
    repeats = _default(request.repeats, _sizes(device, request.precision).repeats)
    batch = str(request.batch_size or cases[0].batch_size)
    notes = _notes(cases[0], batch, machine, emulated, ranks_here)
    return Plan(cases=cases, repeats=repeats, notes=notes)


def _template(
    request: Request, about: Description, support: Support, device: Device, threads: int
) -> Case:
    why = about.unavailable
    precision = _choose("PRECISION", request.precision, support.precisions, device, why)
    sizes = _sizes(device, precision)
    amp_dtype: AmpDtype = ""
    if precision == "amp":
        amp_dtype = _choose("AMP_DTYPE", request.amp_dtype, support.amp_dtypes, device, why)
    elif request.amp_dtype:
        raise InputError(
            f"AMP_DTYPE={request.amp_dtype} goes with PRECISION=amp, not {request.precision}."
        )
    if request.compile and not about.compiler:
        raise InputError(f"COMPILE=1: {about.name} has no compiler to switch on.")
    batch_size = support.batch_sizes.get(precision, sizes.batch_size)
    layouts = support.layouts_with(precision)
    where = f"{device} with {precision}" if precision in support.precision_layouts else device
    synthetic = request.data == "synthetic"
    kind: Data = "synthetic" if synthetic else "jpeg"
    upstream = about.upstream
    if upstream and kind not in upstream.data:
        raise InputError(
            f"DATA={'synthetic' if synthetic else 'images'} is not possible with {about.name}"
            f"{_because(why, kind)}: choose another."
        )
    image_size = _default(request.image_size, sizes.image_size)
    if upstream and upstream.image_sizes:
        image_size = _default(request.image_size, upstream.image_sizes[0])
        if image_size not in upstream.image_sizes:
            choices = ", ".join(map(str, upstream.image_sizes))
            raise InputError(
                f"IMAGE_SIZE={image_size} is not possible with {about.name}, whose script has no "
                f"option for it: choose one of {choices}."
            )
    if synthetic and request.loader:
        raise InputError(f"LOADER={request.loader} reads images; DATA=synthetic has none to read.")
    return Case(
        implementation=about.name,
        nodes=1,
        devices=1,
        device=device,
        batch_size=(
            batch_size  # the first that a search tries (runners/largest_batch.py)
            if request.batch_size == MAX
            else _default(request.batch_size, batch_size)
        ),
        precision=precision,
        amp_dtype=amp_dtype,
        image_size=image_size,
        data=kind,
        loader="" if synthetic else _choose("LOADER", request.loader, support.loaders, device, why),
        workers=0 if synthetic else _default(request.workers, support.workers),
        threads=threads,
        layout=_choose("LAYOUT", request.layout, layouts, where, why),
        compile=request.compile,
        strategy="",
        log_format=upstream.log_format if upstream else "",
        warmup=_default(request.warmup, sizes.warmup),
        steps=_default(request.steps, sizes.steps),
    )


def _with_strategies(
    template: Case, request: Request, about: Description, most_nodes: int, devices: int
) -> list[Case]:
    """Return the case by each strategy and backend that is asked for."""
    device, why = template.device, about.unavailable
    possible = about.strategies_on(device)
    strategies: Sequence[str | None] = request.strategy or [None]
    backends: Sequence[str | None] = request.backend or [None]
    cases = []
    for named in strategies:
        name = _choose("STRATEGY", named, possible, device, why)
        strategy = about.strategy[name]
        _require_that_they_go_together(name, strategy, template)
        if strategy.one_process and most_nodes > 1:
            raise InputError(
                f"STRATEGY={name!r} is one process, on one node: ask for NODES=1, or for another."
            )
        if strategy.one_device and (most_nodes > 1 or devices > 1):
            raise InputError(
                f"STRATEGY={name!r} trains on one device alone: ask for DEVICES=1 and NODES=1, or "
                "for another."
            )
        for backend in backends:
            through = _choose(
                "BACKEND", backend, strategy.backends[device], f"{device}, {name}", why
            )
            cases.append(
                msgspec.structs.replace(
                    template, strategy=name, backend=through, one_process=strategy.one_process
                )
            )
    return list(dict.fromkeys(cases))


def _require_that_they_go_together(name: str, strategy: Strategy, case: Case) -> None:
    """Refuse what a strategy says that it cannot be had with."""
    why = strategy.unavailable
    asked = {case.loader: f"LOADER={case.loader!r}"}
    if case.compile:
        asked["compile"] = "COMPILE=1"
    for value, option in asked.items():
        if value in why:
            raise InputError(
                f"{option} is not possible with STRATEGY={name!r}{_because(why, value)}: leave one "
                "of the two out."
            )


def _trains_alone(request: Request, about: Description, device: Device) -> bool:
    """Whether what is asked for has but one device; a strategy that is not known has more."""
    names = request.strategy or about.strategies_on(device)[:1]
    return all(name in about.strategy and about.strategy[name].one_device for name in names)


def _device(request: Request, about: Description, machine: Machine) -> Device:
    kinds = list(about.on)
    if request.device is None and "cpu" in kinds and not ("cuda" in kinds and machine.gpus):
        return "cpu"
    kind = _choose("DEVICE", request.device or "cuda", kinds, about.name, about.unavailable)
    if kind == "cuda" and not machine.gpus:
        remedy = "use DEVICE=cpu" if "cpu" in kinds else f"{about.name} runs on GPUs alone"
        raise InputError(f"DEVICE=cuda: nvidia-smi finds no GPU on this machine; {remedy}.")
    return kind


def _devices_per_node(
    request: Request, device: Device, machine: Machine, nodes_here: int, most_named: int
) -> int:
    """Return the devices of each node; emulated nodes share a machine's GPUs out among them."""
    where = "this machine has"
    if device == "cuda":
        here, what = len(machine.gpus) // nodes_here, "GPUs"
        default = here
        if nodes_here > 1:
            where = f"each of {nodes_here} nodes emulated on {len(machine.gpus)} GPUs has"
    else:
        here, what = machine.cores, "cores, and a CPU device needs one"
        default = max(1, min(MOST_CPU_DEVICES, here // nodes_here))
    named = f"CASES with {most_named} devices per node" if request.cases else f"NODES={nodes_here}"
    for option, asked in ((f"DEVICES={request.devices}", request.devices), (named, most_named)):
        if asked and asked > here:
            raise InputError(
                f"{option}: {where} {here} {what}; ask for fewer, or name hosts that have "
                "more with HOSTFILE."
            )
    if request.devices is not None and most_named > request.devices:
        raise InputError(
            f"CASES asks for {most_named} devices per node, and DEVICES={request.devices}."
        )
    return request.devices or max(default, most_named)


def _named(request: Request) -> list[tuple[int, int]]:
    """Return (nodes, devices per node) of each case that CASES names."""
    named = []
    for label in request.cases or []:
        match = _LABEL.fullmatch(label)
        if not match:
            raise InputError(f"CASES={label!r} is not a case: write nodes and devices as 4n8g.")
        named.append((int(match[1]), int(match[2])))
    return list(dict.fromkeys(named))


def _ladder(most_nodes: int, devices: int) -> list[tuple[int, int]]:
    """Return (nodes, devices per node) of DLPerf's ladder: 1n1g, 1nDg, 2nDg, 4nDg, ..."""
    ladder = [(1, 1), (1, devices)]
    nodes = 2
    while nodes < most_nodes:
        ladder.append((nodes, devices))
        nodes *= 2
    ladder.append((most_nodes, devices))
    return list(dict.fromkeys(ladder))


def _sizes(device: Device, precision: str) -> Sizes:
    return CPU_SIZES if device == "cpu" else GPU_SIZES[precision]


def _notes(case: Case, batch: str, machine: Machine, emulated: bool, ranks_here: int) -> list[str]:
    notes = []
    if case.device == "cpu":
        notes.append(
            f"CPU-sized: {case.image_size} px, batch {batch} per device, "
            f"{case.warmup} + {case.steps} steps; a device is a rank with {case.threads} of "
            f"{machine.cores} cores"
        )
    if emulated:
        notes.append(
            "emulated: the nodes are processes on this one machine, with no network between them"
        )
    if case.device == "cpu" and ranks_here > machine.cores:
        notes.append(
            f"overcommitted: up to {ranks_here} ranks share {machine.cores} cores, so the speedup "
            "says nothing about scaling"
        )
    return notes


def _choose(
    option: str, value: str | None, allowed: Sequence[T], where: str, reasons: Mapping[str, str]
) -> T:
    if value is None:
        return allowed[0]
    for one in allowed:
        if one == value:
            return one
    choices = ", ".join(map(str, allowed))
    raise InputError(
        f"{option}={value!r} is not possible on {where}{_because(reasons, value)}: choose one of "
        f"{choices}."
    )


def _because(reasons: Mapping[str, str], value: object) -> str:
    return f" ({reasons[str(value)]})" if str(value) in reasons else ""


def _default(value: int | None, default: int) -> int:
    return default if value is None else value
