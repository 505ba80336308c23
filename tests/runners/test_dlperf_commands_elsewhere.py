"""DLPerf's own arguments, to the letter, of the implementations whose environments are elsewhere.

The lines are those that its scripts put together, but for addresses and folders.
"""

import shlex
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from made_up import machine, plan
from test_command import job

from runners.command import node_commands
from runners.forms.index import INDEX, FormIndex, Shard
from runners.implementations import load_manifest

EDITION = "dlperf-v1.0"
LABELS = [(1, 1), (1, 8), (2, 8), (4, 8)]  # 1n1g, 1n8g, 2n8g, 4n8g
EVERY = [(*label, precision) for label in LABELS for precision in ("fp32", "amp")]
OURS = {"DLSCALE_TOKEN", "PYTHONDONTWRITEBYTECODE"}


def commands(name, nodes, devices, precision, *, data="/data/train", **options):
    """Return what is executed on each node of a case, on nodes of 8 GPUs each."""
    manifest = load_manifest(name, EDITION)
    where = machine(cores=96, gpus=8)
    options |= {"nodes": nodes, "devices": devices, "precision": precision}
    (case,) = plan(where, about=manifest.about, hosts=nodes, **options).cases[-1:]
    there = replace(job(nodes, data=data), checkout=Path("/there"))
    return node_commands(case, manifest, there)


def told(arguments):
    """Return the options with what stands behind each, in an order of their own."""
    options = [[]]
    for one in arguments:
        if one.startswith("-") and not one[1:2].isdigit():
            options.append(one.split("=", 1))
        else:
            options[-1].append(one)
    return options[0], sorted(options[1:])


def check(command, line):
    assert told(command.arguments) == told(shlex.split(line))


def variables(command, devices):
    """Return what is set for the ranks, beside dlscale's own and which of 8 GPUs they see."""
    seen = command.environment.get("CUDA_VISIBLE_DEVICES")
    assert seen == ("0" if devices == 1 else None)
    ours = {*OURS, "CUDA_VISIBLE_DEVICES"}
    return {name: value for name, value in command.environment.items() if name not in ours}


def hosts(nodes):
    return [f"host{node}" for node in range(1, nodes + 1)] if nodes > 1 else ["127.0.0.1"]


def slots(nodes, devices):
    return ",".join(f"{host}:{devices}" for host in hosts(nodes))


NGC_PYTORCH = (
    "/env/bin/python /there/PyTorch/Classification/ConvNets/multiproc.py --nnodes {nodes}"
    " --node_rank {node} --nproc_per_node {devices} --master_addr 127.0.0.1 --master_port=29500"
    " /there/PyTorch/Classification/ConvNets/main.py --data-backend dali-cpu"
    " --raport-file raport.json -j8 -p 1 --lr {rate} --optimizer-batch-size -1 --warmup 8"
    " --arch resnet50 -c fanin --label-smoothing 0.1 --lr-schedule cosine --mom 0.125"
    " --wd 3.0517578125e-05 --workspace . -b {batch} --epochs 1 --prof {prof} --training-only"
    " --no-checkpoints {amp} /data"
)


@pytest.mark.parametrize(("warmup", "prof"), [(None, 121), (49, 150)])
@pytest.mark.parametrize(("nodes", "devices", "precision"), EVERY)
def test_ngc_pytorch(nodes, devices, precision, warmup, prof):
    batch, amp = {"fp32": (128, ""), "amp": (256, "--amp --dynamic-loss-scale")}[precision]
    rate = {128: "0.128", 1024: "1.024", 256: "0.256", 2048: "2.048"}[batch * devices]
    found = commands("ngc-pytorch", nodes, devices, precision, warmup=warmup)
    assert len(found) == nodes
    for node, command in enumerate(found):
        values = {"nodes": nodes, "node": node, "devices": devices, "batch": batch, "amp": amp}
        check(command, NGC_PYTORCH.format(rate=rate, prof=prof, **values))
        assert variables(command, devices) == {}


