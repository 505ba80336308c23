"""From a case to the exact command and variables of each of its nodes."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from results.case import Case
from results.record import NodeCommand
from runners.manifest import Manifest

# Variables that steer a framework, kept in the record as they were found.
RECORDED = re.compile(
    r"^(CUDA|NCCL|GLOO|OMP|MKL|KMP|DNNL|ONEDNN|OPENBLAS|TORCH|TORCHINDUCTOR|PYTORCH|DALI|MALLOC|"
    r"GLIBC_TUNABLES|PADDLE|FLAGS_|GLOG|"
    r"LD_|PYTHON|XLA|TF_(?!VAR_|CLI_)|UCX|OMPI|HOROVOD|FI_|NVIDIA|DLSCALE)"
)
_SECRET = re.compile(
    r"(TOKEN|SECRET|PASS|PASSWORD|PASSWD|AUTH|CREDENTIAL|PRIVATE|KEYS?($|_))", re.IGNORECASE
)
_URL_PASSWORD = re.compile(r"(?<=://)[^/\s]+@")


@dataclass(frozen=True)
class Job:
    """Where the ranks of one repeat run, and where they read and write.

    `data` is the folder of class folders, empty for synthetic data; `hosts` has one name per
    node, and `gpus` what CUDA_VISIBLE_DEVICES calls those of this machine; `token` marks every
    process of the repeat, so that ours can be told from others.
    """

    python: Path
    data: str
    logs: Path
    hosts: list[str]
    gpus: list[str]
    port: int
    token: str
    seed: int


def node_commands(case: Case, manifest: Manifest, job: Job) -> list[NodeCommand]:
    """Return what is executed on each node of a case, in the order of the nodes."""
    loopback = {"GLOO_SOCKET_IFNAME": "lo"} if case.device == "cpu" else {}
    commands = []
    for node in range(case.nodes):
        places = {
            "folder": manifest.folder,
            "nodes": case.nodes,
            "node_rank": node,
            "devices": case.devices,
            "threads": case.threads,
            "master_address": "127.0.0.1",
            "master_port": job.port,
        }
        support = manifest.about.on[case.device]
        environment = {key: text.format(**places) for key, text in support.environment.items()}
        arguments = [
            str(job.python),
            *(part.format(**places) for part in manifest.about.start),
            str(manifest.folder / manifest.about.script),
            *script_arguments(case, job),
        ]
        if case.emulated and case.device == "cuda":
            mine = job.gpus[node * case.devices : (node + 1) * case.devices]
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(mine)
        environment = {**loopback, **environment, "DLSCALE_TOKEN": job.token}
        commands.append(
            NodeCommand(
                node=node, host=job.hosts[node], arguments=arguments, environment=environment
            )
        )
    return commands


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
