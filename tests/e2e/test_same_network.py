"""Every framework trains the same network: as PyTorch's, from the same weights and images."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from harness import environment

from results.verdict import PARAMETERS

pytestmark = pytest.mark.slow
NETWORK = Path(__file__).parent / "network"
# Largest difference of the logits over the largest logit, in float32; after three SGD steps in
# float64, of the losses likewise, and of the weights as a share of how far the steps moved them.
TOLERANCES = {"inference": 1e-5, "training": 1e-3, "losses": 1e-6, "weights": 1e-5}


def run(framework, script, file):
    command = [environment(framework), NETWORK / script, file]
    threads = {"OMP_NUM_THREADS": "2"}
    return subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, **threads}
    ).stdout


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    file = tmp_path_factory.mktemp("network") / "reference.npz"
    run("pytorch", "reference.py", file)
    return file


@pytest.mark.parametrize("framework", ["paddlepaddle"])
def test_the_same_logits_losses_and_weights(framework, reference):
    found = json.loads(run(framework, f"{framework}.py", reference).splitlines()[-1])
    assert found.pop("parameters") == PARAMETERS
    assert found.keys() == TOLERANCES.keys()
    assert {what: found[what] for what in found if found[what] > TOLERANCES[what]} == {}
