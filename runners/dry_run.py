"""`--dry-run`: the cases of a request, and exactly what would be executed."""

from pathlib import Path

from results.case_names import case_names
from results.record import shown
from runners import paths
from runners.command import Job, node_commands
from runners.prepare import Prepared
from runners.request import MAX
from runners.upstream_checkout import checkout_folder


def print_plan(prepared: Prepared) -> None:
    """Print each case with the command of each of its nodes; nothing is made or started."""
    plan, installed = prepared.selection.plan, prepared.installed
    print(f"{len(plan.cases)} cases x {plan.repeats} repeats on {prepared.machine.summary}")
    for note in prepared.notes:
        print(f"  {note}")
    if prepared.request.batch_size == MAX and not prepared.resumed:
        print("  the largest batch is searched first: shown is the one that the search begins with")
    names = case_names(plan.cases)
    for case in plan.cases:
        one = installed[case.implementation, case.strategy]
        print(f"\n{names[case]}: global batch {case.global_batch}")
        upstream, checkout = one.manifest.about.upstream, None
        if upstream and not upstream.package:
            checkout = checkout_folder(upstream, one.manifest.upstream_patch, paths.UPSTREAM)
        job = Job(
            python=one.python,
            checkout=checkout,
            data=str(prepared.data.folder_for(one.manifest.about.form_of(case.loader)) or ""),
            logs=Path("RUN") / f"{case.folder}_1",
            hosts=prepared.hosts,
            gpus=[gpu.id for gpu in prepared.machine.gpus],
            port=29500,
            token="TOKEN",  # noqa: S106 - a mark on processes, not a secret
            seed=prepared.request.seed,
        )
        for command in node_commands(case, one.manifest, job):
            print(f"node {command.node} ({command.host}): {shown(command)}")
