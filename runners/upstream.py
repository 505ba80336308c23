"""What a manifest says of a training script that is not ours: where it is from, what it is told."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from results.case import Data, Layout, Precision

_SHOWN = 3

# Empty where there is none.
_Address = Annotated[str, msgspec.Meta(pattern=r"^((https://|ssh://|file:///|/)[^\s]+)?$")]
_Commit = Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{40})?$")]


class Upstream(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a script comes from, and what it is told.

    `paths` are the files and folders of `repository` that are fetched, at `commit`; `patch` is a
    file beside the manifest that they are changed with. Or `package` is a locked package of its
    environment, and the script is a module of it. `log_format` is the format of what it prints
    (results/formats). `arguments` are given always, those of `data`, `precision` and `layout` with
    each kind of input, precision and layout that it has, those of `compile` with the framework's
    compiler; places in braces are filled in as in `start`. `image_sizes` in pixels, empty for any.
    An `endless` script has no option that ends it after so many steps: it is ended once they are
    in its log.
    `differences` say what is not as it was published, and `other_versions` what goes wrong under
    other versions of the framework than the pinned one.
    """

    repository: _Address = ""
    commit: _Commit = ""
    paths: list[str] = []
    package: str = ""
    log_format: str
    arguments: list[str]
    data: Annotated[dict[Data, list[str]], msgspec.Meta(min_length=1)]
    precision: dict[Precision, list[str]] = {}
    layout: dict[Layout, list[str]] = {}
    compile: list[str] = []
    image_sizes: list[int] = []
    endless: bool = False
    patch: str = ""
    differences: list[str] = []
    other_versions: str = ""

    def __post_init__(self) -> None:
        """Refuse what is neither a commit of a repository nor a package."""
        fetched = [self.repository, self.commit, self.paths]
        if self.package and any([*fetched, self.patch]):
            raise ValueError("a package has no repository, commit, paths or patch")
        if not self.package and not all(fetched):
            raise ValueError("repository, commit and paths are needed, or a package")

    @property
    def texts(self) -> list[str]:
        """Everything in which places are filled in."""
        chosen = [text for _, some in self.by_choice for text in some]
        return [*self.arguments, *chosen, *self.compile]

    @property
    def by_choice(self) -> list[tuple[str, list[str]]]:
        """Each kind of input, precision and layout, with what is told for it."""
        return [*self.data.items(), *self.precision.items(), *self.layout.items()]


def the_first_of(files: Sequence[str]) -> str:
    """Return the first files' names as an error shows them, and how many more there are."""
    more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    return ", ".join(files[:_SHOWN]) + more
