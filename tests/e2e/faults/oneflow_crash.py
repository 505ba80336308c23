"""Rank 1 crashes in its second step; the others then wait for it."""

import os

import _oneflow


def crash(step, images, labels):
    if step == 2 and os.environ["RANK"] == "1":
        raise ValueError("rank 1 was told to crash")
    return images, labels


_oneflow.run_with(crash)
