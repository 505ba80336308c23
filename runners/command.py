"""From a case to the exact command and variables of each of its nodes."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from results.case import Case
from results.record import NodeCommand
from runners.description import Strategy
from runners.emulated_network import INTERFACE, address_of
from runners.forms.tree import shards_of
from runners.manifest import COMMON, Manifest
from runners.processes import VARIABLE
from runners.upstream import Upstream

# Variables that steer a framework, kept in the record as they were found.
RECORDED = re.compile(
    r"^(CUDA|NCCL|GLOO|OMP|MKL|KMP|DNNL|ONEDNN|OPENBLAS|TORCH|TORCHINDUCTOR|PYTORCH|DALI|MALLOC|"
    r"GLIBC_TUNABLES|PADDLE|FLAGS_|GLOG|MXNET|DMLC|PS_|KVSTORE|ONEFLOW|MS_|MINDSPORE|"
    r"LD_|PYTHON|XLA|TF_(?!VAR_|CLI_)|UCX|OMPI|HOROVOD|FI_|NVIDIA|DLSCALE)"
)
# Of these, what would put this machine's programs and libraries in the place of a container's.
_OF_THIS_MACHINE = re.compile(r"LD_|PYTHON|CUDA_(HOME|PATH)")
# A learning rate of 1 goes with so many images per step (DLPerf: rate = batch / 1000).
IMAGES_PER_RATE = 1000
_SECRET = re.compile(
    r"(TOKEN|SECRET|PASS|PASSWORD|PASSWD|AUTH|CREDENTIAL|PRIVATE|KEYS?($|_))", re.IGNORECASE
)
_URL_PASSWORD = re.compile(r"(?<=://)[^/\s]+@")


@dataclass(frozen=True)
class Job:
    """Where the ranks of one repeat run, and where they read and write.

    `checkout` is where an upstream script lies. `data` is the folder of class folders, empty for
    synthetic data; `hosts` has one name per node, and `gpus` what CUDA_VISIBLE_DEVICES calls those
    of this machine; `token` marks every process of the repeat, so that ours can be told from
    others.
    """

    python: Path
    data: str
    logs: Path
    hosts: list[str]
    gpus: list[str]
    port: int
    token: str
    seed: int
    checkout: Path | None = None


def node_commands(case: Case, manifest: Manifest, job: Job) -> list[NodeCommand]:
    """Return what is executed on each node of a case, in the order of the nodes.

    It is one command where the launcher of its strategy starts the ranks of all nodes.
    """
    own_address = case.emulated and manifest.about.own_address
    interface = INTERFACE if own_address else "lo"
    gloo = {"GLOO_SOCKET_IFNAME": interface} if case.device == "cpu" else {}
    strategy, upstream = manifest.about.strategy[case.strategy], manifest.about.upstream
    script = [str((job.checkout or manifest.folder) / manifest.about.script)]
    if upstream and upstream.package:
        script = ["-m", manifest.about.script]
    commands = []
    addresses = _addresses(case, job, own_address=own_address)
    launch = strategy.launch(case.nodes, case.devices)
    # How many devices of this machine a command's ranks take.
    seen = case.devices * (case.nodes if strategy.per == "job" else 1)
    for node in range(case.nodes if strategy.per == "node" else 1):
        places = {
            "python": job.python,
            "folder": manifest.folder,
            "nodes": case.nodes,
            "node_rank": node,
            "devices": case.devices,
            "ranks": case.ranks,
            "threads": case.threads,
            "backend": case.backend,
            "hosts": _hosts(case, job),
            "master_address": address_of(0) if own_address else "127.0.0.1",
            "master_port": job.port,
            "packages": manifest.site_packages(job.python),
            "node_address": addresses[node],
            "addresses": ",".join(addresses),
            "endpoints": ",".join(f"{address}:{job.port}" for address in addresses),
            "device_ids": ",".join(map(str, range(seen if case.emulated else case.devices))),
        }
        if upstream:
            places |= _upstream_places(case, job)
        support = manifest.about.on[case.device]
        variables = support.environment | support.precision_environment.get(case.precision, {})
        environment = {key: text.format(**places) for key, text in variables.items()}
        arguments = [
            launch.program or str(job.python),
            *(part.format(**places) for part in launch.start),
            *script,
            *(
                [text.format(**places) for text in _upstream_arguments(upstream, case, strategy)]
                if upstream
                else script_arguments(case, job)
            ),
        ]
        here = case.emulated or case.nodes == 1
        if case.device == "cuda" and here and seen < len(job.gpus):
            # Some launchers and scripts take all that they see.
            mine = job.gpus[node * seen : (node + 1) * seen]
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(mine)
        # A checkout is to stay as it was fetched.
        clean = {"PYTHONDONTWRITEBYTECODE": "1"} if upstream else {}
        environment = {**gloo, **clean, **environment, VARIABLE: job.token}
        if manifest.container:
            arguments = manifest.container.started(
                container_name(job.token, node),
                arguments,
                environment,
                device=case.device,
                readable=_readable(manifest, job),
                writable=[job.logs],
                inherited=[
                    name for name in recorded_variables() if not _OF_THIS_MACHINE.match(name)
                ],
            )
            environment = {VARIABLE: job.token}
        commands.append(
            NodeCommand(
                node=node,
                host=job.hosts[node],
                arguments=arguments,
                environment=environment,
                address=address_of(node) if own_address else "",
            )
        )
    return commands


def container_name(token: str, node: int) -> str:
    """Return the name of the container that a node's command runs in."""
    return f"dlscale-{token}-{node}"


