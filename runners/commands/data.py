"""`dlscale data`: makes the JPEGs that a benchmark without DATA reads, and converts images."""

import argparse
from pathlib import Path

from runners.commands import convert, options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `sample` and `convert`, and their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    sample = actions.add_parser("sample", help="make ImageNet-like JPEGs, the same for a seed")
    sample.add_argument("folder", nargs="?", type=Path, help="where (default: data/sample-IMAGES)")
    sample.add_argument("--images", type=options.positive, default=512, help="default: 512")
    sample.add_argument("--classes", type=options.positive, default=16, help="default: 16")
    sample.add_argument("--seed", type=options.not_negative, default=0, help="default: 0")
    form = actions.add_parser("convert", help="make a framework's own form from a folder of images")
    convert.add_arguments(form)


def run(args: argparse.Namespace) -> int:
    """Run `dlscale data sample`, or `dlscale data convert`."""
    if args.action == "convert":
        return convert.run(args)
    from rich.console import Console

    from runners import paths
    from runners.input_data import ensure_sample

    folder = args.folder or paths.DATA / f"sample-{args.images}"
    console = Console(stderr=True)
    ensure_sample(folder, console, images=args.images, classes=args.classes, seed=args.seed)
    print(folder)
    return 0
