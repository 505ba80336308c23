"""Where a script's steps are looked for in what its nodes print."""

import pytest
from conftest import case_like, repeat_record

from results.record import NodeCommand
from results.script_output import is_settled, judge_output, output_of

STEPS = "".join(
    f"INFO:utils.utility:[Pass 0, train batch {step}] \tloss 6.91234, acc1 0.00000, acc5 0.00000,"
    " lr 0.00000, elapse 0.5000 sec\n"
    for step in range(14)
)


def written(folder, *logs):
    for node, text in enumerate(logs):
        (folder / f"launcher{node}.log").write_text(text)
    return output_of(folder)


def case_of(form, nodes=2):
    return case_like(nodes=nodes, devices=1, batch_size=8, log_format=form)


def record_of(case):
    nodes = [
        NodeCommand(node=node, host="host1", arguments=["x"], environment={})
        for node in range(case.nodes)
    ]
    return repeat_record(case, 1, commands=nodes)


def test_the_first_node_speaks_for_all_where_the_first_process_alone_prints(tmp_path):
    case = case_of("paddle-models")
    logs = written(tmp_path, STEPS, "")
    assert is_settled(case, logs)
    assert judge_output(record_of(case), logs).throughput == pytest.approx(16 / 0.5)


def test_elsewhere_a_silent_node_is_named(tmp_path):
    case = case_of("gluon-cv")
    logs = written(
        tmp_path, "".join(f"Epoch[0] Batch [{n}]\tSpeed: 16.0 samples/sec\n" for n in range(14)), ""
    )
    assert not is_settled(case, logs)
    result = judge_output(record_of(case), logs)
    assert result.throughput is None
    assert result.reason.startswith("launcher1: ")


def test_a_training_that_fell_back_on_the_cpu_does_not_count(tmp_path):
    steps = "".join(
        f"I1203 keras_utils.py:145] TimeHistory: 0.50 seconds, 16.00 examples/second between steps "
        f"{step} and {step + 1}\n"
        for step in range(14)
    )
    warning = "W gpu_device.cc:1753] Cannot dlopen some GPU libraries.\nSkipping registering GPU "
    for device, counts in (("cuda", False), ("cpu", True)):
        case = case_like(nodes=1, devices=1, device=device, log_format="tensorflow-models")
        logs = written(tmp_path, f"{warning}devices...\n{steps}")
        result = judge_output(record_of(case), logs)
        assert (result.throughput is not None) == counts
        assert counts or result.reason.startswith("launcher0: it trained on the CPU")
