"""From a folder of images to a form, in parallel, so that it can be interrupted and gone on with.

Shards are written under a temporary name in `.unfinished`, beside a manifest for each that is
whole; `form.json` is written when all are there and have been read again.
"""

import errno
import hashlib
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec

from results.errors import InputError
from results.files import nearest_existing, write_atomically
from runners.forms.form import Form
from runners.forms.index import (
    INDEX,
    VERSION,
    FormIndex,
    Shard,
    fault_of,
    holds_form,
    missing_image,
    read_index,
)
from runners.forms.registry import FORMS
from runners.forms.tree import ShardPlan, Tree, plan_tree
from runners.lock_file import held
from runners.pool import run_in_processes, told_to_stop

UNFINISHED = ".unfinished"
JOB = "job.json"
LEAST_PER_WORKER = 512  # images, or starting a process costs more than it saves
SLACK = 1.02  # of the size of the images: what is written around them

# Called with what is being done, how much of it is done, and how much there is.
Progress = Callable[[str, int, int], None]


class Job(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an unfinished folder is to become."""

    form: str
    source: str


class Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The manifest of a shard that is whole: what it was made from, and what it is."""

    digest: str
    shard: Shard


def convert(
    source: Path,
    form: Form,
    to: Path,
    *,
    shards: int | None = None,
    workers: int | None = None,
    progress: Progress = lambda *_: None,
) -> FormIndex:
    """Make `form` from the images of `source` in the folder `to`, and check what was made.

    What an interrupted call has finished is kept and not made again, as far as its images are
    still the same. Raises `InputError` where an image is damaged, where `to` holds something
    else, is full or cannot be written, and where what was written reads otherwise.
    """
    tree = plan_tree(source, form, shards)
    work = to / UNFINISHED
    if holds_form(to):
        return _already_there(to, form, tree, workers, progress)
    try:
        _require_ours(to, form, tree)
        work.mkdir(parents=True, exist_ok=True)
        job = Job(form.name, str(tree.root))
        with held(work, f"{work.parent} is being written by"):
            write_atomically(work / JOB, msgspec.json.encode(job))
            done = _kept(to, form, tree)
            if not form.lists:
                _require_space(to, tree, done)
            _write_shards(to, form, tree, done, workers, progress)
            index = _index_of(to, form, tree, done)
            faults = verify_files(to, index, workers, progress)
            if faults:
                for number in faults:
                    _manifest(work, number).unlink(missing_ok=True)
                raise InputError(
                    f"{next(iter(faults.values()))}, though it has just been written: look at the "
                    "disk, then convert again; whole shards are kept."
                )
            write_atomically(to / INDEX, msgspec.json.format(msgspec.json.encode(index)) + b"\n")
            shutil.rmtree(work)
    except OSError as error:
        raise _disk_error(to, error) from error
    return index


def verify(
    folder: Path, *, workers: int | None = None, progress: Progress = lambda *_: None
) -> FormIndex:
    """Read all files of a form again; `InputError` names the first that is not as it was made."""
    index = read_index(folder)
    faults = verify_files(folder, index, workers, progress)
    if faults:
        more = f" ({len(faults):,} shards of {len(index.shards):,} are)" if len(faults) > 1 else ""
        raise InputError(f"{next(iter(faults.values()))}{more}: convert the images again.")
    if missing := missing_image(folder, index, most=index.images):
        raise InputError(
            f"{missing}, which {folder} lists, is not there: convert the images again."
        )
    return index


def verify_files(
    folder: Path, index: FormIndex, workers: int | None, progress: Progress
) -> dict[int, str]:
    """Return what is wrong with the shards, by number; a file beside them has -1."""
    form, found = FORMS[index.form], dict[int, str]()
    for other in index.others:
        if fault := fault_of(folder, other, None):
            found[-1] = fault
    check = partial(_fault, folder, form)
    counted = 0
    few = _workers(workers, index.images, len(index.shards))
    for shard, fault in run_in_processes(check, list(enumerate(index.shards)), few):
        counted += index.shards[shard].images
        progress("Checking", counted, index.images)
        if fault:
            found[shard] = fault
    return dict(sorted(found.items()))


def require_finished(folder: Path) -> None:
    """Raise `InputError` where a folder holds a conversion that was not finished."""
    if not holds_form(folder) and (folder / UNFINISHED / JOB).is_file():
        raise InputError(
            f"{folder} holds a conversion that is not finished: go on with `dlscale data convert`."
        )


def _fault(folder: Path, form: Form, numbered: tuple[int, Shard]) -> tuple[int, str]:
    number, shard = numbered
    return number, fault_of(folder, shard, form)


def _already_there(
    to: Path, form: Form, tree: Tree, workers: int | None, progress: Progress
) -> FormIndex:
    index = read_index(to)
    if (index.form, index.plan) != (form.name, tree.digest):
        raise InputError(
            f"{to} holds {index.form} files of {index.source} already, of other images or as other "
            "shards: remove it, or name another folder."
        )
    index = verify(to, workers=workers, progress=progress)
    shutil.rmtree(to / UNFINISHED, ignore_errors=True)  # killed between the two last steps
    return index


def _require_ours(to: Path, form: Form, tree: Tree) -> None:
    """Refuse a folder with something else in it than a conversion of this source to this form."""
    if to.resolve().is_relative_to(tree.root.resolve()):
        raise InputError(f"{to} is among the images of {tree.root}: name a folder outside.")
    if not to.is_dir():
        if os.path.lexists(to):
            raise InputError(f"{to} is not a folder: name one, or a place for one.")
        return
    there = {path.name for path in to.iterdir()}
    job = to / UNFINISHED / JOB
    begun = None
    with suppress(FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        begun = msgspec.json.decode(job.read_bytes(), type=Job)
    if begun and begun != Job(form.name, str(tree.root)):
        raise InputError(
            f"{to} holds an unfinished conversion of {begun.source} to {begun.form}: go on with "
            "it, remove it, or name another folder."
        )
    ours = {UNFINISHED}
    if begun:
        ours |= {form.file, form.index_file} | {shard.file for shard in tree.shards}
        ours |= {each.shard.file for each in _manifests(to / UNFINISHED).values()}
    # What a call that was killed was about to rename.
    half = {name for name in there if any(name.startswith(f".{one}.") for one in (*ours, INDEX))}
    if strangers := sorted(there - ours - half):
        raise InputError(
            f"{to} holds {strangers[0]!r}, which this conversion did not make: name an empty "
            "folder, or one that is not there yet."
        )


def _manifest(work: Path, number: int) -> Path:
    return work / f"{number:05d}.json"


def _manifests(work: Path) -> dict[int, Written]:
    found = {}
    for path in sorted(work.glob("[0-9]*.json")):
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            found[int(path.stem)] = msgspec.json.decode(path.read_bytes(), type=Written)
    return found


def _kept(to: Path, form: Form, tree: Tree) -> dict[int, Shard]:
    """Return the shards that are whole and still right; remove whatever else was begun."""
    work = to / UNFINISHED
    there, kept, place = _manifests(work), dict[int, Shard](), 0
    if form.single and (to / form.file).is_file():  # interrupted while it was being checked
        (to / form.file).replace(work / form.file)
    joined = _size(work / form.file) if form.single else -1
    for plan in tree.shards:
        written = there.get(plan.number)
        if written is None or written.digest != plan.digest:
            joined = -1  # what comes behind it stands elsewhere now
            continue
        place += written.shard.size
        if _size(_part(to, form, plan)) == written.shard.size or place <= joined:
            kept[plan.number] = written.shard
        else:
            joined = -1
    right = {JOB, form.file} if form.single else {JOB}
    for number in kept:
        right |= {_manifest(work, number).name, _part(to, form, tree.shards[number]).name}
    for folder in (to, work):
        for path in folder.iterdir():
            if path.name != UNFINISHED and path.name not in right:
                path.unlink()
    return kept


def _part(to: Path, form: Form, plan: ShardPlan) -> Path:
    """Return where a shard is written: its own file, or a part of the one file that is to be."""
    return to / UNFINISHED / f"part-{plan.number:05d}" if form.single else to / plan.file


def _write_shards(
    to: Path,
    form: Form,
    tree: Tree,
    done: dict[int, Shard],
    workers: int | None,
    progress: Progress,
) -> None:
    """Write the shards that are not done, and add them to those that are."""
    counted = sum(shard.images for shard in done.values())
    progress("Writing", counted, tree.images)
    missing = [plan for plan in tree.shards if plan.number not in done]
    write = partial(_write_shard, to, form)
    few = _workers(workers, tree.images, len(missing))
    for number, shard in run_in_processes(write, missing, few):
        done[number] = shard
        counted += shard.images
        progress("Writing", counted, tree.images)


def _write_shard(to: Path, form: Form, plan: ShardPlan) -> tuple[int, Shard]:
    """Write one shard and its manifest, each under another name until it is whole."""
    work, digest = to / UNFINISHED, hashlib.sha256()
    temporary = work / f"{plan.number:05d}.tmp"
    with temporary.open("wb") as file:
        for picture in plan.pictures:
            if told_to_stop():
                raise KeyboardInterrupt
            picture.check()
            record = form.record(picture)
            digest.update(record)
            file.write(record)
        size = file.tell()
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(_part(to, form, plan))
    images, checksum = len(plan.pictures), digest.hexdigest()
    shard = Shard(file=plan.file, size=size, images=images, sha256=checksum)
    written = msgspec.json.encode(Written(plan.digest, shard))
    write_atomically(_manifest(work, plan.number), written)
    return plan.number, shard


def _index_of(to: Path, form: Form, tree: Tree, done: dict[int, Shard]) -> FormIndex:
    shards = [done[plan.number] for plan in tree.shards]
    others: list[Shard] = []
    if form.single:
        shards = _join(to, form, tree, shards)
        if form.index_file:
            others.append(_write_index_file(to, form, shards))
    return FormIndex(
        form=form.name,
        version=VERSION,
        source=str(tree.root),
        plan=tree.digest,
        images=tree.images,
        image_bytes=tree.image_bytes,
        classes=tree.classes,
        shards=shards,
        others=others,
    )


def _join(to: Path, form: Form, tree: Tree, shards: list[Shard]) -> list[Shard]:
    """Append the parts to one file, each of which is removed when its bytes are on the disk.

    Parts that an interrupted call removed are at the file's beginning; anything behind them is
    half a part.
    """
    joined, place, stretches = to / UNFINISHED / form.file, 0, []
    with joined.open("r+b" if joined.exists() else "w+b") as file:
        for plan, shard in zip(tree.shards, shards, strict=True):
            part = _part(to, form, plan)
            if part.exists():
                file.truncate(place)
                file.seek(place)
                with part.open("rb") as content:
                    shutil.copyfileobj(content, file, 2**20)
                file.flush()
                os.fsync(file.fileno())
                part.unlink()
            stretches.append(msgspec.structs.replace(shard, offset=place))
            place += shard.size
        file.truncate(place)
    joined.replace(to / form.file)
    return stretches


def _write_index_file(to: Path, form: Form, shards: list[Shard]) -> Shard:
    """Write the file that says where each record begins."""
    if form.index_line is None:
        raise ValueError(f"{form.name} names an index file, and has no lines for it")
    with (to / form.file).open("rb") as file:
        ends = (shards[0].offset, shards[-1].offset + shards[-1].size)
        places = enumerate(form.walk(file, *ends))
        content = "".join(form.index_line(number, place) for number, place in places).encode()
    write_atomically(to / form.index_file, content)
    checksum = hashlib.sha256(content).hexdigest()
    return Shard(file=form.index_file, size=len(content), images=0, sha256=checksum)


def _workers(asked: int | None, images: int, shards: int) -> int:
    cores = len(os.sched_getaffinity(0))
    return min(shards, asked or min(cores, images // LEAST_PER_WORKER))


def _size(path: Path) -> int:
    """Return a file's size; -1 where there is none."""
    return path.stat().st_size if path.is_file() else -1


def _require_space(to: Path, tree: Tree, done: dict[int, Shard]) -> None:
    missing = [plan for plan in tree.shards if plan.number not in done]
    need = int(SLACK * sum(plan.image_bytes for plan in missing))
    free = shutil.disk_usage(nearest_existing(to)).free
    if free < need:
        raise InputError(
            f"The disk of {to} has no room: {need / 1e6:,.0f} MB are needed and {free / 1e6:,.0f} "
            "MB free; free some space or name another folder."
        )


def _disk_error(to: Path, error: OSError) -> InputError:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return InputError(
            f"The disk of {to} is full: free some space and convert again; whole shards are kept."
        )
    where = error.filename or to
    return InputError(
        f"{where} cannot be written ({error.strerror or error}): name a folder that can be."
    )
