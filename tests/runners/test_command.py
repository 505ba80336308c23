"""What is executed, to the letter: these lines are what a reader of a record would run again."""

import shlex
import socket
import subprocess
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import machine, plan

from results.record import NodeCommand, shown
from runners.command import Job, node_commands, recorded_variables
from runners.description import Launch
from runners.implementations import load_manifest

PYTORCH = load_manifest("pytorch")


def job(nodes, *, data="/data/train"):
    return Job(
        python=Path("/env/bin/python"),
        data=data,
        logs=Path("/run/logs"),
        hosts=[f"host{node}" for node in range(1, nodes + 1)],
        gpus=[str(one) for one in range(8)],
        port=29500,
        token="0123",  # noqa: S106 - a mark on processes, not a secret
        seed=7,
    )


def lines(case, **options):
    """Return the line for each node, with the folder of the implementation as FOLDER."""
    commands = node_commands(case, PYTORCH, job(case.nodes, **options))
    return [shown(command).replace(str(PYTORCH.folder), "FOLDER") for command in commands]


def on_gpus(nodes, **options):
    return plan(machine(cores=96, gpus=8), nodes=nodes, hosts=nodes, **options).cases[-1]


GPU_NODE = (
    "DLSCALE_TOKEN=0123 /env/bin/python -m torch.distributed.run --nnodes={nodes}"
    " --node-rank={node} --nproc-per-node=8 --master-addr=127.0.0.1 --master-port=29500"
    " FOLDER/train.py --device=cuda --batch-size=128 --global-batch={images} --image-size=224"
    " --precision=fp32 --layout=channels_last --strategy=ddp --backend=nccl --loader=torchvision"
    " --data=/data/train --workers=8"
    " --threads={threads} --warmup=20 --steps=100 --seed=7 --log-dir=/run/logs"
)


@pytest.mark.parametrize(("nodes", "images"), [(1, 1024), (2, 2048), (4, 4096)])
def test_pytorch_on_nodes_of_8_gpus(nodes, images):
    expected = [
        GPU_NODE.format(nodes=nodes, node=node, images=images, threads=12) for node in range(nodes)
    ]
    assert lines(on_gpus(nodes)) == expected


def test_pytorch_on_two_emulated_nodes_of_one_core():
    case = plan(machine(cores=2), nodes=2, data="synthetic").cases[-1]
    expected = (
        "GLOO_SOCKET_IFNAME=lo OMP_NUM_THREADS=1 MALLOC_MMAP_MAX_=0"
        " MALLOC_TRIM_THRESHOLD_=17179869184 MALLOC_TOP_PAD_=268435456"
        " GLIBC_TUNABLES=glibc.malloc.hugetlb=1 DLSCALE_TOKEN=0123"
        " /env/bin/python -m torch.distributed.run --nnodes=2 --node-rank={node}"
        " --nproc-per-node=1 --master-addr=127.0.0.1 --master-port=29500 FOLDER/train.py"
        " --device=cpu --batch-size=8 --global-batch=16 --image-size=96 --precision=fp32"
        " --layout=channels_last --strategy=ddp --backend=gloo --workers=0 --threads=1 --warmup=3"
        " --steps=10 --seed=7 --log-dir=/run/logs"
    )
    assert lines(case, data="") == [expected.format(node=node) for node in (0, 1)]


def test_emulated_nodes_share_the_gpus_out_among_them():
    case = plan(machine(cores=96, gpus=8), nodes=2).cases[-1]
    commands = node_commands(case, PYTORCH, job(2))
    seen = [command.environment["CUDA_VISIBLE_DEVICES"] for command in commands]
    assert seen == ["0,1,2,3", "4,5,6,7"]


def test_a_case_sees_no_more_gpus_than_it_has():
    case = plan(machine(cores=96, gpus=8), cases=["1n2g"]).cases[0]
    (command,) = node_commands(case, PYTORCH, job(1))
    assert command.environment["CUDA_VISIBLE_DEVICES"] == "0,1"


