"""Building the environments of several implementations side by side."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from results.errors import InputError
from results.failure import printable
from runners.environment import ensure_environment, is_built
from runners.manifest import Manifest

# They wait for network and disk most of the time; what is built from source takes cores.
MOST_AT_ONCE = 3
POLL_SECONDS = 0.1


@dataclass
class Build:
    """A `dlscale build` of one environment, and its log."""

    process: subprocess.Popen[bytes]
    log: Path
    task: TaskID


def ensure_environments(
    manifests: Mapping[str, Manifest], home: Path, named_python: str | None, console: Console
) -> dict[str, str]:
    """Build the environments that are missing; return who could not be given one, and why.

    One alone is built in sight, and its failure is an `InputError`. Of several, the log of each
    lies in `home`, and if none can be had, that is an `InputError` too.
    """
    if len(manifests) == 1:
        ensure_environment(next(iter(manifests.values())), home, named_python)
        return {}
    if named_python:
        raise InputError(
            f"--python={named_python} is the Python of one environment, and each of "
            f"{', '.join(manifests)} has its own: name one framework and strategy, or leave it out."
        )
    missing = {name: one for name, one in manifests.items() if not is_built(one, home)}
    unbuilt = _build_all(missing, home, console) if missing else {}
    if len(unbuilt) == len(manifests):
        raise InputError(" ".join(unbuilt.values()))
    return unbuilt


def _build_all(missing: dict[str, Manifest], home: Path, console: Console) -> dict[str, str]:
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Environments cannot be kept in {home}: {error.strerror}.") from error
    console.print(
        f"Building environments in {home}: {', '.join(missing)}; together they can be tens of "
        "gigabytes ...",
        highlight=False,
        soft_wrap=True,
    )
    waiting, running = dict(missing), dict[str, Build]()
    unbuilt: dict[str, str] = {}
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bars:
        try:
            while waiting or running:
                while waiting and len(running) < MOST_AT_ONCE:
                    name = next(iter(waiting))
                    running[name] = _start(name, waiting.pop(name), home, bars)
                for name, build in list(running.items()):
                    code = build.process.poll()
                    if code is None:
                        continue
                    del running[name]
                    bars.remove_task(build.task)
                    if code:
                        unbuilt[name] = _reason(name, build.log)
                    else:
                        build.log.unlink()
                    said = f"[red]{escape(unbuilt[name])}[/]" if code else "built"
                    console.print(f"{name}: {said}", highlight=False, soft_wrap=True)
                time.sleep(POLL_SECONDS)
        finally:
            for build in running.values():
                with suppress(ProcessLookupError):
                    os.killpg(build.process.pid, signal.SIGTERM)
            for build in running.values():
                build.process.wait()
    return {name: unbuilt[name] for name in missing if name in unbuilt}


def _start(name: str, manifest: Manifest, home: Path, bars: Progress) -> Build:
    log = home / f"{name}.log"
    command = [sys.executable, "-m", "runners.cli", "build", str(manifest.folder)]
    command += [f"--strategy={manifest.strategy}"] if manifest.strategy else []
    with log.open("wb") as file:
        process = subprocess.Popen(
            [*command, f"--environments={home}"],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            process_group=0,  # with it end uv and the compilers that it started
        )
    return Build(process, log, bars.add_task(f"{name} (log: {log})", total=None))


def _reason(name: str, log: Path) -> str:
    """Return the sentence that a build ended with."""
    lines = [printable(line) for line in log.read_text(errors="replace").splitlines() if line]
    last = lines[-1] if lines else "it was ended"
    said = last.removeprefix("dlscale: ").replace("as shown above", f"as {log} shows")
    return said if name in said else f"The environment of {name} could not be built: {said} ({log})"
