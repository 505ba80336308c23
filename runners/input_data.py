"""What a run reads: a user's folder, the sample that dlscale makes, or nothing (synthetic).

A loader reads class folders of images, or a form that was made from them (runners/forms).
"""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from results.errors import InputError
from runners import convert, paths
from runners.data_check import ImageFolderFacts, check_image_folder
from runners.forms.index import check_form, holds_form, read_index
from runners.forms.registry import FORMS
from runners.forms.tree import plan_tree
from runners.lock_file import in_turn
from runners.sample import make_sample, sample_is_whole

SYNTHETIC = "synthetic"
SAMPLE_IMAGES, SAMPLE_CLASSES, SAMPLE_SEED = 512, 16, 0
SAMPLE = paths.DATA / f"sample-{SAMPLE_IMAGES}"


@dataclass(frozen=True)
class InputData:
    """`folder` is what ranks read, None for synthetic data; `checked` describes it.

    `forms` are those in which the sample is read too, or instead.
    """

    folder: Path | None
    checked: ImageFolderFacts | None = None
    sample: bool = False
    forms: tuple[str, ...] = ()

    def ready(self, console: Console) -> Path | None:
        """Return the folder to read, after making the sample and its forms where they are read."""
        if self.sample and self.folder:
            ensure_sample(SAMPLE, console)
            for form in self.forms:
                ensure_form(self.folder, form, sample_as(form), console)
        return self.folder

    def folder_for(self, form: str) -> Path | None:
        """Return the folder for a loader that reads a form; empty: class folders."""
        return sample_as(form) if form in self.forms else self.folder

    @property
    def notes(self) -> list[str]:
        """Say what a reader must know of the data."""
        if not self.sample:
            return []
        return [f"input: dlscale's own sample of {SAMPLE_IMAGES} generated JPEGs, not ImageNet"]

    def facts(self) -> dict[str, Any]:
        """Describe the data for the record."""
        if self.folder is None:
            return {"folder": SYNTHETIC}
        checked = self.checked or check_image_folder(self.folder)
        facts = {**asdict(checked), "root": str(checked.root), "folder": str(self.folder)}
        if self.sample:
            facts["sample_seed"] = SAMPLE_SEED
            facts["converted"] = {form: str(sample_as(form)) for form in self.forms}
        return facts


def find_data(named: str | None, forms: Mapping[str, str]) -> InputData:
    """Return the data that a request names, checked; `InputError` says what is wrong with it.

    `forms` gives what each loader of the run reads: a form, or class folders where it is empty.
    """
    if named == SYNTHETIC:
        return InputData(None)
    if named is None:
        wanted = tuple(sorted({form for form in forms.values() if form}))
        return InputData(SAMPLE / "train", sample=True, forms=wanted)
    folder = Path(named).absolute()
    convert.require_finished(folder)
    form = read_index(folder).form if holds_form(folder) else ""
    for loader, wanted_form in forms.items():
        if wanted_form != form:
            raise _another_form(folder, form, loader, wanted_form)
    checked = check_form(folder) if form else check_image_folder(folder)
    return InputData(checked.root, checked)


def _another_form(folder: Path, form: str, loader: str, wanted: str) -> InputError:
    """Say that a folder does not hold what a loader reads, and what to do."""
    if form:
        reads = f"reads {wanted} files" if wanted else "reads folders of images"
        return InputError(
            f"{folder} holds {form} files, and LOADER={loader} {reads}: name a loader that reads "
            f"{form} (see `dlscale list`), or the images that they were made from, "
            f"{read_index(folder).source}."
        )
    check_image_folder(folder, limit=1)
    return InputError(
        f"LOADER={loader} reads {wanted} files, and {folder} is a folder of images: make them with "
        f"`dlscale data convert {folder} --form {wanted} --to DIR`, then give DATA=DIR."
    )


def sample_as(form: str) -> Path:
    """Return the folder in which the sample lies in a form."""
    return SAMPLE.with_name(f"{SAMPLE.name}-{form}")


def ensure_form(source: Path, form: str, to: Path, console: Console) -> None:
    """Convert images where that was not done yet, or where they have changed since."""
    if _is_converted(source, form, to):
        return
    with _in_turn(to):
        if _is_converted(source, form, to):
            return
        if holds_form(to):
            shutil.rmtree(to)
        with progress_bar(console, to) as progress:
            convert.convert(source, FORMS[form], to, progress=progress)


def _is_converted(source: Path, form: str, to: Path) -> bool:
    if holds_form(to):
        with suppress(InputError):
            check_form(to)
            return read_index(to).plan == plan_tree(source, FORMS[form]).digest
    return False


@contextmanager
def _in_turn(folder: Path) -> Iterator[None]:
    try:
        with in_turn(folder):
            yield
    except OSError as error:
        raise InputError(
            f"{folder} cannot be made ({error.strerror}): make {folder.parent} writable."
        ) from error


@contextmanager
def progress_bar(console: Console, to: Path) -> Iterator[convert.Progress]:
    """Show how far a conversion is."""
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(f"Looking at the images for {to}", total=None)
        yield lambda what, done, total: bar.update(
            task, description=f"{what} {to}", completed=done, total=total
        )


def ensure_sample(
    folder: Path,
    console: Console,
    *,
    images: int = SAMPLE_IMAGES,
    classes: int = SAMPLE_CLASSES,
    seed: int = SAMPLE_SEED,
) -> None:
    """Make the sample where it is not there yet, with a progress bar."""

    def is_made() -> bool:
        return sample_is_whole(folder, images=images, classes=classes, seed=seed)

    if is_made():
        return
    with _in_turn(folder), Progress(console=console, transient=True) as bar:
        if is_made():
            return
        task = bar.add_task(f"Making {images} JPEGs in {folder}", total=None)
        make_sample(
            folder,
            images=images,
            classes=classes,
            seed=seed,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