def test_nodes_that_are_hosts_leave_the_visible_gpus_as_they_are():
    (command, _) = node_commands(on_gpus(2), PYTORCH, job(2))
    assert "CUDA_VISIBLE_DEVICES" not in command.environment


def test_amp_names_its_16_bit_type():
    (line,) = lines(on_gpus(1, precision="amp", amp_dtype="bf16"))
    assert " --batch-size=256 --global-batch=2048 " in line
    assert " --precision=amp --amp-dtype=bf16 " in line


def test_the_compiler_is_switched_on():
    assert lines(on_gpus(1, compile=True))[0].endswith(" --compile")


def test_each_node_has_its_host():
    commands = node_commands(on_gpus(2), PYTORCH, job(2))
    assert [(command.node, command.host) for command in commands] == [(0, "host1"), (1, "host2")]


def test_the_manifests_folder_can_stand_in_a_command():
    toy = load_manifest(str(Path(__file__).parents[1] / "toy"))
    (command,) = node_commands(plan(machine(), about=toy.about).cases[0], toy, job(1))
    assert command.arguments[:3] == ["/env/bin/python", f"{toy.folder}/launch.py", "--nodes=1"]
    assert command.environment["TOY_THREADS"] == "1"


def toy(**changes):
    """Return the toy's manifest, its strategy and itself changed."""
    manifest = load_manifest(str(Path(__file__).parents[1] / "toy"))
    (name,) = manifest.about.strategy
    keys = msgspec.structs.fields(manifest.about.strategy[name])
    mine = {key: changes.pop(key) for key in [one.name for one in keys] if key in changes}
    strategy = msgspec.structs.replace(manifest.about.strategy[name], **mine)
    about = msgspec.structs.replace(manifest.about, strategy={name: strategy}, **changes)
    return replace(manifest, about=about)


def test_one_launcher_can_start_the_ranks_of_all_nodes():
    mpi = ["-m", "mpi", "-np={ranks}", "-H={hosts}", "--{backend}", "{python}"]
    manifest = toy(per="job", start=mpi)
    case = plan(machine(cores=4), about=manifest.about, nodes=2).cases[-1]
    (command,) = node_commands(case, manifest, job(2))
    expected = ["-m", "mpi", "-np=4", "-H=127.0.0.1:2,127.0.0.01:2", "--gloo", "/env/bin/python"]
    assert command.arguments[1:7] == expected
    assert {socket.gethostbyname(host) for host in ("127.0.0.1", "127.0.0.01")} == {"127.0.0.1"}
    case = plan(machine(cores=4), about=manifest.about, nodes=2, hosts=2).cases[-1]
    (command,) = node_commands(case, manifest, job(2))
    assert "-H=host1:4,host2:4" in command.arguments


@pytest.mark.parametrize(
    "name",
    ["MXNET_ENGINE_TYPE", "DMLC_NUM_SERVER", "ONEFLOW_VM_WORKLOAD", "MS_DEV_X", "PS_VERBOSE"],
)
def test_variables_of_every_framework_are_recorded(name):
    assert recorded_variables({name: "1"}) == {name: "1"}


def test_the_folder_of_installed_packages_has_a_place():
    manifest = toy(start=["{packages}/x.py"])
    (command,) = node_commands(plan(machine(), about=manifest.about).cases[0], manifest, job(1))
    assert command.arguments[1] == "/env/lib/python3.11/site-packages/x.py"


def test_one_process_can_drive_all_devices():
    manifest = toy(one_process=True, start=["{ranks}"])
    case = plan(machine(cores=4), about=manifest.about).cases[-1]
    assert (case.world_size, case.ranks, case.global_batch) == (4, 1, 32)
    (command,) = node_commands(case, manifest, job(1))
    assert command.arguments[1] == "1"
    assert {"--devices-per-rank=4", "--batch-size=8"} < set(command.arguments)


