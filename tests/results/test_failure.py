import pytest

from results.failure import explain

TRACE = """Traceback (most recent call last):
  File "train.py", line 9, in <module>
    main()
{}
"""
PEER = TRACE.format("RuntimeError: [gloo/pair.cc] Connection closed by peer [127.0.0.1]:1")

HOROVODRUN = f"""[1]<stderr>:ImportError: the cause
Exception in thread Thread-1 (fn):
{TRACE.format("RuntimeError: Horovod detected that one or more processes exited with non-zero")}
Process name: 1
Exit code: 1
"""
TENSORFLOW = "tensorflow.python.framework.errors_impl"
NO_GPU = "E0000 00:00:1 7 cuda_platform.cc:52] failed call to cuInit: INTERNAL: CUDA error: Failed"
COLLECTIVE = f"""{NO_GPU}
{TRACE.format(f"{TENSORFLOW}.UnavailableError: Graph execution error:")}
Collective ops is aborted by: Socket closed
:UNKNOWN:Error received from peer  {{grpc_status:14, grpc_message:"Socket closed"}}
"""


@pytest.mark.parametrize(
    ("logs", "oom_kills", "outcome", "reason"),
    [
        (
            {"rank0": TRACE.format("torch.OutOfMemoryError: CUDA out of memory. Tried to ...")},
            0,
            "out of memory",
            "CUDA out of memory",
        ),
        (
            {"rank0": TRACE.format("RuntimeError: [enforce] DefaultCPUAllocator: can't allocate")}
            | {
                "rank1": "DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"
            },
            0,
            "out of memory",
            "rank1: DefaultCPUAllocator",
        ),
        (
            {"rank0": "", "launcher0": "  exitcode  : -9\n Signal 9 (SIGKILL) received by PID 7"},
            1,
            "out of memory",
            "lack of memory",
        ),
        (
            {"rank0": "", "launcher0": "Signal 9 (SIGKILL) received by PID 7"},
            0,
            "failed",
            "SIGKILL",
        ),
        (
            {"rank0": PEER, "rank1": TRACE.format("ValueError: the cause")},
            0,
            "failed",
            "rank1: ValueError: the cause",
        ),
        (
            {"rank0": COLLECTIVE, "rank1": TRACE.format("ValueError: the cause")},
            0,
            "failed",
            "rank1: ValueError: the cause",
        ),
        (
            {"rank0": NO_GPU, "launcher0": "worker 1 was ended by Signal 9 (SIGKILL)"},
            0,
            "failed",
            "launcher exited with 1; a rank had Signal 9 (SIGKILL)",
        ),
        (
            {
                "rank0": "",
                "launcher0": "subprocess.CalledProcessError: Command '['python', 'train.py']' "
                "died with <Signals.SIGKILL: 9>.",
            },
            0,
            "failed",
            "launcher exited with 1; a rank had Signals.SIGKILL",
        ),
        (
            {"rank0": TRACE.format(f"{TENSORFLOW}.ResourceExhaustedError: OOM when allocating x")},
            0,
            "out of memory",
            "OOM when allocating",
        ),
        (
            {
                "rank0": TRACE.format(
                    "mxnet.base.MXNetError: [1] x.h:66: Failed to allocate CPU Memory"
                )
            },
            0,
            "out of memory",
            "Failed to allocate CPU Memory",
        ),
        (
            {
                "rank0": TRACE.format(
                    "oneflow.exception.RuntimeError: \x1b[1mError\x1b[0m: allocate failed"
                )
            },
            0,
            "out of memory",
            "allocate failed",
        ),
        (
            {"rank1": "[rank1]: Traceback\n[rank1]: ValueError: with a prefix\n"},
            0,
            "failed",
            "rank1: ValueError: with a prefix",
        ),
        (
            {"rank0": TRACE.format("OSError: [Errno 28] No space left on device")},
            0,
            "failed",
            "No space left",
        ),
        (
            {
                "rank0": ':::MLLOG {"key": "run_stop", "value": null, "metadata": '
                '{"status": "aborted", "reason": "the loss of step 2 is nan"}}'
            },
            0,
            "failed",
            "the loss of step 2 is nan",
        ),
        (
            {
                "rank0": "what():  gloo::TimeoutException\nError Message Summary:\n",
                "rank1": "training",
                "rank2": ':::MLLOG {"key": "run_stop"}',
            },
            0,
            "failed",
            "launcher exited with 1; rank1 broke off without a word, as when killed",
        ),
        (
            {
                "rank0": "F2026 1 io_event_poller.cpp:95] Check failed: !(events & EPOLLERR) fd: 9",
                "rank1": "training",
                "launcher0": "died with <Signals.SIGABRT: 6>.",
            },
            0,
            "failed",
            "a rank had Signals.SIGABRT; rank1 broke off without a word, as when killed",
        ),
        (
            {
                "rank0": "mxnet.base.MXNetError: MXNetError: Horovod has been shut down. This was",
                "rank1": "ValueError: the cause",
            },
            0,
            "failed",
            "rank1: ValueError: the cause",
        ),
        (
            {
                "rank0": "horovod.common.exceptions.HorovodInternalError: [gloo/pair.cc] Read",
                "rank1": "training",
            },
            0,
            "failed",
            "launcher exited with 1; rank1 broke off without a word, as when killed",
        ),
        (
            {
                "rank0": "RuntimeError: damaged image a.JPEG\n"
                "SystemError: (Fatal) Blocking queue is killed because the data reader raises an "
                "exception."
            },
            0,
            "failed",
            "rank0: RuntimeError: damaged image a.JPEG",
        ),
        (
            {
                "rank0": "mxnet.base.MXNetError: Traceback (most recent call last):\n"
                "  [bt] (3) libmxnet.so\n"
                "MXNetError: Horovod has been shut down by another rank",
                "rank1": "training",
            },
            0,
            "failed",
            "launcher exited with 1; rank1 broke off without a word, as when killed",
        ),
        ({"rank0": "a", "rank1": "b"}, 0, "failed", "launcher exited with 1"),
        ({}, 0, "failed", "launcher exited with 1"),
    ],
)
def test_causes(logs, oom_kills, outcome, reason):
    ending = explain([1], logs, oom_kills=oom_kills)
    assert ending.outcome == outcome
    assert reason in ending.reason


def test_a_signal_that_the_launcher_passes_on():
    assert explain([247], {}, oom_kills=0).reason == (
        "launcher exited with 247, as if a rank had SIGKILL"
    )
    assert explain([2], {}, oom_kills=0).reason == "launcher exited with 2"


def test_a_run_that_ended_well_is_not_searched_for_errors():
    assert explain([0, 0], {"rank0": "RuntimeError: harmless"}, oom_kills=3).outcome == "completed"


def test_the_tail_is_clean_and_short():
    text = "\x1b[31mred\x1b[0m\x07\n" * 50 + "ValueError: x\n"
    ending = explain([1], {"rank0": text}, oom_kills=0)
    assert len(ending.tail) == 20
    assert ending.tail[0] == "red"
    assert ending.tail[-1] == "ValueError: x"
