"""The cases that a request comes to; the tables are read as the specification."""

import msgspec
import pytest
from made_up import PYTORCH, labels, machine, plan

from results.errors import InputError
from runners.implementations import load_manifest
from runners.matrix import make_plan
from runners.request import Request

DGX = machine(cores=96, gpus=8)


def refused(where, **options):
    with pytest.raises(InputError) as caught:
        plan(where, **options)
    return str(caught.value)


def test_what_cannot_be_had_is_refused_with_its_reason():
    about = load_manifest("paddlepaddle").about
    for option, value, reason in (
        ("precision", "amp", "auto_cast does nothing on CPUs"),
        ("layout", "channels_last", "knows channels_first alone"),
        ("device", "cuda", "no build of this release for GPUs"),
    ):
        with pytest.raises(InputError, match=reason) as caught:
            make_plan(Request(framework="paddlepaddle", **{option: value}), about, DGX, None)
        assert "is not possible on" in str(caught.value)
    with pytest.raises(InputError, match=r"on cpu: choose one of collective\."):
        make_plan(Request(framework="paddlepaddle", strategy=["ddp"]), about, DGX, None)


def test_a_precision_can_have_a_batch_of_its_own():
    about = load_manifest("ngc-tensorflow", "dlperf-v1.0").about
    for precision, asked, batch in (("fp32", None, 128), ("amp", None, 224), ("amp", 64, 64)):
        planned = plan(DGX, about=about, precision=precision, batch_size=asked)
        assert {case.batch_size for case in planned.cases} == {batch}


def test_a_precision_can_have_a_layout_of_its_own():
    about = load_manifest("paddle-models", "dlperf-v1.0").about
    layouts = {"fp32": "channels_first", "amp": "channels_last"}
    for precision, layout in layouts.items():
        (case, _) = plan(DGX, about=about, precision=precision).cases
        assert case.layout == layout
    said = refused(DGX, about=about, precision="amp", layout="channels_first")
    assert "its amp with channels_last" in said


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"compile": True}, "COMPILE=1 is not possible with STRATEGY='parameter_server' (XLA"),
        ({"loader": "dali-cpu"}, "LOADER='dali-cpu' is not possible with STRATEGY='parameter_s"),
    ],
)
def test_what_does_not_go_with_a_strategy_is_refused_with_its_reason(option, said):
    about = load_manifest("tensorflow").about
    both = {"device": "cpu", "strategy": ["horovod", "parameter_server"], **option}
    assert refused(DGX, about=about, **both).startswith(said)
    both["strategy"].pop()
    assert plan(DGX, about=about, **both).cases


@pytest.mark.parametrize(
    ("nodes", "ladder"),
    [
        (1, "1n1g 1n8g"),
        (2, "1n1g 1n8g 2n8g"),
        (3, "1n1g 1n8g 2n8g 3n8g"),
        (4, "1n1g 1n8g 2n8g 4n8g"),
        (6, "1n1g 1n8g 2n8g 4n8g 6n8g"),
        (8, "1n1g 1n8g 2n8g 4n8g 8n8g"),
    ],
)
def test_the_ladder_on_8_gpus_per_node(nodes, ladder):
    assert labels(DGX, nodes=nodes, hosts=nodes) == ladder.split()


@pytest.mark.parametrize(
    ("nodes", "devices", "ladder"),
    [
        (1, 1, "1n1g"),
        (1, 2, "1n1g 1n2g"),
        (2, 1, "1n1g 2n1g"),
        (3, 1, "1n1g 2n1g 3n1g"),
        (4, 1, "1n1g 2n1g 4n1g"),
        (8, 1, "1n1g 2n1g 4n1g 8n1g"),
        (4, 2, "1n1g 1n2g 2n2g 4n2g"),
    ],
)
def test_the_ladder_on_two_cores(nodes, devices, ladder):
    assert labels(machine(cores=2), nodes=nodes, devices=devices) == ladder.split()


@pytest.mark.parametrize(
    ("nodes", "ladder"),
    [
        (2, "1n1g 1n4g 2n4g"),
        (3, "1n1g 1n2g 2n2g 3n2g"),
        (4, "1n1g 1n2g 2n2g 4n2g"),
        (8, "1n1g 2n1g 4n1g 8n1g"),
    ],
)
def test_the_ladder_on_8_gpus_that_emulated_nodes_share(nodes, ladder):
    assert labels(DGX, nodes=nodes) == ladder.split()