def test_emulated_nodes_have_an_address_each_where_they_need_it():
    manifest = toy(own_address=True, start=["{master_address}"])
    for emulated, hosts in ((True, None), (False, 2)):
        case = plan(machine(cores=2), about=manifest.about, nodes=2, hosts=hosts).cases[-1]
        commands = node_commands(case, manifest, job(2))
        addresses = ["10.77.0.1", "10.77.0.2"] if emulated else ["", ""]
        assert [command.address for command in commands] == addresses
        if emulated:
            assert {command.arguments[1] for command in commands} == {"10.77.0.1"}
            assert commands[0].environment["GLOO_SOCKET_IFNAME"] == "eth0"


def test_a_launcher_can_be_told_the_nodes_addresses():
    told = ["{node_address}", "{addresses}", "{endpoints}"]
    manifest = toy(own_address=True, start=told)
    for emulated, hosts, ours in (
        (True, None, ["10.77.0.1", "10.77.0.2"]),
        (False, 2, ["host1", "host2"]),
    ):
        case = plan(machine(cores=2), about=manifest.about, nodes=2, hosts=hosts).cases[-1]
        assert case.emulated == emulated
        for command, mine in zip(node_commands(case, manifest, job(2)), ours, strict=True):
            expected = [mine, ",".join(ours), ",".join(f"{one}:29500" for one in ours)]
            assert command.arguments[1:4] == expected
    case = plan(machine(), about=manifest.about, nodes=1, devices=1).cases[0]
    (command,) = node_commands(case, manifest, job(1))
    assert command.arguments[1:4] == ["127.0.0.1", "127.0.0.1", "127.0.0.1:29500"]


def test_a_program_can_take_the_place_of_the_interpreter():
    manifest = toy(program="mpirun", start=["-np", "{ranks}", "{python}"], per="job")
    (command,) = node_commands(plan(machine(), about=manifest.about).cases[0], manifest, job(1))
    assert command.arguments[:5] == [
        *("mpirun", "-np", "1", "/env/bin/python"),
        f"{manifest.folder}/train.py",
    ]


def test_a_job_of_one_node_or_device_can_be_started_otherwise():
    one_node = Launch(program="two", start=["{devices}"])
    for instead, expected in (
        ({}, ["one", "one", "one"]),
        ({"one_node": one_node}, ["two", "two", "one"]),
        ({"one_node": one_node, "one_device": Launch()}, ["/env/bin/python", "two", "one"]),
        ({"one_device": Launch()}, ["/env/bin/python", "one", "one"]),
    ):
        manifest = toy(program="one", per="job", instead=instead)
        cases = plan(machine(cores=4), about=manifest.about, nodes=2).cases
        found = [node_commands(case, manifest, job(2))[0].arguments[0] for case in cases]
        assert [case.label for case in cases] == ["1n1g", "1n2g", "2n2g"]
        assert found == expected


def test_one_launcher_for_emulated_nodes_sees_the_gpus_of_them_all():
    manifest = load_manifest("ngc-mxnet", "dlperf-v1.0")
    cases = plan(machine(cores=96, gpus=8), about=manifest.about, nodes=2, devices=2).cases
    there = replace(job(2), checkout=Path("/there"))
    for case, seen in zip(cases, ["0", "0,1", "0,1,2,3"], strict=True):
        (command,) = node_commands(case, manifest, there)
        assert command.environment["CUDA_VISIBLE_DEVICES"] == seen
        assert command.arguments[command.arguments.index("--gpus") + 1] == seen


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
VARIABLES = st.dictionaries(st.from_regex(r"[A-Z_]{1,9}", fullmatch=True), TEXTS, max_size=3)


@given(st.lists(TEXTS, min_size=1), VARIABLES)
def test_what_is_shown_reads_back_as_what_is_executed(arguments, variables):
    command = NodeCommand(node=0, host="host1", arguments=arguments, environment=variables)
    assigned = [f"{name}={value}" for name, value in variables.items()]
    assert shlex.split(shown(command)) == [*assigned, *arguments]


