"""`dlscale report`: renders a run's report again."""

import argparse

from runners.commands import options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `report`."""
    options.add_run(parser)
    options.add_reports(parser)


def run(args: argparse.Namespace) -> int:
    """Run `dlscale report`."""
    from reports.run_report import write_report
    from results.store import find_run, read_stored_run
    from results.summary import summarise

    print(write_report(summarise(read_stored_run(find_run(args.results, args.run))), args.reports))
    return 0
