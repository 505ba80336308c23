"""Lets something happen before a step of TensorFlow's training script."""

import json
import os

import tensorflow as tf

TASK = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {"type": "worker", "index": 0})
RANK = None  # servers and coordinators are no ranks
if TASK["type"] == "worker":
    RANK = int(os.environ.get("HOROVOD_RANK", TASK["index"]))


def before_step(number, act):
    """Call `act(arguments)` before step `number`, and train on the arguments that it returns."""
    function = type(tf.function(lambda: None))
    call = function.__call__
    seen = []

    def call_after_act(self, *args):
        if getattr(self.python_function, "__name__", "") == "train_step":
            seen.append(1)
            if len(seen) == number:
                args = act(args)
        return call(self, *args)

    function.__call__ = call_after_act
