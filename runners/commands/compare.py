"""`dlscale compare`: sets a run beside the figures that DLPerf published."""

import argparse

from runners.commands import options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `compare`."""
    options.add_run(parser)


def run(args: argparse.Namespace) -> int:
    """Run `dlscale compare`."""
    from reports.terminal import print_comparison
    from results.comparison import compare_with_published
    from results.store import find_run, read_stored_run
    from results.summary import summarise

    summary = summarise(read_stored_run(find_run(args.results, args.run)))
    print_comparison(compare_with_published(summary))
    return 0
