"""Calls of a function in processes that end with the caller, however it ends."""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.synchronize import Event
from typing import TypeVar

from results.errors import InputError

T = TypeVar("T")
R = TypeVar("R")

_stop: Event | None = None  # of a process of the pool


def run_in_processes(call: Callable[[T], R], items: list[T], workers: int) -> Iterator[R]:
    """Yield the result for each item, in the order in which they end; here where workers is 0 or 1.

    When the caller stops, by an exception or an interrupt, calls that have begun are told.
    """
    if workers <= 1:
        yield from map(call, items)
        return
    context = multiprocessing.get_context("spawn")  # not forked, as the caller may have threads
    stop = context.Event()
    pool = ProcessPoolExecutor(workers, context, _begin, (stop,))
    try:
        # The processes inherit this: an interrupt from the keyboard is for the caller alone.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            futures = [pool.submit(call, item) for item in items]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for future in as_completed(futures):
            yield future.result()
    except BrokenProcessPool as error:
        raise InputError(
            "A process at work on the images was ended from outside, perhaps for lack of memory: "
            "use fewer with --workers, and go on by the same command."
        ) from error
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def told_to_stop() -> bool:
    """Tell whether the caller has stopped, in a process of the pool."""
    return _stop is not None and _stop.is_set()


def _begin(stop: Event) -> None:
    """Keep the caller's sign, and end with the caller even where that is killed."""
    global _stop  # noqa: PLW0603 - a process of the pool has one caller
    _stop = stop

    def watch() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            with contextlib.suppress(OSError):
                parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
