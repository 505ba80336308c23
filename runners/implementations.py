"""The implementations that come with dlscale, or lie in a folder: found, read and checked."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from results.errors import InputError
from results.formats import formats
from runners.description import Description
from runners.forms.registry import FORMS
from runners.manifest import COMMON, MANIFEST, Manifest

_UPSTREAM = COMMON.with_name("upstream")
# The edition of upstream scripts that a name is looked for in where none is asked for.
TODAY = "today"
_NAME = re.compile(r"(?!interrupted$)[A-Za-z0-9][A-Za-z0-9_.-]{0,60}")
# What can stand in braces in `start` and `environment`; runners/command.py fills it in.
PLACES = [
    *("folder", "nodes", "node_rank", "devices", "ranks", "threads", "backend"),
    *("master_address", "master_port", "hosts", "python", "packages"),
    *("node_address", "addresses", "endpoints", "device_ids"),
]
# What can stand in braces in the arguments of an upstream script, too.
UPSTREAM_PLACES = [
    *("data", "data_root", "batch", "node_batch", "global_batch", "image_size", "workers"),
    *("device", "amp_dtype", "node_workers", "total_steps", "more_steps", "images"),
    *("learning_rate", "node_learning_rate", "checkout", "shards"),
]


def implementations(edition: str = "") -> list[str]:
    """Return the names of the implementations that come with dlscale, in order.

    Of an edition they are upstream scripts; `InputError` where there is no such edition.
    """
    if edition and edition not in editions():
        raise InputError(
            f"EDITION={edition!r} is none of {', '.join(editions())}: choose of these."
        )
    return sorted(path.parent.name for path in _home(edition).glob(f"*/{MANIFEST}"))


def editions() -> list[str]:
    """Return the editions of upstream scripts: each pins commits and versions of one time."""
    return sorted({path.parents[1].name for path in _UPSTREAM.glob(f"*/*/{MANIFEST}")})


def every_manifest() -> list["Manifest"]:
    """Return all that comes with dlscale, of every edition."""
    return [load_manifest(name, one) for one in ("", *editions()) for name in implementations(one)]


def load_manifest(name: str, edition: str = "") -> Manifest:
    """Load the manifest of an implementation, or of a folder that holds a `benchmark.toml`.

    A name that is none of our own is looked for in an edition of upstream scripts. Raises
    `InputError` where there is no such implementation, or its manifest is not valid.
    """
    own = implementations()
    upstream = implementations(edition or TODAY)
    home = _home("" if name in own else edition or TODAY)
    folder = Path(name) if "/" in name else home / name
    if name not in {*own, *upstream} and not ("/" in name and (folder / MANIFEST).is_file()):
        raise InputError(
            f"Unknown framework {name!r}: choose one of {', '.join(own)}, of "
            f"{', '.join(upstream)} (edition {edition or TODAY}; see `dlscale list`), or name a "
            f"folder that holds a {MANIFEST}."
        )
    path = folder.resolve() / MANIFEST
    try:
        about = msgspec.toml.decode(path.read_bytes(), type=Description)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a valid manifest: {error}.") from error
    if not _NAME.fullmatch(about.name):
        raise InputError(f"{path}: the name {about.name!r} cannot be a folder's: choose another.")
    needed = [one.requirements for one in about.strategy.values() if one.requirements]
    needed += [about.requirements or MANIFEST, *about.build.patches.values()]
    needed += [about.upstream.patch or MANIFEST] if about.upstream else [about.script]
    for key in needed:
        if not (path.parent / key).is_file():
            raise InputError(f"{path} names {key!r}, which is not in its folder.")
    for device, support in about.on.items():
        if "amp" in support.precisions and not support.amp_dtypes:
            raise InputError(f"{path}: amp on {device} needs at least one of amp_dtypes.")
        if not about.strategies_on(device):
            raise InputError(f"{path}: no strategy has backends on {device}.")
    for package in about.build.patches:
        if package not in about.build.packages:
            raise InputError(f"{path}: build has a patch for {package!r}, which it does not build.")
    _check_forms(path, about)
    environments = [one for support in about.on.values() for one in support.environments]
    variables = [text for one in environments for text in one.values()]
    starts = [text for strategy in about.strategy.values() for text in strategy.starts]
    places = [*PLACES, *UPSTREAM_PLACES] if about.upstream else PLACES
    _check_places(path, [*starts, *variables], places)
    _check_upstream(path, about)
    return Manifest(path.parent, about)


def _check_places(path: Path, texts: list[str], places: list[str]) -> None:
    for text in texts:
        try:
            text.format(**dict.fromkeys(places, 0))
        except (LookupError, ValueError, AttributeError) as error:
            raise InputError(
                f"{path}: {text!r} holds braces, but none of {', '.join(places)}."
            ) from error


def _check_upstream(path: Path, about: Description) -> None:
    given = [text for one in about.strategy.values() for text in one.upstream_arguments]
    if about.upstream is None:
        if given:
            raise InputError(f"{path}: arguments of a strategy are for upstream scripts alone.")
        return
    _check_places(path, [*given, *about.upstream.texts], [*PLACES, *UPSTREAM_PLACES])
    if bool(about.compiler) != bool(about.upstream.compile):
        raise InputError(f"{path}: compiler and upstream.compile are given both, or none.")
    package = about.upstream.package
    if package and package not in Manifest(path.parent, about).pins:
        raise InputError(f"{path}: {about.requirements} does not lock {package!r}.")
    known = [form.name for form in formats()]
    if about.upstream.log_format not in known:
        raise InputError(
            f"{path}: log_format {about.upstream.log_format!r} is none of {', '.join(known)}."
        )
    for support in about.on.values():
        _check_all_told(path, "precision", about.upstream.precision, support.precisions)
        _check_all_told(path, "layout", about.upstream.layout, support.layouts)


def _check_all_told(path: Path, key: str, told: Collection[str], values: Sequence[str]) -> None:
    missing = [value for value in values if told and value not in told]
    if missing:
        raise InputError(f"{path}: upstream.{key} has no arguments for {missing[0]}.")


def _check_forms(path: Path, about: Description) -> None:
    loaders = [loader for support in about.on.values() for loader in support.loaders]
    for loader, form in about.forms.items():
        if loader not in loaders:
            raise InputError(f"{path}: forms names the loader {loader!r}, which no device has.")
        if form not in FORMS:
            raise InputError(f"{path}: forms names {form!r}, which is none of {', '.join(FORMS)}.")


def _home(edition: str) -> Path:
    return _UPSTREAM / edition if edition else _UPSTREAM.parent