@pytest.mark.parametrize(
    ("cores", "nodes", "devices"),
    [(1, 1, 1), (2, 1, 2), (6, 1, 6), (64, 1, 8), (2, 2, 1), (2, 4, 1), (8, 4, 2), (64, 4, 8)],
)
def test_cpu_devices_per_node_by_default(cores, nodes, devices):
    cases = plan(machine(cores=cores), nodes=nodes).cases
    assert max(case.devices for case in cases) == devices


class TestNamedCases:
    def test_stand_as_they_were_named_each_once(self):
        assert labels(DGX, cases=["4n8g", "1n1g", "4n8g"], hosts=4) == ["4n8g", "1n1g"]

    @pytest.mark.parametrize("label", ["", "8", "1n", "1n0g", "0n1g", "01n1g", "1n1gx", "1N1G"])
    def test_in_another_form_are_refused(self, label):
        assert "write nodes and devices as 4n8g" in refused(DGX, cases=["1n1g", label])

    def test_need_their_devices(self):
        assert "9 devices per node: this machine has 8 GPUs" in refused(DGX, cases=["1n9g"])

    def test_do_not_go_beyond_the_devices_asked_for(self):
        said = refused(DGX, cases=["1n4g"], devices=2)
        assert "CASES asks for 4 devices per node, and DEVICES=2" in said

    def test_can_crowd_the_cores_of_emulated_nodes(self):
        assert labels(machine(cores=2), cases=["2n2g"]) == ["2n2g"]

    def test_need_their_hosts(self):
        assert "NODES=4 needs 4 hosts" in refused(DGX, cases=["1n8g", "4n8g"], hosts=2)


class TestDefaults:
    def test_on_gpus_are_those_of_dlperf(self):
        case = plan(DGX).cases[0]
        assert (case.device, case.batch_size, case.image_size) == ("cuda", 128, 224)
        assert (case.warmup, case.steps, plan(DGX).repeats) == (20, 100, 7)

    @pytest.mark.parametrize(("precision", "batch"), [("fp32", 128), ("tf32", 128), ("amp", 256)])
    def test_of_the_batch_follow_the_precision_on_gpus(self, precision, batch):
        assert plan(DGX, precision=precision).cases[0].batch_size == batch

    def test_on_cpus_are_small(self):
        case = plan(machine(cores=2)).cases[0]
        assert (case.device, case.batch_size, case.image_size) == ("cpu", 8, 96)
        assert (case.warmup, case.steps, plan(machine()).repeats) == (3, 10, 7)

    @pytest.mark.parametrize(("where", "dtype"), [(DGX, "fp16"), (machine(), "bf16")])
    def test_of_amp(self, where, dtype):
        assert plan(where, precision="amp").cases[0].amp_dtype == dtype

    def test_come_first_in_the_manifest(self):
        case, support = plan(DGX).cases[0], PYTORCH.on["cuda"]
        assert (case.loader, case.layout) == (support.loaders[0], support.layouts[0])
        assert (case.strategy, case.workers) == (next(iter(PYTORCH.strategy)), support.workers)

    def test_give_way_to_what_is_asked_for(self):
        asked = {"batch_size": 3, "image_size": 64, "warmup": 0, "steps": 7, "workers": 0}
        case = plan(DGX, **asked).cases[0]
        assert {name: getattr(case, name) for name in asked} == asked
        assert plan(DGX, repeats=2).repeats == 2

    def test_synthetic_data_has_no_loader_and_no_workers(self):
        case = plan(DGX, data="synthetic").cases[0]
        assert (case.data, case.loader, case.workers) == ("synthetic", "", 0)


class TestDevice:
    def test_cpus_can_be_chosen_where_there_are_gpus(self):
        assert plan(DGX, device="cpu").cases[0].device == "cpu"

    def test_gpus_must_be_there(self):
        assert "finds no GPU" in refused(machine(), device="cuda")

    def test_an_implementation_for_gpus_alone_needs_one(self):
        about = msgspec.structs.replace(PYTORCH, on={"cuda": PYTORCH.on["cuda"]})
        assert "pytorch runs on GPUs alone" in refused(machine(), about=about)
        assert plan(DGX, about=about).cases[0].device == "cuda"

    def test_an_implementation_for_cpus_alone_leaves_gpus_be(self):
        about = msgspec.structs.replace(PYTORCH, on={"cpu": PYTORCH.on["cpu"]})
        assert plan(DGX, about=about).cases[0].device == "cpu"

    @pytest.mark.parametrize(("where", "most"), [(DGX, "8 GPUs"), (machine(), "2 cores")])
    def test_there_cannot_be_more_than_there_are(self, where, most):
        assert f"DEVICES=9: this machine has {most}" in refused(where, devices=9)


