"""`dlscale data convert`: makes a framework's own form from a folder of images."""

import argparse
from pathlib import Path

from results.errors import InputError
from runners.commands import options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `data convert`."""
    parser.add_argument(
        "source", nargs="?", type=options.absolute, help="an ImageNet folder: train/CLASS/*.JPEG"
    )
    parser.add_argument("--form", help="tfrecord, recordio, ofrecord or filelist")
    parser.add_argument("--to", type=options.place, metavar="FOLDER", help="where it is made")
    parser.add_argument(
        "--shards", type=options.positive, help="files (default: one per 5,000 images, 64 at least)"
    )
    parser.add_argument(
        "--workers", type=options.positive, help="processes (default: one per core)"
    )
    parser.add_argument(
        "--verify", action="store_true", help="check what --to holds, and make nothing"
    )


def run(args: argparse.Namespace) -> int:
    """Run `dlscale data convert`."""
    from rich.console import Console

    from runners.convert import convert, verify
    from runners.forms.registry import form_called
    from runners.input_data import progress_bar

    if not args.to:
        raise InputError("Name the folder of the form with --to.")
    to = Path(args.to)
    console = Console(stderr=True)
    if args.verify:
        if args.source or args.form or args.shards:
            raise InputError("--verify looks at --to alone: leave the folder and --form out.")
        with progress_bar(console, to) as progress:
            index = verify(to, workers=args.workers, progress=progress)
    else:
        if not args.source:
            raise InputError("Name the folder of images to convert, such as imagenet/train.")
        form = form_called(args.form or "")
        with progress_bar(console, to) as progress:
            index = convert(
                args.source,
                form,
                to,
                shards=args.shards,
                workers=args.workers,
                progress=progress,
            )
    print(
        f"{to}: {index.images:,} images of {len(index.classes):,} classes as {index.form}, "
        "checked by count and checksum"
    )
    return 0
