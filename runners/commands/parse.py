"""`dlscale parse`: computes figures from raw logs, a run's own or anybody's."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from results.errors import InputError
from runners.commands import options

if TYPE_CHECKING:
    from results.logs.rules import Rule


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `parse`."""
    from results.formats import formats

    known = [form.name for form in formats()]
    parser.epilog = (
        f"Formats, each recognised by its content: {', '.join(known)}. Exit code 1: a log or a "
        "repeat does not count."
    )
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="a run (folder or id), or logs: files, folders, archives (default: the latest run)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON (docs/parse.md)")
    form.add_argument("--csv", action="store_true", help="print CSV (logs alone)")
    options.add_results(parser)
    logs = parser.add_argument_group("for logs that are no run of ours")
    logs.add_argument(
        "--rule",
        choices=("uniform", "dlperf-v1", "both"),
        help="the measuring rule (docs/measuring.md; default: uniform)",
    )
    logs.add_argument("--warmup", type=options.not_negative, help="steps dropped (default: 20)")
    logs.add_argument("--steps", type=options.positive, help="steps timed (default: 100)")
    logs.add_argument(
        "--format",
        choices=known,
        default="",
        metavar="NAME",
        help="read logs as this format alone (those below)",
    )
    logs.add_argument("--batch", type=options.positive, help="images per device and step")
    logs.add_argument("--nodes", type=options.positive, help="nodes of the job")
    logs.add_argument(
        "--devices",
        type=options.positive,
        help="devices per node; these three replace what a log and its path say",
    )


def run(args: argparse.Namespace) -> int:
    """Run `dlscale parse`; 1 where a repeat or a log does not count."""
    from results.record import RUN_FILE

    paths = [Path(path) for path in args.paths]
    if len(paths) > 1 or (paths and not (paths[0] / RUN_FILE).is_file() and _is_path(paths[0])):
        return _logs(args, paths)
    for option in ("csv", "rule", "warmup", "steps", "format", "batch", "nodes", "devices"):
        if getattr(args, option):
            raise InputError(f"--{option} is for logs that are no run of ours: name such logs.")
    return _run_of_ours(args)


def _is_path(path: Path) -> bool:
    """Tell a path from a run's id, which has neither a folder nor a suffix."""
    return path.exists() or path.name != str(path) or bool(path.suffix)


def _run_of_ours(args: argparse.Namespace) -> int:
    from results.store import LATEST, find_run, read_stored_run
    from results.summary import summarise

    name = args.paths[0] if args.paths else LATEST
    summary = summarise(read_stored_run(find_run(args.results, name)))
    if args.json:
        from reports.summary_json import summary_json

        print(summary_json(summary))
    else:
        from reports.terminal import print_summary

        print_summary(summary)
    return 0 if summary.complete else 1


def _logs(args: argparse.Namespace, paths: list[Path]) -> int:
    from rich.console import Console
    from rich.progress import Progress

    from reports.log_json import logs_csv, logs_json
    from reports.log_tables import print_logs
    from results.logs.cases import by_dlperf, cases_of, uniform
    from results.logs.facts import Facts
    from results.logs.notices import notices_on
    from results.logs.sources import find_sources
    from results.parse_logs import Wanted
    from runners.log_pool import parse_all

    given = Facts(batch_size=args.batch, nodes=args.nodes, devices=args.devices)
    warmup = Wanted.warmup if args.warmup is None else args.warmup
    steps = args.steps or Wanted.steps
    wanted = Wanted(warmup, steps, given, args.format)
    sources = find_sources(paths)
    errors = Console(stderr=True)
    with Progress(console=errors, transient=True, disable=not errors.is_terminal) as progress:
        results = parse_all(sources, wanted, progress)
    if not results:
        where = ", ".join(map(str, paths))
        raise InputError(f"{where} has no log in it: name a file, or a folder of logs.")
    rule: Rule = args.rule or "uniform"
    rates = {"uniform": uniform, "dlperf-v1": by_dlperf}
    asked = list(rates) if rule == "both" else [rule]
    by_rule = {rule: cases_of(results, rates[rule]) for rule in asked}
    cases = by_rule[asked[0]]
    notices = notices_on(cases)
    if args.json:
        print(logs_json(results, cases, notices, rule=rule, warmup=warmup, steps=steps))
    elif args.csv:
        print(logs_csv(results, rule))
    else:
        print_logs(results, by_rule, notices, rule)
    return 0 if all(result.status in {"ok", "short"} for result in results) else 1
