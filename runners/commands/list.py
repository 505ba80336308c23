"""`dlscale list`: the implementations, their versions and what each supports."""

import argparse
from typing import Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `list`."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: argparse.Namespace) -> int:
    """Run `dlscale list`."""
    import msgspec

    from runners.manifest import implementations, load_manifest

    manifests = [load_manifest(name) for name in implementations()]
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
    _print_table(manifests)
    return 0


def _print_table(manifests: list[Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Implementations", title_justify="left")
    for heading in ("name", "framework", "network", "Python", "device", "precision", "loader"):
        table.add_column(heading)
    for manifest in manifests:
        about = manifest.about
        shown = [about.name, f"{about.title} {manifest.version}", about.network, about.python]
        for device, support in about.on.items():
            precisions = [
                f"amp ({' or '.join(support.amp_dtypes)})" if one == "amp" else one
                for one in support.precisions
            ]
            table.add_row(*shown, device, ", ".join(precisions), ", ".join(support.loaders))
            shown = [""] * 4
        table.add_row("", "", f"strategy: {', '.join(about.strategies)}")
        if about.compiler:
            table.add_row("", "", f"compiler: {about.compiler}")
    Console().print(table)
