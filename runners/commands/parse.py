"""`dlscale parse`: computes a run's figures again from its raw logs."""

import argparse

from runners.commands import options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `parse`."""
    options.add_run(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: argparse.Namespace) -> int:
    """Run `dlscale parse`; 1 where a repeat is missing or does not count."""
    from results.store import find_run, read_stored_run
    from results.summary import summarise

    summary = summarise(read_stored_run(find_run(args.results, args.run)))
    if args.json:
        from reports.summary_json import summary_json

        print(summary_json(summary))
    else:
        from reports.terminal import print_summary

        print_summary(summary)
    return 0 if summary.complete else 1
