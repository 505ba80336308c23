"""What a run reads: a user's folder, the sample that dlscale makes, or nothing (synthetic)."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from runners import paths
from runners.data_check import ImageFolderFacts, check_image_folder
from runners.sample import make_sample, sample_is_whole

SYNTHETIC = "synthetic"
SAMPLE_IMAGES, SAMPLE_CLASSES, SAMPLE_SEED = 512, 16, 0
SAMPLE = paths.DATA / f"sample-{SAMPLE_IMAGES}"


@dataclass(frozen=True)
class InputData:
    """`folder` is that of the class folders, None for synthetic data; `checked` describes it."""

    folder: Path | None
    checked: ImageFolderFacts | None = None
    sample: bool = False

    def ready(self, console: Console) -> Path | None:
        """Return the folder to read, after making the sample where that is what is read."""
        if self.sample:
            ensure_sample(SAMPLE, console)
        return self.folder

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
        return facts


def find_data(named: str | None) -> InputData:
    """Return the data that a request names, checked; `InputError` says what is wrong with it."""
    if named == SYNTHETIC:
        return InputData(None)
    if named is None:
        return InputData(SAMPLE / "train", sample=True)
    checked = check_image_folder(Path(named).absolute())
    return InputData(checked.root, checked)


def ensure_sample(
    folder: Path,
    console: Console,
    *,
    images: int = SAMPLE_IMAGES,
    classes: int = SAMPLE_CLASSES,
    seed: int = SAMPLE_SEED,
) -> None:
    """Make the sample where it is not there yet, with a progress bar."""
    if sample_is_whole(folder, images=images, classes=classes, seed=seed):
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(f"Making {images} JPEGs in {folder}", total=None)
        make_sample(
            folder,
            images=images,
            classes=classes,
            seed=seed,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
