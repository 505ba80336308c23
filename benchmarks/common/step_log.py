"""Writes a rank's log as MLPerf `:::MLLOG` lines, which other people's tools read too.

The form is that of mlperf_logging/mllog (github.com/mlcommons/logging). The keys of MLPerf are
used where MLPerf has one; `step` is ours: its value is the end of a step in seconds on the
rank's own clock.
"""

import json
import math
import os
import sys
import time


class StepLog:
    """One rank's log: `rank<N>.log` in `folder`, or standard output where `folder` is empty."""

    def __init__(self, folder, rank, world_size):
        """Send everything this process prints, native libraries included, to the rank's log."""
        self.rank = rank
        if folder:
            os.makedirs(folder, exist_ok=True)
            path = os.path.join(folder, "rank%d.log" % rank)
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            for stream in (1, 2):
                os.dup2(file, stream)
            os.close(file)
        self.event("submission_benchmark", "resnet")
        self.event("rank", rank)
        self.event("world_size", world_size)

    def event(self, key, value, event_type="POINT_IN_TIME", **metadata):
        """Print one line. `value` and the metadata are anything that JSON holds."""
        caller = sys._getframe(1)  # noqa: SLF001 - MLPerf's lines say where they were printed
        metadata["file"] = os.path.basename(caller.f_code.co_filename)
        metadata["lineno"] = caller.f_lineno
        self._line(time.time(), key, value, event_type, metadata)
        sys.stdout.flush()

    def phase(self, name):
        """Say what begins now: `build`, `warm-up`, `window` or `check`."""
        self.event("phase", name)

    def steps(self, ends, losses, waits):
        """Print one line per step, after the window.

        `ends`: end of each step in seconds on this rank's clock (its zero does not matter);
        `losses`: the rank's loss of each step; `waits`: seconds each step waited for its data.
        """
        last = ends[-1] if ends else 0.0
        now = time.time()
        for step, (end, loss, wait) in enumerate(zip(ends, losses, waits), start=1):
            printed = loss if math.isfinite(loss) else str(loss)  # JSON knows no nan and no inf
            metadata = {"step": step, "loss": printed, "data_seconds": round(wait, 6)}
            self._line(now - last + end, "step", round(end, 6), "POINT_IN_TIME", metadata)
        sys.stdout.flush()

    def stop(self, fault=""):
        """Print how the rank ended; `fault` is empty for a good run, else one sentence."""
        status = "aborted" if fault else "success"
        self.event("run_stop", None, "INTERVAL_END", status=status, reason=fault)

    def _line(self, seconds, key, value, event_type, metadata):
        line = {
            "namespace": "",
            "time_ms": int(seconds * 1000),
            "event_type": event_type,
            "key": key,
            "value": value,
            "metadata": metadata,
        }
        self.write(":::MLLOG " + json.dumps(line) + "\n")

    def write(self, text):
        """Write to the log."""
        sys.stdout.write(text)
