"""`dlscale list`: the implementations, their versions and what each supports."""

import argparse
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runners.manifest import Elsewhere, Manifest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `list`."""
    parser.add_argument("--edition", help="show its upstream scripts, such as dlperf-v1.0")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: argparse.Namespace) -> int:
    """Run `dlscale list`."""
    import msgspec

    from runners.manifest import editions, implementations, load_manifest

    edition = args.edition or ""
    manifests = [load_manifest(name, edition) for name in implementations(edition)]
    if args.json:
        described = [
            {
                **msgspec.to_builtins(manifest.about),
                "version": manifest.version,
                "pins": manifest.pins,
            }
            for manifest in manifests
        ]
        print(msgspec.json.format(msgspec.json.encode(described), indent=2).decode())
        return 0
    for manifest in manifests:
        print("\n".join(_describe(manifest)))
    if not edition:
        print(f"Upstream scripts: `dlscale list --edition NAME` shows {', '.join(editions())}")
    return 0


def _describe(manifest: "Manifest") -> list[str]:
    about = manifest.about
    lines = [
        f"{about.name}: {about.title} {manifest.version}{_environment(manifest)}",
        f"    network   {about.network}",
    ]
    if upstream := about.upstream:
        lines += [
            f"    from      {manifest.upstream_source}",
            *(f"    path      {path}" for path in upstream.paths),
            f"    log       {upstream.log_format}",
            f"    runs      {about.script} {shlex.join(upstream.arguments)}",
            *(f"    differs   {one}" for one in upstream.differences),
        ]
    for device, support in about.on.items():
        amp = f"amp ({' or '.join(support.amp_dtypes)})"
        precisions = [amp if one == "amp" else one for one in support.precisions]
        layouts = dict.fromkeys(", ".join(support.layouts_with(one)) for one in support.precisions)
        lines.append(
            f"    {device:<8}  {', '.join(precisions)}; loaders {', '.join(support.loaders)}; "
            f"{' or '.join(layouts)}"
        )
    for name, strategy in about.strategy.items():
        through = [f"{device} {' or '.join(some)}" for device, some in strategy.backends.items()]
        where = _elsewhere(strategy.elsewhere)
        lines.append(f"    strategy  {name}: {', '.join(through)}{where}")
    if about.compiler:
        lines.append(f"    compiler  {about.compiler}")
    notes = dict(about.unavailable)
    for name, strategy in about.strategy.items():
        notes |= {f"{name} with {what}": why for what, why in strategy.unavailable.items()}
    return [*lines, *(f"    note      {what}: {why}" for what, why in notes.items())]


def _environment(manifest: "Manifest") -> str:
    if manifest.about.elsewhere:
        return _elsewhere(manifest.about.elsewhere)
    return f" on Python {manifest.about.python}, {len(manifest.pins)} packages locked"


def _elsewhere(elsewhere: "Elsewhere | None") -> str:
    if elsewhere is None:
        return ""
    if elsewhere.gone:
        return f", which cannot be installed any more: {elsewhere.gone}"
    return f", in the container {elsewhere.container}"
