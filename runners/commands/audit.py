"""`dlscale audit`: computes the figures that DLPerf published again, and lists what disagrees."""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `audit`."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def run(args: argparse.Namespace) -> int:
    """Run `dlscale audit`."""
    from reports.audit import audit_json, audit_published, print_audit

    audit = audit_published()
    if args.json:
        print(audit_json(audit))
    else:
        print_audit(audit)
    return 0