def _readable(manifest: Manifest, job: Job) -> list[Path]:
    """Return the folders that a script in a container is to see."""
    data = Path(job.data).parent if job.data else None
    folders = [manifest.folder, COMMON.parent, job.checkout, data]
    return [folder for folder in folders if folder]


def _hosts(case: Case, job: Job) -> str:
    """Return the hosts as mpirun and horovodrun take them, such as `a:8,b:8`.

    They start ranks by themselves, without ssh, where a host's address is one of this machine's
    interfaces; a host that is named twice is one host to them. So each emulated node has another
    spelling of 127.0.0.1: zeros before a part of an address do not count (inet_aton(3)).
    """
    hosts = job.hosts[: case.nodes]
    if case.emulated or case.nodes == 1:
        hosts = [f"127.0.0.{'0' * node}1" for node in range(case.nodes)]
    return ",".join(f"{host}:{case.ranks // case.nodes}" for host in hosts)


def _addresses(case: Case, job: Job, *, own_address: bool) -> list[str]:
    """Return the address of each node."""
    if own_address:
        return [address_of(node) for node in range(case.nodes)]
    if case.emulated or case.nodes == 1:
        return ["127.0.0.1"] * case.nodes
    return job.hosts[: case.nodes]


def _upstream_arguments(upstream: Upstream, case: Case, strategy: Strategy) -> list[str]:
    by_nodes = strategy.one_node if case.nodes == 1 else strategy.more_nodes
    return [
        *upstream.arguments,
        *strategy.launch(case.nodes, case.devices).arguments,
        *by_nodes,
        *upstream.precision.get(case.precision, []),
        *upstream.layout.get(case.layout, []),
        *(upstream.compile if case.compile else []),
        *upstream.data[case.data],
    ]


def _upstream_places(case: Case, job: Job) -> dict[str, object]:
    """Return what an upstream script can be told beside what its launcher can.

    `images` is how many the job trains on in all, `shards` how many files its input is cut into;
    the learning rate is DLPerf's, without the warm-up of our own scripts. `more_steps` is for
    scripts that do not print their last one.
    """
    total_steps = case.warmup + case.steps
    return {
        "device": case.device,
        "amp_dtype": {"fp16": "float16", "bf16": "bfloat16"}.get(case.amp_dtype, ""),
        "data": job.data,
        "data_root": Path(job.data).parent if job.data else "",
        "batch": case.batch_size,
        "node_batch": case.batch_size * case.devices,
        "global_batch": case.global_batch,
        "image_size": case.image_size,
        "workers": case.workers,
        "node_workers": case.workers * case.devices,
        "total_steps": total_steps,
        "more_steps": total_steps + 1,
        "images": total_steps * case.global_batch,
        "learning_rate": f"{case.global_batch / IMAGES_PER_RATE:g}",
        "node_learning_rate": f"{case.batch_size * case.devices / IMAGES_PER_RATE:g}",
        "checkout": job.checkout,
        "shards": shards_of(Path(job.data)) if job.data else "",
    }


def script_arguments(case: Case, job: Job) -> list[str]:
    """Return the arguments of a training script (benchmarks/common/arguments.py)."""
    options: dict[str, object] = {
        "device": case.device,
        "batch-size": case.batch_size,
        "global-batch": case.global_batch,
        "image-size": case.image_size,
        "precision": case.precision,
        "amp-dtype": case.amp_dtype,
        "layout": case.layout,
        "strategy": case.strategy,
        "backend": case.backend,
        "devices-per-rank": case.devices if case.one_process else "",
        "loader": case.loader,
        "data": job.data,
        "workers": case.workers,
        "threads": case.threads,
        "warmup": case.warmup,
        "steps": case.steps,
        "seed": job.seed,
        "log-dir": job.logs,
    }
    given = [f"--{name}={value}" for name, value in options.items() if value != ""]
    return [*given, *(["--compile"] if case.compile else [])]


def recorded_variables(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the user's own variables that can change a measurement, secrets masked."""
    return {
        name: "***" if _SECRET.search(name) else _URL_PASSWORD.sub("***@", value)
        for name, value in sorted(environment.items())
        if RECORDED.match(name)
    }