@pytest.mark.parametrize(
    ("cores", "nodes", "devices", "threads"),
    [(2, 1, 1, 2), (2, 1, 2, 1), (8, 1, 2, 4), (8, 2, 2, 2), (9, 2, 2, 2), (2, 4, 1, 1)],
)
def test_every_rank_of_a_run_has_the_same_share_of_the_cores(cores, nodes, devices, threads):
    cases = plan(machine(cores=cores), nodes=nodes, devices=devices).cases
    assert {case.threads for case in cases} == {threads}


class TestEmulation:
    def test_is_more_nodes_than_one_without_a_host_file(self):
        cases = plan(machine(), nodes=2).cases
        assert [(case.label, case.emulated) for case in cases] == [("1n1g", False), ("2n1g", True)]

    def test_is_noted(self):
        notes = plan(machine(), nodes=2).notes
        assert sum(note.startswith("emulated: ") for note in notes) == 1

    def test_is_not_where_hosts_are_named(self):
        planned = plan(DGX, nodes=2, hosts=2)
        assert not any(case.emulated for case in planned.cases)
        assert not any("emulated" in note for note in planned.notes)

    def test_that_crowds_the_cores_is_noted_with_the_number_of_ranks(self):
        assert not any("overcommitted" in note for note in plan(machine(), nodes=2).notes)
        notes = plan(machine(), nodes=4).notes
        assert any("up to 4 ranks share 2 cores" in note for note in notes)

    def test_of_named_cases_counts_their_ranks_alone(self):
        notes = plan(machine(cores=4), cases=["1n4g", "2n2g"]).notes
        assert not any("overcommitted" in note for note in notes)

    def test_needs_a_gpu_for_each_device(self):
        said = refused(DGX, nodes=2, devices=8)
        assert "DEVICES=8: each of 2 nodes emulated on 8 GPUs has 4 GPUs" in said
        assert "NODES=9: each of 9 nodes emulated on 8 GPUs has 0" in refused(DGX, nodes=9)
        assert "each of 16 nodes emulated on 8 GPUs has 0" in refused(DGX, cases=["16n1g"])

    def test_that_would_bring_the_machine_down_is_refused(self):
        assert len(plan(machine(), nodes=32).cases) == 6
        assert "33 ranks are too many" in refused(machine(), nodes=33)


def test_each_case_is_made_by_each_strategy_and_backend():
    named = [
        (c.label, c.strategy, c.backend, c.ranks)
        for c in plan(DGX, strategy=["ddp", "dp"], backend=["nccl"], devices=4).cases
    ]
    one, four = "1n1g", "1n4g"
    assert named == [
        (one, "ddp", "nccl", 1),
        (one, "dp", "nccl", 1),
        (four, "ddp", "nccl", 4),
        (four, "dp", "nccl", 1),
    ]


def test_a_cpu_sized_problem_is_noted():
    (note,) = plan(machine(), devices=2).notes
    assert note.startswith("CPU-sized: 96 px, batch 8 per device, 3 + 10 steps")
    assert note.endswith("a device is a rank with 1 of 2 cores")
    assert plan(DGX).notes == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"precision": "fp64"}, "PRECISION='fp64'"),
        ({"loader": "x"}, "LOADER='x'"),
        ({"layout": "x"}, "LAYOUT='x'"),
        ({"strategy": ["x"]}, "STRATEGY='x'"),
        ({"strategy": ["dp"], "nodes": 2, "devices": 4}, "STRATEGY='dp' is one process"),
        ({"strategy": ["dp"], "compile": True}, "COMPILE=1 is not possible with STRATEGY='dp'"),
        ({"precision": "amp", "amp_dtype": "fp8"}, "AMP_DTYPE='fp8'"),
        ({"amp_dtype": "fp16"}, "AMP_DTYPE=fp16 goes with PRECISION=amp"),
        ({"data": "synthetic", "loader": "torchvision"}, "LOADER=torchvision reads images"),
    ],
)
def test_what_an_implementation_cannot_do_is_refused(options, said):
    assert said in refused(DGX, **options)


def test_a_compiler_that_an_implementation_does_not_have_is_refused():
    about = msgspec.structs.replace(PYTORCH, compiler="")
    assert "has no compiler" in refused(DGX, compile=True, about=about)
