"""Runs the real command and the real training scripts, of any framework."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
from rich.console import Console

from results.formats import mllog
from results.verdict import judge
from runners import paths
from runners.bench import Installed, Place, run_one
from runners.convert import convert
from runners.environment import ensure_environment, python_of
from runners.forms.registry import FORMS
from runners.implementations import load_manifest
from runners.input_data import SAMPLE, ensure_form, ensure_sample, sample_as
from runners.machine import this_machine
from runners.matrix import make_plan
from runners.request import Request

ROOT = Path(__file__).parents[2]
FAULTS = Path(__file__).parent / "faults"
NETWORK = Path(__file__).parent / "network"
QUICK = ["--image-size=64", "--batch=4", "--warmup=1", "--steps=3"]


def environment(framework, strategy=""):
    """Return the interpreter of a framework's environment, built if need be; the sample too.

    Where a strategy has its own environment, name it.
    """
    ensure_sample(SAMPLE, Console(stderr=True))
    manifest = load_manifest(framework)
    manifest = manifest.for_strategy(strategy) if strategy else manifest
    return python_of(ensure_environment(manifest, paths.ENVIRONMENTS))


def sample_for(form):
    """Return the folder of the sample, in a form that is made if need be."""
    if not form:
        return str(SAMPLE / "train")
    ensure_form(SAMPLE / "train", form, sample_as(form), Console(stderr=True))
    return str(sample_as(form))


def bench(framework, tmp_path, *options, under=()):
    """Run `dlscale bench`; the words of `under` go before it, such as those of prlimit."""
    command = [*under, sys.executable, "-m", "runners.cli", "bench", framework, *options]
    folders = [f"--results={tmp_path / 'runs'}", f"--reports={tmp_path / 'reports'}"]
    return subprocess.run(
        [*command, *folders], cwd=ROOT, capture_output=True, text=True, check=False
    )


def run_here(framework, python, script, *arguments):
    """Run a script of ours on a framework's Python, with the variables that the driver sets."""
    on_cpu = load_manifest(framework).about.on["cpu"].environment
    packages = next(Path(python).parents[1].glob("lib/python*/site-packages"))
    variables = {k: text.format(threads=2, packages=packages) for k, text in on_cpu.items()}
    return subprocess.run(
        [python, script, *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def damaged_tree(folder):
    """Write a folder of classes with four whole images and one that is cut; return both paths."""
    tree = folder / "train"
    (tree / "n00000001").mkdir(parents=True)
    whole = sorted((SAMPLE / "train").glob("*/*.JPEG"))[:4]
    for image in whole:
        (tree / "n00000001" / image.name).write_bytes(image.read_bytes())
    cut = tree / "n00000001" / "cut.JPEG"
    cut.write_bytes(whole[0].read_bytes()[:5000])
    return tree, cut


def damaged_records(folder, form):
    """Convert four whole images, then overwrite the middle of one; return the records, the image.

    Sizes are as before: `dlscale data convert --verify` alone would tell.
    """
    tree, cut = damaged_tree(folder)
    cut.unlink()
    convert(tree, FORMS[form], folder / "records", shards=1)
    image = min(tree.glob("*/*"))
    whole = image.read_bytes()
    middle = len(whole) // 2
    spoilt = whole[:middle] + bytes(2000) + whole[middle + 2000 :]
    (file,) = (path for path in (folder / "records").iterdir() if whole in path.read_bytes())
    file.write_bytes(file.read_bytes().replace(whole, spoilt))
    return folder / "records", image


def torchvision_crops(folder):
    """Return the file of the crops that torchvision chooses."""
    chosen = folder / "crops.npz"
    done = run_here("pytorch", environment("pytorch"), NETWORK / "torchvision_crops.py", chosen)
    assert done.returncode == 0, done.stderr
    return chosen


def images_to_look_at(folder):
    """Write images; return the file of torchvision's crops, and the images' folder."""
    sys.path.append(str(NETWORK))
    from records import write_images

    chosen = torchvision_crops(folder)
    write_images(folder / "images", np.load(chosen)["sizes"].tolist())
    return chosen, folder / "images"


def records_to_look_at(folder, form):
    """Write images, and convert them; return the file of torchvision's crops and the records."""
    chosen, every = images_to_look_at(folder)
    for images in sorted(every.iterdir()):
        convert(images, FORMS[form], folder / "records" / images.name)
    return chosen, folder / "records"


def the_run(tmp_path):
    (record,) = (tmp_path / "runs").glob("*/record.json")
    return record.parent


def living(token):
    """Return the pids whose environment holds the token, by reading /proc ourselves."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if token.encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def plan_case(framework, **request):
    fields = {"image_size": 64, "batch_size": 4, "warmup": 1, "steps": 3, "devices": 2}
    fields = {"cases": ["1n2g"], **fields, **request}
    asked = Request(framework=framework, device="cpu", **fields)
    manifest = load_manifest(framework)
    return make_plan(asked, manifest.about, this_machine(), None).cases[0]


def run_script(framework, python, script, folder, case, **place):
    """Run one repeat with another script in place of train.py, as the driver would."""
    manifest = load_manifest(framework)
    if script:
        about = msgspec.structs.replace(
            manifest.about, script=str(FAULTS / f"{framework}_{script}")
        )
        manifest = replace(manifest, about=about)
    where = {
        "data": "" if case.data == "synthetic" else sample_for(manifest.about.form_of(case.loader)),
        "hosts": ["here"] * case.nodes,
        "gpus": [],
        "seed": 0,
        "timeout": 300.0,
    }
    installed = {(framework, case.strategy): Installed(manifest, python)}
    place = Place(installed=installed, **{**where, **place})
    record = run_one(case, 1, place, folder)
    logs = [mllog.read(path.read_bytes()) for path in sorted(folder.glob("rank*.log"))]
    return judge(record, logs), record


def losses_on_equal_data(framework, python, folder, **request):
    """Return the losses of rank 0 alone, and beside another rank that has the same batch.

    They are alike only if gradients are averaged: added, they would make steps twice as long.
    """
    cases = [plan_case(framework, data="synthetic", cases=[n], **request) for n in ("1n1g", "1n2g")]
    return losses_of_cases_on_equal_data(framework, python, folder, cases)


def losses_of_cases_on_equal_data(framework, python, folder, cases):
    """Return the losses of rank 0 in each of the cases, whose ranks all have the same batch."""
    losses = []
    for number, case in enumerate(cases):
        home = folder / str(number)
        result, record = run_script(framework, python, "same_data.py", home, case)
        assert result.reason == "", record.tail
        losses.append(mllog.read((home / "rank0.log").read_bytes()).losses.tolist())
    return losses
