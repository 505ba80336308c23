"""Running the repeats of a run, interleaved, and going on with one that was interrupted."""

import errno
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from results.case import Case
from results.errors import InputError
from results.record import REPEAT_FILE, RUN_FILE, RepeatRecord, RunRecord, read_repeat, read_run
from results.store import ATTEMPTS, LATEST, find_run
from runners import paths
from runners.command import Job, container_name, node_commands
from runners.lock_file import held
from runners.manifest import Manifest
from runners.progress import Progress
from runners.repeat import free_port, run_repeat, token_of
from runners.upstream_checkout import checkout_of
from runners.upstream_package import verify_package


@dataclass(frozen=True)
class Installed:
    """An implementation, and the Python of its environment."""

    manifest: Manifest
    python: Path


@dataclass(frozen=True)
class Place:
    """Where a run's repeats are started: implementations, data, hosts, GPUs.

    `installed` is by name and strategy, which can have a Python of its own; `converted` are folders
    of the forms in which `data` lies there too.
    """

    installed: dict[tuple[str, str], Installed]
    data: str
    hosts: list[str]
    gpus: list[str]
    seed: int
    timeout: float
    converted: dict[str, str] = field(default_factory=dict)


def run_all(run: Path, record: RunRecord, place: Place, progress: Progress) -> None:
    """Run every repeat that is missing, one repeat of each case in turn.

    A drift of the machine then falls on all cases alike. A repeat that fails is recorded, and
    the run goes on. Raises `InputError` where another process is at this run.
    """
    with held(run / RUN_FILE, f"Run {run.name} is going on in"):
        todo = list(missing(run, record))
        progress.start(record, done=len(record.cases) * record.repeats - len(todo))
        for case, repeat in todo:
            folder = run / f"{case.folder}_{repeat}"
            progress.begin(case, repeat)
            try:
                set_aside(run, folder)
                ended = run_one(case, repeat, place, folder, progress.phase)
            except OSError as error:
                raise disk_error(run, error) from error
            progress.end(ended)


def run_one(
    case: Case,
    repeat: int,
    place: Place,
    folder: Path,
    on_phase: Callable[[str], None] = lambda _: None,
) -> RepeatRecord:
    """Run one repeat of a case in `folder`; `on_phase` hears what it is at."""
    token = token_of(folder)
    installed = place.installed[case.implementation, case.strategy]
    form = installed.manifest.about.form_of(case.loader)
    upstream = installed.manifest.about.upstream
    job = Job(
        python=installed.python,
        checkout=_verified_checkout(installed),
        data=place.converted.get(form, place.data),
        logs=folder,
        hosts=place.hosts,
        gpus=place.gpus,
        port=free_port(),
        token=token,
        seed=place.seed,
    )
    commands = node_commands(case, installed.manifest, job)
    try:
        return run_repeat(
            case,
            repeat,
            commands,
            folder,
            token=token,
            timeout=place.timeout,
            on_phase=on_phase,
            endless=upstream is not None and upstream.endless,
        )
    finally:
        if container := installed.manifest.container:
            for command in commands:
                container.remove(container_name(token, command.node))


def _verified_checkout(installed: Installed) -> Path | None:
    """Look again at a script that is not ours; return its checkout, where it has one."""
    manifest = installed.manifest
    upstream = manifest.about.upstream
    if upstream and upstream.package:
        verify_package(upstream.package, manifest.site_packages(installed.python))
    return checkout_of(manifest, paths.UPSTREAM)


def missing(run: Path, record: RunRecord) -> Iterator[tuple[Case, int]]:
    """Yield the (case, repeat) that have not been run to an end, in the order of running."""
    for repeat in range(1, record.repeats + 1):
        for case in record.cases:
            if not _is_done(run / f"{case.folder}_{repeat}"):
                yield case, repeat


def latest_unfinished(store: Path) -> Path:
    """Return the latest run of a store in which a repeat is missing, or `InputError`."""
    find_run(store, LATEST)
    for record in sorted(store.glob(f"*/{RUN_FILE}"), reverse=True):
        with suppress(InputError):
            if next(missing(record.parent, read_run(record.parent)), None):
                return record.parent
    raise InputError(f"No run in {store} is unfinished: there is nothing to go on with.")


def disk_error(folder: Path, error: OSError) -> InputError:
    """Return what to tell the user when a run's folder cannot be written."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        what = "is full"
        remedy = "free some space"
    else:
        what = f"cannot be written ({error.strerror})"
        remedy = "make it writable"
    return InputError(
        f"The results folder {folder} {what}: {remedy}, then go on with --resume; "
        "what was measured is kept."
    )


def _is_done(folder: Path) -> bool:
    if not (folder / REPEAT_FILE).exists():
        return False
    try:
        return read_repeat(folder).outcome != "interrupted"
    except InputError as error:
        raise InputError(
            f"{error} It was left alone: remove its folder, and --resume runs that repeat again."
        ) from error


def set_aside(run: Path, folder: Path) -> None:
    """Keep what an interrupted attempt left, out of the way of the next one."""
    if not folder.exists():
        return
    inside = run / ATTEMPTS / folder.relative_to(run)
    inside.parent.mkdir(parents=True, exist_ok=True)
    attempt = 1
    while (target := inside.with_name(f"{inside.name}-{attempt}")).exists():
        attempt += 1
    folder.rename(target)
