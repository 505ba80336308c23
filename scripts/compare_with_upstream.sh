#!/bin/sh
# Measures each of our training scripts in turn with its framework's official one, on one device, in
# one environment where both can have it: a run, with its report, for each pair.
#
#   make compare-upstream                    on this machine's first device
#   make compare-upstream REPEATS=12         any of the options of `make bench`, for all pairs
#
# The loader is the one that both can have; oneflow-models' own data are synthetic.
set -eu
cd "$(dirname "$0")/.."
failed=0
while read -r pair options; do
    echo "== $pair"
    # shellcheck disable=SC2086 # options are words
    .venv/bin/python -m runners.cli bench "$pair" --devices=1 --cases=1n1g --image-size=224 --batch=16 \
        --warmup=2 --steps=5 --repeats=6 $options "$@" </dev/null || failed=1
done <<PAIRS
pytorch,pytorch-examples
tensorflow,tf-models-official --loader=tfrecord
mxnet,gluon-cv --loader=recordio
oneflow,oneflow-models --data=synthetic
paddlepaddle,paddleclas --loader=filelist
mindspore,mindcv
PAIRS
exit $failed
