"""Running ranks in the container that a manifest names, by the runtime that is there.

Options: docs.docker.com/reference/cli/docker/container/run, docs.podman.io (podman-run), and for
GPUs NVIDIA's container toolkit: `--gpus` of docker, CDI devices of podman.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from results.case import Device
from results.errors import InputError
from runners.given_interpreter import QUESTION, Interpreter, interpreter_of

RUNTIMES = ("docker", "podman")
PYTHON = Path("python")  # the image's own, on its PATH
_GPUS = {"docker": "--gpus=all", "podman": "--device=nvidia.com/gpu=all"}
_PATIENCE = 120.0  # seconds, for what starts a container and ends


@dataclass(frozen=True)
class Container:
    """An image, and the program that runs it; `digest` is the image's, once it is here."""

    runtime: str
    image: str
    digest: str = ""

    @property
    def run(self) -> list[str]:
        """The words that every command in it begins with.

        Ranks see the machine's network and shared memory as they are. Files that they write are the
        user's: podman sees to that by itself.
        """
        own = [f"--user={os.getuid()}:{os.getgid()}"] if self.runtime == "docker" else []
        return [self.runtime, "run", "--rm", "--network=host", "--ipc=host", *own]

    def started(
        self,
        name: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        *,
        device: Device,
        readable: Iterable[Path],
        writable: Iterable[Path],
        inherited: Iterable[str] = (),
    ) -> list[str]:
        """Return the command that runs `arguments` in it; folders lie there where they lie here.

        `inherited` are the names of the user's variables that it is to see.
        """
        folders = {**dict.fromkeys(readable, ":ro"), **dict.fromkeys(writable, "")}
        for folder in folders:
            if ":" in str(folder):
                raise InputError(
                    f"{folder} cannot be seen in a container, since its name holds a colon: "
                    "give it another."
                )
        variables = {"HOME": "/tmp", **environment}  # noqa: S108 - the container's own
        return [
            *self.run,
            f"--name={name}",
            "--workdir=/tmp",
            *([_GPUS[self.runtime]] if device == "cuda" else []),
            *(f"--volume={folder}:{folder}{mode}" for folder, mode in folders.items()),
            *(f"--env={name}" for name in inherited),
            *(f"--env={key}={value}" for key, value in variables.items()),
            self.image,
            *arguments,
        ]

    def fetched(self) -> "Container":
        """Fetch the image where it is not here yet, and see which one it is."""
        if not _works(self.runtime):
            raise InputError(
                f"The image {self.image} needs {' or '.join(RUNTIMES)}, and neither works here: "
                "install one, or name a Python that has the framework with INTERPRETER=PATH."
            )
        if not _said(self.runtime, "image", "inspect", self.image):
            print(f"Fetching the image {self.image}; it is gigabytes ...", file=sys.stderr)
            fetched = subprocess.run([self.runtime, "pull", self.image], check=False)
            if fetched.returncode:
                raise InputError(
                    f"The image {self.image} cannot be fetched: {self.runtime} failed as shown "
                    f"above. Mend what it names, or fetch it by hand: {self.runtime} pull "
                    f"{self.image}"
                )
        digest = _said(self.runtime, "image", "inspect", "--format={{.Id}}", self.image)
        return replace(self, digest=digest)

    def interpreter(self) -> Interpreter:
        """Return the image's Python and what it holds."""
        asked = ("run", "--rm", "--network=none", self.image, str(PYTHON), "-c", QUESTION)
        said = _said(self.runtime, *asked)
        found = interpreter_of(PYTHON, said)
        if found is None:
            raise InputError(
                f"The image {self.image} does not say what its Python holds: see what "
                f"`{self.runtime} run --rm {self.image} python --version` says."
            )
        return found

    def remove(self, name: str) -> None:
        """End and remove a container, if it is still there."""
        _said(self.runtime, "rm", "--force", name)


def find_runtime() -> str:
    """Return the first runtime that works here; empty where none does.

    A client of docker alone, without its engine, does not.
    """
    return next(filter(_works, RUNTIMES), "")


def _works(runtime: str) -> bool:
    return shutil.which(runtime) is not None and _said(runtime, "info") != ""


def _said(runtime: str, *arguments: str) -> str:
    """Return what a runtime prints; empty where it fails."""
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            [runtime, *arguments], capture_output=True, text=True, check=False, timeout=_PATIENCE
        )
        if done.returncode == 0:
            return done.stdout.strip()
    return ""