def test_a_shell_executes_what_is_shown():
    odd = ["a b", "it's", '"$HOME"', "$(touch x)", "`x`", "*", "", "\\", "é\n"]
    command = NodeCommand(
        node=0, host="host1", arguments=["printenv", "-0", "ODD"], environment={"ODD": "".join(odd)}
    )
    line = shown(command) + "; " + shlex.join(["printf", "%s\\0", *odd])
    done = subprocess.run(["sh", "-c", line], capture_output=True, check=True)
    assert done.stdout.decode().split("\0") == ["".join(odd), *odd, ""]


@pytest.mark.parametrize(
    "name",
    [
        *("DLSCALE_TOKEN", "TF_API_KEY", "TF_APIKEY", "XLA_KEYS", "NVIDIA_SECRET"),
        *("TORCH_PASSWORD", "OMPI_PASSWD", "UCX_CREDENTIALS", "NCCL_PRIVATE_X", "XLA_token"),
    ],
)
def test_secrets_are_masked(name):
    assert recorded_variables({name: "s3cret"}) == {name: "***"}


@pytest.mark.parametrize(
    ("address", "masked"),
    [
        ("http://me:s3cret@proxy:80/x", "http://***@proxy:80/x"),
        ("https://s3cret@host", "https://***@host"),
        ("ftp://me:s3@cret@host/a", "ftp://***@host/a"),
        ("http://host/a@b", "http://host/a@b"),
    ],
)
def test_passwords_in_addresses_are_masked(address, masked):
    assert recorded_variables({"TORCH_HOME": address}) == {"TORCH_HOME": masked}


def test_variables_that_steer_a_measurement_are_kept_in_order_and_others_are_not():
    found = {"OMP_NUM_THREADS": "2", "CUDA_VISIBLE_DEVICES": "0", "HOME": "/root", "MY_OMP": "1"}
    expected = {"CUDA_VISIBLE_DEVICES": "0", "OMP_NUM_THREADS": "2"}
    assert list(recorded_variables(found).items()) == list(expected.items())


DLPERF = (
    "PYTHONDONTWRITEBYTECODE=1 {seen}DLSCALE_TOKEN=0123 /env/bin/python /there/imagenet/main.py"
    " --arch=resnet50 --epochs=1 --lr={rate} --momentum=0.125 --print-freq=1"
    " --batch-size={node_batch} --workers={workers} --multiprocessing-distributed"
    " --dist-backend=nccl --dist-url=tcp://127.0.0.1:29500 --world-size={nodes} --rank={node} /data"
)


@pytest.mark.parametrize(
    ("nodes", "devices", "rate", "workers"),
    [(1, 1, "0.128", 8), (1, 8, "1.024", 64), (2, 8, "2.048", 64), (4, 8, "4.096", 64)],
)
def test_dlperfs_own_arguments_of_pytorch_examples(nodes, devices, rate, workers):
    manifest = load_manifest("pytorch-examples", "dlperf-v1.0")
    where = machine(cores=96, gpus=8)
    planned = plan(where, about=manifest.about, nodes=nodes, devices=devices, hosts=nodes)
    there = replace(job(nodes), checkout=Path("/there"))
    shown_lines = [shown(one) for one in node_commands(planned.cases[-1], manifest, there)]
    form = DLPERF.replace("{seen}", "CUDA_VISIBLE_DEVICES=0 " if devices == 1 else "")
    expected = [
        form.format(rate=rate, node_batch=128 * devices, workers=workers, nodes=nodes, node=node)
        for node in range(nodes)
    ]
    assert shown_lines == expected


def test_a_script_of_a_package_is_started_as_a_module():
    manifest = load_manifest("tf-models-official")
    planned = plan(machine(cores=2, gpus=0), about=manifest.about, nodes=1, devices=1)
    (command,) = node_commands(planned.cases[0], manifest, job(1))
    assert command.arguments[:3] == ["/env/bin/python", "-m", "official.vision.train"]
    assert "trainer.train_steps=13" in command.arguments[-1]


