"""DLPerf's own arguments, to the letter, of the implementations from the frameworks' repositories.

They are those of its scripts and YAML files, but for addresses and folders.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from made_up import machine, plan
from test_command import job

from runners.command import node_commands
from runners.implementations import load_manifest

EDITION = "dlperf-v1.0"
# 1n1g, 1n8g, 2n8g, 4n8g
LABELS = [(1, 1), (1, 8), (2, 8), (4, 8)]
EVERY = [(*label, precision) for label in LABELS for precision in ("fp32", "amp")]
BATCH = {"fp32": 128, "amp": 256}


def commands(name, nodes, devices, precision):
    """Return what is executed on each node of a case on 8 GPUs each."""
    manifest = load_manifest(name, EDITION)
    options = {"nodes": nodes, "devices": devices, "precision": precision}
    planned = plan(machine(cores=96, gpus=8), about=manifest.about, hosts=nodes, **options)
    there = replace(job(nodes, data="/data"), checkout=Path("/there"))
    return node_commands(planned.cases[-1], manifest, there)


def variables(command):
    """Return the variables that DLPerf's scripts set, too."""
    ours = ("DLSCALE_TOKEN", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in command.environment.items() if name not in ours}


def hosts_of(nodes):
    return [f"host{node}" for node in range(1, nodes + 1)] if nodes > 1 else ["127.0.0.1"]


def seen(devices):
    return {"CUDA_VISIBLE_DEVICES": "0"} if devices == 1 else {}


@pytest.mark.parametrize(("nodes", "devices", "precision"), EVERY)
def test_tensorflow_models(nodes, devices, precision):
    folder = load_manifest("tensorflow-models", EDITION).folder
    batch = BATCH[precision]
    endpoints = ",".join(f"host{node}:29500" for node in range(1, nodes + 1))
    for node, command in enumerate(commands("tensorflow-models", nodes, devices, precision)):
        override = (
            f"runtime.distribution_strategy=mirrored,runtime.num_gpus={devices},"
            f"runtime.batchnorm_spatial_persistent=True,train_dataset.batch_size={batch},"
            "model.learning_rate.initial_lr=0.256,model.learning_rate.warmup_epochs=0,"
            "train.steps=120"
        )
        if nodes > 1:
            override = (
                "runtime.distribution_strategy=multi_worker_mirrored,"
                f"runtime.worker_hosts='{endpoints}',runtime.num_gpus={devices},"
                f"runtime.task_index={node},runtime.all_reduce_alg=nccl,"
                f"runtime.batchnorm_spatial_persistent=False,train_dataset.batch_size={batch},"
                "model.learning_rate.initial_lr=1.024,model.learning_rate.warmup_epochs=1,"
                "train.steps=120"
            )
        assert command.arguments == [
            "/env/bin/python",
            "-m",
            "official.vision.image_classification.classifier_trainer",
            "--mode=train_and_eval",
            "--model_type=resnet",
            "--dataset=imagenet",
            "--model_dir=model",
            "--data_dir=/data",
            "--log_steps=1",
            f"--params_override={override}",
            f"--config_file={folder}/{precision}.yaml",
        ]
        assert variables(command) == seen(devices)


# What all six of DLPerf's YAML files say, and does not stand in the commands above.
SETTINGS = """\
train_dataset:
  name: imagenet2012
  builder: records
  split: train
  image_size: 224
  num_classes: 1000
  num_examples: 640512
  use_per_replica_batch_size: true
  dtype: {dtype}
  mean_subtract: true
  standardize: true
model:
  name: resnet
  model_params:
    rescale_inputs: false
  optimizer:
    name: momentum
    momentum: 0.875
    decay: 0.9
    epsilon: 0.001
  learning_rate:
    name: piecewise_constant_with_warmup
    examples_per_epoch: 640512
  loss:
    label_smoothing: 0.1
train:
  resume_checkpoint: false
  epochs: 1
"""


