"""Machines and requests that the tests make up."""

from runners.implementations import load_manifest
from runners.machine import Gpu, Machine
from runners.matrix import make_plan
from runners.request import Request

PYTORCH = load_manifest("pytorch").about


def machine(*, cores=2, gpus=0):
    return Machine(
        host="host1",
        processor="Some CPU",
        cores=cores,
        memory=2**34,
        gpus=[Gpu("V100-SXM2-16GB", 16160, "580.1", str(one)) for one in range(gpus)],
        system="Debian",
        kernel="6.1",
    )


def plan(where, *, hosts=None, about=PYTORCH, **options):
    """Return the plan of a request on a machine."""
    return make_plan(Request(framework="pytorch", **options), about, where, hosts)


def labels(where, **options):
    return [case.label for case in plan(where, **options).cases]
