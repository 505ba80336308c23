"""`dlscale build`: makes the environments of implementations, as `bench` would on first use."""

import argparse

from runners import paths
from runners.commands import options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `build`."""
    parser.add_argument(
        "frameworks",
        nargs="?",
        default="all",
        type=options.frameworks,
        metavar="framework",
        help="an implementation, several with commas between them, or all (default)",
    )
    parser.add_argument(
        "--strategy",
        type=options.names,
        metavar="LIST",
        help="strategies whose environments are made, or all (default: each framework's first)",
    )
    parser.add_argument(
        "--edition", help="upstream scripts of a time, which are fetched too: see `dlscale list`"
    )
    parser.add_argument("--python", metavar="PATH", help="Python for the framework's environment")
    parser.add_argument(
        "--environments",
        type=options.absolute,
        default=paths.ENVIRONMENTS,
        metavar="FOLDER",
        help="where environments are kept",
    )


def run(args: argparse.Namespace) -> int:
    """Run `dlscale build`."""
    from runners.build import ensure_environments
    from runners.progress import progress_console
    from runners.selection import environments_for, load_manifests
    from runners.upstream_checkout import checkout_of

    manifests = load_manifests(args.frameworks.split(","), args.edition or "")
    for manifest in manifests.values():
        checkout_of(manifest, paths.UPSTREAM)
    wanted = environments_for(manifests, args.strategy)
    unbuilt = ensure_environments(wanted, args.environments, args.python, progress_console())
    return 2 if unbuilt else 0