@pytest.mark.parametrize(("file", "dtype"), [("fp32", "float32"), ("amp", "float16")])
def test_tensorflow_models_settings(file, dtype):
    path = load_manifest("tensorflow-models", EDITION).folder / f"{file}.yaml"
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    # Nothing is evaluated: what is said of that is ours.
    start, end = lines.index("validation_dataset:"), lines.index("model:")
    training = [*lines[:start], *lines[end : lines.index("evaluation:")]]
    assert training == SETTINGS.format(dtype=dtype).splitlines()


@pytest.mark.parametrize(("nodes", "devices", "precision"), EVERY)
def test_paddle_models(nodes, devices, precision):
    hosts = hosts_of(nodes)
    precise = {
        "fp32": ["--data_format=NCHW"],
        "amp": [
            "--data_format=NHWC",
            "--use_fp16=True",
            "--use_dynamic_loss_scaling=true",
            "--scale_loss=128.0",
            "--fuse_elewise_add_act_ops=true",
            "--fuse_bn_act_ops=true",
        ],
    }
    schedule = ["--lr_strategy=cosine_decay", "--use_dali=False"]
    flags = {"FLAGS_fraction_of_gpu_memory_to_use": "0.98"}
    if precision == "amp":
        flags |= {
            "FLAGS_conv_workspace_size_limit": "4000",
            "FLAGS_cudnn_exhaustive_search": "1",
            "FLAGS_cudnn_batchnorm_spatial_persistent": "1",
        }
    for host, command in zip(
        hosts, commands("paddle-models", nodes, devices, precision), strict=True
    ):
        assert command.arguments == [
            "/env/bin/python",
            "-m",
            "paddle.distributed.launch",
            f"--cluster_node_ips={','.join(hosts)}",
            f"--node_ip={host}",
            "/there/PaddleCV/image_classification/train.py",
            "--data_dir=/data",
            "--total_images=1302936",
            "--class_dim=1000",
            "--validate=False",
            "--model=ResNet50",
            f"--batch_size={BATCH[precision] * devices}",
            "--print_step=1",
            "--save_step=10000",
            "--reader_thread=8",
            "--lr=0.001",
            "--momentum_rate=0.875",
            *("--image_shape", "3", "224", "224"),
            "--model_save_dir=output/",
            "--l2_decay=0.000030518",
            "--warm_up_epochs=1",
            "--use_mixup=False",
            "--use_label_smoothing=True",
            "--label_smoothing_epsilon=0.1",
            "--max_iter=120",
            *(schedule if nodes == 1 else ["--lr_strategy=piecewise_decay"]),
            *precise[precision],
        ]
        assert variables(command) == {**flags, **seen(devices)}


@pytest.mark.parametrize(("nodes", "devices", "precision"), EVERY)
def test_gluon_cv(nodes, devices, precision):
    (command,) = commands("gluon-cv", nodes, devices, precision)
    assert command.arguments == [
        "mpirun",
        "--allow-run-as-root",
        "-oversubscribe",
        *("-np", str(nodes * devices)),
        *("-H", ",".join(f"{host}:{devices}" for host in hosts_of(nodes))),
        *("-bind-to", "none"),
        *("-map-by", "slot"),
        *("-x", "LD_LIBRARY_PATH"),
        *("-x", "PATH"),
        *("-mca", "pml", "ob1"),
        *("-mca", "btl", "^openib"),
        *("-mca", "plm_rsh_args", "-p 22  -q -o StrictHostKeyChecking=no"),
        *("-mca", "btl_tcp_if_include", "lo"),
        "/env/bin/python",
        "/there/scripts/classification/imagenet/train_horovod.py",
        "--mode=hybrid",
        "--model=resnet50_v1b",
        "--use-rec",
        "--rec-train=/data/train.rec",
        "--rec-val=/data/train.rec",
        f"--batch-size={BATCH[precision]}",
        "--input-size=224",  # the script's own
        "--data-nthreads=8",  # the script's own
        "--log-interval=1",
        "--save-frequency=10000",
        "--lr=0.001",
        "--momentum=0.875",
        "--wd=0.000030518",
        "--num-epochs=1",
        "--warmup-epochs=1",
        {"fp32": "--dtype=float32", "amp": "--dtype=float16"}[precision],
    ]
    assert variables(command) == seen(devices)
