from conftest import CASE, case_like

from results.case_names import case_names, variant_names

TWO = case_like(devices=2)
PADDLE = case_like(implementation="paddlepaddle", strategy="collective", backend="gloo")


def test_of_one_implementation_cases_are_called_by_their_labels():
    emulated = case_like(nodes=2, emulated=True)
    cases = [CASE, TWO, emulated]
    assert list(case_names(cases).values()) == ["1n1g", "1n2g", "2n1g (emulated)"]
    assert set(variant_names(cases).values()) == {"pytorch"}


def test_several_implementations_are_told_apart():
    assert list(case_names([CASE, PADDLE]).values()) == ["1n1g pytorch", "1n1g paddlepaddle"]


def test_strategies_and_backends_are_named_where_an_implementation_has_several():
    cases = [
        case_like(backend="gloo"),
        case_like(backend="mpi"),
        case_like(strategy="fsdp", backend="gloo", nodes=2, emulated=True),
        PADDLE,
    ]
    assert list(case_names(cases).values()) == [
        "1n1g pytorch ddp gloo",
        "1n1g pytorch ddp mpi",
        "2n1g pytorch fsdp gloo (emulated)",
        "1n1g paddlepaddle",
    ]
    assert list(case_names(cases[:2]).values()) == ["1n1g pytorch gloo", "1n1g pytorch mpi"]
