"""`dlscale tables`: regenerates DLPerf's tables and plots from the published figures."""

import argparse
from pathlib import Path

from runners import paths


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `tables`."""
    parser.add_argument(
        "--out", type=Path, default=paths.GALLERY, metavar="FOLDER", help="where they are written"
    )


def run(args: argparse.Namespace) -> int:
    """Run `dlscale tables`."""
    from reports.gallery import render_gallery
    from runners.bench import disk_error

    try:
        written = render_gallery(args.out)
    except OSError as error:
        raise disk_error(args.out, error) from error
    for path in written:
        print(path)
    return 0