PADDLECLAS = (
    "GLOO_SOCKET_IFNAME=lo PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=2 DLSCALE_TOKEN=0123"
    " /env/bin/python /there/tools/train.py"
    " --config=/there/ppcls/configs/ImageNet/ResNet/ResNet50.yaml"
    " --override=Global.device=cpu --override=Global.epochs=1 --override=Global.iter_per_epoch=13"
    " --override=Global.print_batch_step=1 --override=Global.eval_during_train=False"
    " --override=Global.save_interval=0 --override=Global.output_dir=."
    " --override=Arch.pretrained=False --override=Loss.Train.0.CELoss.epsilon=0.1"
    " --override=Optimizer.lr.learning_rate=0.008 --override=Optimizer.momentum=0.875"
    " --override=Optimizer.regularizer.coeff=0.000030517578125"
    " --override=DataLoader.Train.dataset.transform_ops.1.RandCropImage.size=224"
    " --override=DataLoader.Train.sampler.batch_size=8"
    " --override=DataLoader.Train.sampler.drop_last=True"
    " --override=DataLoader.Train.loader.num_workers=1"
    " --override=DataLoader.Train.dataset.image_root=/data/list"
    " --override=DataLoader.Train.dataset.cls_label_path=/data/list/train_list.txt"
)


def test_a_script_is_told_where_its_checkout_lies():
    manifest = load_manifest("paddleclas", "today")
    planned = plan(machine(cores=2), about=manifest.about, devices=1, image_size=224)
    there = replace(job(1, data="/data/list"), checkout=Path("/there"))
    (command,) = node_commands(planned.cases[0], manifest, there)
    assert shown(command) == PADDLECLAS


TIMM = (
    "PYTHONDONTWRITEBYTECODE=1 {variables}DLSCALE_TOKEN=0123 /env/bin/python"
    " -m torch.distributed.run --nnodes=2 --node-rank={node} --nproc-per-node=8"
    " --master-addr=127.0.0.1 --master-port=29500 /there/train.py --model=resnet50"
    " --num-classes=1000 --device=cuda --epochs=1 --warmup-epochs=0 --val-split= --img-size=224"
    " --batch-size={batch} --workers=8 --color-jitter=0 --train-interpolation=bilinear"
    " --smoothing=0.1 --opt=momentum --lr={rate} --momentum=0.875"
    " --weight-decay=0.000030517578125 --log-interval=1 --output=.{more} --data-dir=/data"
)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (
            {"precision": "amp", "amp_dtype": "bf16"},
            {"batch": 256, "rate": 4.096, "more": " --amp --amp-dtype=bfloat16 --channels-last"},
        ),
        (
            {"precision": "amp", "compile": True},
            {
                "batch": 256,
                "rate": 4.096,
                "more": " --amp --amp-dtype=float16 --channels-last --torchcompile",
            },
        ),
        (
            {"layout": "channels_first"},
            {"batch": 128, "rate": 2.048, "more": "", "variables": "NVIDIA_TF32_OVERRIDE=0 "},
        ),
    ],
)
def test_a_script_is_told_precision_and_layout(asked, expected):
    manifest = load_manifest("timm")
    where = machine(cores=96, gpus=8)
    planned = plan(where, about=manifest.about, nodes=2, hosts=2, **asked)
    there = replace(job(2), checkout=Path("/there"))
    shown_lines = [shown(one) for one in node_commands(planned.cases[-1], manifest, there)]
    expected = {"variables": "", **expected}
    assert shown_lines == [TIMM.format(node=node, **expected) for node in (0, 1)]


@pytest.mark.parametrize("name", ["pytorch-examples", "timm"])
def test_fp32_is_fp32_where_a_script_leaves_tf32_on(name):
    manifest = load_manifest(name)
    there = replace(job(1), checkout=Path("/there"))
    given = {}
    for precision in ("fp32", "tf32"):
        asked = {"about": manifest.about, "precision": precision}
        (case,) = plan(machine(cores=12, gpus=1), devices=1, **asked).cases
        (command,) = node_commands(case, manifest, there)
        given[precision] = command.environment.get("NVIDIA_TF32_OVERRIDE")
    assert given == {"fp32": "0", "tf32": None}