NGC_TENSORFLOW = (
    "/env/bin/python /there/TensorFlow/Classification/ConvNets/main.py --arch=resnet50 --mode=train"
    " --iter_unit=batch --num_iter=120 --batch_size={batch} {by_nodes} --use_cosine_lr"
    " --label_smoothing 0.1 --lr_warmup_epochs=8 --momentum=0.875"
    " --weight_decay=3.0517578125e-05 {precision} --data_dir=/data/train --use_dali"
    " --data_idx_dir=/data/train/dali_idx {xla} --results_dir=results --weight_init=fan_in"
    " --display_every=1"
)
ONE_NODE = "--warmup_steps=10000 --lr_init=0.001"
MORE_NODES = "--warmup_steps=0 --lr_init=0.256 --gpu_memory_fraction=0.98"
MPIRUN = (
    "mpirun --allow-run-as-root --bind-to socket -np {ranks} -H {slots} -bind-to none -map-by slot"
    " -x LD_LIBRARY_PATH -x PATH -mca pml ob1 -mca btl ^openib"
    " -mca plm_rsh_args '-p 22  -q -o StrictHostKeyChecking=no' -mca btl_tcp_if_include lo "
)


@pytest.mark.parametrize("xla", [False, True])
@pytest.mark.parametrize(("nodes", "devices", "precision"), EVERY)
def test_ngc_tensorflow(nodes, devices, precision, xla):
    batch, told_precision = {
        "fp32": (128, "--precision=fp32"),
        "amp": (
            224,
            "--precision=fp32 --use_tf_amp --use_static_loss_scaling --loss_scale=128",
        ),
    }[precision]
    (command,) = commands("ngc-tensorflow", nodes, devices, precision, compile=xla)
    start = MPIRUN.format(ranks=nodes * devices, slots=slots(nodes, devices))
    if nodes == 1:
        start = f"mpiexec --allow-run-as-root -np {devices} " if devices > 1 else ""
    line = NGC_TENSORFLOW.format(
        batch=batch,
        by_nodes=ONE_NODE if nodes == 1 else MORE_NODES,
        precision=told_precision,
        xla="--use_xla" if xla else "",
    )
    check(command, start + line)
    assert variables(command, devices) == {}


NGC_MXNET = (
    "horovodrun -np {ranks} -H {slots} -p 22 --start-timeout 600 /env/bin/python"
    " /there/MxNet/Classification/RN50v1.5/train.py {precision} --arch resnetv15 --num-layers 50"
    " --num-classes 1000 --mode train --data-train /data/train/train.rec"
    " --data-train-idx /data/train/train.idx --gpus {gpus} --batch-size {images}"
    " --image-shape 3,224,224 --lr 0.256 --lr-schedule cosine --optimizer sgd --mom 0.875"
    " --wd 3.0517578125e-05 --label-smoothing 0.1 --kv-store horovod --data-backend dali-gpu"
    " --benchmark-iters 120 --no-metrics --disp-batches 1 --save-frequency 0 --num-epochs 1"
)
FLOAT32 = "--dtype float32 --input-layout NHWC --fuse-bn-relu 0 --fuse-bn-add-relu 0"
FLOAT16 = (
    "--dtype float16 --fuse-bn-relu 1 --fuse-bn-add-relu 1 --input-layout NCHW --conv-layout NHWC"
    " --batchnorm-layout NHWC --pooling-layout NHWC"
)
NGC_MXNET_VARIABLES = {
    "MXNET_UPDATE_ON_KVSTORE": "0",
    "MXNET_EXEC_ENABLE_ADDTO": "1",
    "MXNET_USE_TENSORRT": "0",
    "MXNET_GPU_WORKER_NTHREADS": "2",
    "MXNET_GPU_COPY_NTHREADS": "1",
    "MXNET_OPTIMIZER_AGGREGATION_SIZE": "54",
    "HOROVOD_CYCLE_TIME": "0.1",
    "HOROVOD_FUSION_THRESHOLD": "67108864",
    "HOROVOD_NUM_NCCL_STREAMS": "2",
    "MXNET_HOROVOD_NUM_GROUPS": "16",
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_FWD": "999",
    "MXNET_EXEC_BULK_EXEC_MAX_NODE_TRAIN_BWD": "25",
}


@pytest.mark.parametrize(("nodes", "devices", "precision"), EVERY)
def test_ngc_mxnet(nodes, devices, precision):
    batch, told_precision = {"fp32": (128, FLOAT32), "amp": (256, FLOAT16)}[precision]
    (command,) = commands("ngc-mxnet", nodes, devices, precision)
    line = NGC_MXNET.format(
        ranks=nodes * devices,
        slots=slots(nodes, devices),
        precision=told_precision,
        gpus={1: "0", 8: "0,1,2,3,4,5,6,7"}[devices],
        images=batch * nodes * devices,
    )
    check(command, line)
    assert variables(command, devices) == NGC_MXNET_VARIABLES


