"""`dlscale bench`: from a request to a table, a record and a report."""

import argparse
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from results.errors import InputError
from runners.commands import options

if TYPE_CHECKING:
    from results.store import StoredRun
    from runners.prepare import Prepared


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench`; those of the request have the fields of `Request`."""
    parser.add_argument(
        "framework",
        nargs="?",
        type=options.frameworks,
        help="an implementation of `dlscale list`, several with commas between them, or all",
    )
    parser.epilog = (
        "`dlscale list` shows each implementation's loaders, layouts, precisions and strategies: "
        "the first of each is the default."
    )
    what = parser.add_argument_group("what is measured")
    what.add_argument(
        "--edition", help="upstream scripts of a time: see `dlscale list` (default: today's)"
    )
    what.add_argument("--nodes", type=options.positive, help="ladder up to N nodes (default: 1)")
    what.add_argument(
        "--devices", type=options.positive, help="devices per node (default: all there are)"
    )
    what.add_argument(
        "--cases", type=options.names, metavar="LIST", help="only these, such as 1n1g,4n8g"
    )
    what.add_argument("--device", help="cuda or cpu (default: cuda where there is a GPU)")
    what.add_argument(
        "--batch",
        dest="batch_size",
        type=options.batch,
        metavar="N",
        help="images per device and step, or max: the largest batch that trains",
    )
    what.add_argument("--precision", help="fp32 (default), tf32 or amp")
    what.add_argument("--amp-dtype", help="fp16 or bf16 (default: fp16 on GPUs, bf16 on CPUs)")
    what.add_argument("--image-size", type=options.image_size, help="pixels (default: 224)")
    what.add_argument("--layout", help="channels_last or channels_first")
    what.add_argument("--compile", action="store_true", default=None, help="use the compiler")
    what.add_argument(
        "--strategy",
        type=options.names,
        metavar="LIST",
        help="how ranks are kept in step: ddp,fsdp",
    )
    what.add_argument(
        "--backend", type=options.names, metavar="LIST", help="what ranks talk through: gloo,mpi"
    )
    what.add_argument("--seed", type=options.not_negative, help="of weights and shuffling")
    data = parser.add_argument_group("input")
    data.add_argument(
        "--data",
        type=options.data,
        metavar="FOLDER",
        help="an ImageNet folder, or `synthetic` (default: a sample, made on first use)",
    )
    data.add_argument("--loader", help="what reads the images, such as dali-cpu")
    data.add_argument("--workers", type=options.not_negative, help="loader workers per rank")
    how = parser.add_argument_group("how it is measured")
    how.add_argument("--warmup", type=options.not_negative, help="steps dropped")
    how.add_argument("--steps", type=options.positive, help="steps timed after them")
    how.add_argument("--repeats", type=options.positive, help="repeats of each case (default: 7)")
    how.add_argument("--timeout", type=options.seconds, help="seconds per repeat (default: 1800)")
    where = parser.add_argument_group("where")
    where.add_argument(
        "--hostfile",
        type=options.place,
        metavar="FILE",
        help="hosts, one per line: 10.0.0.2 slots=8",
    )
    where.add_argument("--python", metavar="PATH", help="Python for the framework's environment")
    where.add_argument(
        "--interpreter",
        metavar="PATH",
        help="a Python that has the framework already: no environment is built",
    )
    where.add_argument(
        "--any-version",
        action="store_true",
        default=None,
        help="run an upstream script with another version than its pin",
    )
    options.add_results(where)
    options.add_reports(where)
    parser.add_argument(
        "--resume",
        nargs="?",
        const="latest",
        metavar="RUN",
        help="go on with a run that was interrupted (default: the latest)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print the cases and the exact commands"
    )


def run(args: argparse.Namespace) -> int:
    """Run `dlscale bench`."""
    from runners.prepare import prepare_new, prepare_resumed
    from runners.request import Request

    fields = [field for field in Request.__struct_fields__ if getattr(args, field) is not None]
    given = {field: getattr(args, field) for field in fields}
    if args.resume:
        prepared = prepare_resumed(args.results, args.resume, given)
    elif not args.framework:
        raise InputError("Name a framework, such as `dlscale bench pytorch` (see `dlscale list`).")
    else:
        prepared = prepare_new(Request(**given))
    if args.dry_run:
        from runners.dry_run import print_plan

        print_plan(prepared)
        return 0
    return _measure(prepared, args)


def _measure(prepared: "Prepared", args: argparse.Namespace) -> int:
    from results.files import require_writable
    from results.store import read_stored_run
    from runners.bench import run_all
    from runners.progress import Progress, progress_console

    console = progress_console()
    require_writable(args.reports, "reports")
    with _stoppable():
        prepared = prepared.built(args.results, args.python, console)
        place = prepared.place(console)
        prepared = prepared.sized(args.results, place, console)
        folder, record = prepared.opened(args.results)
    console.print(f"Run {record.id}: {len(record.cases)} cases x {record.repeats} repeats")
    for note in record.notes:
        console.print(f"  {note}", highlight=False)
    interrupted = False
    with _stoppable():
        try:
            with Progress(console) as progress:
                run_all(folder, record, place, progress)
        except KeyboardInterrupt:
            interrupted = True
    failed = _show(read_stored_run(folder), args.reports)
    if interrupted:
        console.print(f"Interrupted; go on with: make bench RESUME={record.id}")
        return 130
    return 1 if failed or prepared.failed else 0


def _show(run: "StoredRun", reports: Path) -> bool:
    """Write the run's report and show its table; True where a repeat is missing or failed."""
    from reports.run_report import write_report
    from reports.terminal import print_summary
    from results.summary import summarise

    summary = summarise(run)
    report = write_report(summary, reports) if summary.run.repeats else None
    print_summary(summary)
    if report:
        print(f"Report: {report}")
    print(f"Record: {run.folder}")
    return not summary.complete


@contextmanager
def _stoppable() -> Iterator[None]:
    """Turn the first Ctrl-C, SIGTERM or SIGHUP into Interrupted, and let cleaning up finish."""
    from runners.repeat import Interrupted

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        for other in numbers:
            signal.signal(other, signal.SIG_IGN)
        raise Interrupted

    # Under nohup a run outlives its terminal.
    outlives = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    heard = [number for number in numbers if not (outlives and number == signal.SIGHUP)]
    before = {number: signal.signal(number, stop) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
