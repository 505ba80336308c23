"""`dlscale parse`: computes figures from raw logs, a run's own or anybody's."""

import argparse
from pathlib import Path

from runners.commands import options

FORMATS_ARE_IN = "docs/add-a-log-format.md"


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
    parser.add_argument("--json", action="store_true", help="print JSON (docs/parse.md)")
    options.add_results(parser)
    logs = parser.add_argument_group("for logs that are no run of ours")
    logs.add_argument("--csv", action="store_true", help="print CSV")
    logs.add_argument(
        "--rule",
        choices=("uniform", "dlperf-v1", "both"),
        default="uniform",
        help="the measuring rule (docs/measuring.md)",
    )
    logs.add_argument(
        "--warmup", type=options.not_negative, default=20, help="steps dropped (default: 20)"
    )
    logs.add_argument(
        "--steps", type=options.positive, default=100, help="steps timed (default: 100)"
    )
    logs.add_argument(
        "--format",
        choices=known,
        default="",
        metavar="NAME",
        help="read logs as this format alone (those below)",
    )
    logs.add_argument(
        "--batch", type=options.positive, help="images per device, if the log is mute"
    )
    logs.add_argument("--nodes", type=options.positive, help="nodes of the job")
    logs.add_argument("--devices", type=options.positive, help="devices per node")


def run(args: argparse.Namespace) -> int:
    """Run `dlscale parse`; 1 where a repeat or a log does not count."""
    from results.record import RUN_FILE

    paths = [Path(path) for path in args.paths]
    folders = [path for path in paths if (path / RUN_FILE).is_file()]
    if len(paths) <= 1 and (len(folders) == len(paths) or not paths[0].exists()):
        return _run_of_ours(args)
    return _logs(args, paths)


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
    from results.errors import InputError
    from results.logs.cases import by_dlperf, cases_of, repeated, uniform
    from results.logs.facts import Facts
    from results.logs.sources import find_sources
    from results.parse_logs import Wanted
    from runners.log_pool import parse_all

    given = Facts(batch_size=args.batch, nodes=args.nodes, devices=args.devices)
    wanted = Wanted(args.warmup, args.steps, given, args.format)
    sources = find_sources(paths)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        results = parse_all(sources, wanted, progress)
    if not results:
        where = ", ".join(map(str, paths))
        raise InputError(f"{where} has no log in it: name a file, or a folder of logs.")
    cases = cases_of(results, by_dlperf if args.rule == "dlperf-v1" else uniform)
    notices = repeated(results)
    if args.json:
        window = {"warmup": args.warmup, "steps": args.steps}
        print(logs_json(results, cases, notices, rule=args.rule, **window))
    elif args.csv:
        print(logs_csv(results, args.rule))
    else:
        print_logs(results, cases, notices, args.rule)
    return 0 if all(result.status in {"ok", "short"} for result in results) else 1