ONEFLOW = (
    "/env/bin/python /there/Classification/cnns/of_cnn_train_val.py --num_examples={images}"
    " --train_data_dir={data} --train_data_part_num=256 --num_nodes={nodes}"
    " --gpu_num_per_node={devices} --optimizer=sgd --momentum=0.875 --label_smoothing=0.1"
    " --learning_rate=0.001 --loss_print_every_n_iter=20 --batch_size_per_device={batch}"
    " --val_batch_size_per_device=125 --num_epoch=1 {precision} --fuse_bn_relu=True"
    " --fuse_bn_add_relu=True --nccl_fusion_threshold_mb=16 --nccl_fusion_max_ops=24"
    " --gpu_image_decoder=True --log_dir=./log --node_ips={ips} --model=resnet50"
)


@pytest.fixture
def ofrecord(tmp_path):
    """A folder of as many OFRecord files as DLPerf had."""
    shards = [Shard(file=f"part-{one:05d}", size=1, images=1, sha256="") for one in range(256)]
    about = {"form": "ofrecord", "version": 1, "source": "/imagenet", "plan": "", "classes": ["a"]}
    index = FormIndex(images=256, image_bytes=256, shards=shards, **about)
    (tmp_path / INDEX).write_bytes(msgspec.json.encode(index))
    return tmp_path


@pytest.mark.parametrize(("nodes", "devices", "precision"), EVERY)
def test_oneflow_benchmark(nodes, devices, precision, ofrecord):
    batch, told_precision = {
        "fp32": (128, "--channel_last=False"),
        "amp": (256, "--use_fp16 --channel_last=True --pad_output"),
    }[precision]
    found = commands("oneflow-benchmark", nodes, devices, precision, data=str(ofrecord))
    assert len(found) == nodes
    for command in found:
        line = ONEFLOW.format(
            images=nodes * devices * batch * 120,
            data=ofrecord,
            nodes=nodes,
            devices=devices,
            batch=batch,
            precision=told_precision,
            ips=",".join(hosts(nodes)),
        )
        check(command, line)
        expected = {"PYTHONUNBUFFERED": "1", "NCCL_LAUNCH_MODE": "PARALLEL"}
        assert variables(command, devices) == expected


MINDSPORE = (
    "/env/bin/python /there/model_zoo/official/cv/resnet/train.py --net=resnet50"
    " --dataset=imagenet2012 {by_devices} --device_target=GPU --data_sink_steps=10"
    " --train_steps=200 --dataset_path=/data/train --batch_size={batch} --dtype={dtype}"
)
MINDSPORE_MPIRUN = (
    "mpirun --allow-run-as-root --output-filename log_output --merge-stderr-to-stdout -n {ranks}"
    " -H {slots} -x NCCL_DEBUG=INFO -mca plm_rsh_args '-p 22' "
)


@pytest.mark.parametrize(("nodes", "devices", "precision"), EVERY)
def test_mindspore_model_zoo(nodes, devices, precision):
    batch, dtype = {"fp32": (128, "fp32"), "amp": (256, "fp16")}[precision]
    (command,) = commands("mindspore-model-zoo", nodes, devices, precision, warmup=100)
    start = by_devices = ""
    if devices > 1:
        start = MINDSPORE_MPIRUN.format(ranks=nodes * devices, slots=slots(nodes, devices))
        by_devices = f"--run_distribute=True --device_num={devices}"
    check(command, start + MINDSPORE.format(by_devices=by_devices, batch=batch, dtype=dtype))
    assert variables(command, devices) == {"GLOG_logtostderr": "1", "GLOG_v": "2"}


def test_what_is_not_there_can_be_shown():
    """As a dry run does, which has no Python to name."""
    for name in ("ngc-pytorch", "oneflow-benchmark"):
        manifest = load_manifest(name, EDITION)
        case = plan(machine(cores=96, gpus=8), about=manifest.about).cases[0]
        there = replace(job(1), python=Path("python3"), checkout=Path("/there"))
        (command,) = node_commands(case, manifest, there)
        assert command.arguments[0] == "python3"
