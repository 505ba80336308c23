"""Which rank reads which image: what the frameworks' loaders have in common."""

import sys
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import benchmarks
from runners import data_check

sys.path.insert(0, str(Path(next(iter(benchmarks.__path__)))))
from common.images import EXTENSIONS, EndlessBatches

few = st.integers(1, 12)


def share(images, batch_size, rank, ranks, seed, batches):
    return list(islice(EndlessBatches(images, batch_size, rank, ranks, seed), batches))


@given(images=few, batch_size=few, ranks=st.integers(1, 5), seed=st.integers(0, 2**31))
def test_ranks_together_read_every_image_once_in_each_epoch(images, batch_size, ranks, seed):
    epochs = 3
    each = -(-epochs * images // ranks)  # of a rank, in images
    shares = [
        [i for b in share(images, batch_size, r, ranks, seed, -(-each // batch_size)) for i in b]
        for r in range(ranks)
    ]
    order = [index for turn in zip(*(one[:each] for one in shares), strict=True) for index in turn]
    for epoch in range(epochs):
        assert sorted(order[epoch * images : (epoch + 1) * images]) == list(range(images))


@given(images=few, batch_size=few, seed=st.integers(0, 2**31))
def test_every_batch_is_full(images, batch_size, seed):
    assert {len(one) for one in share(images, batch_size, 0, 1, seed, 4)} == {batch_size}


def test_epochs_and_seeds_differ_and_a_seed_gives_the_same_again():
    first, second = share(100, 100, 0, 1, 7, 2)
    assert first != second
    assert share(100, 100, 0, 1, 7, 2) == [first, second]
    assert share(100, 100, 0, 1, 8, 1) != [first]


def test_the_driver_checks_the_files_that_loaders_read():
    assert EXTENSIONS == data_check.EXTENSIONS


@pytest.mark.parametrize("framework", ["mxnet", "oneflow", "paddlepaddle", "pytorch"])
def test_loaders_share_their_images_out_so(framework):
    loader = Path(next(iter(benchmarks.__path__))) / framework / "loaders.py"
    assert "EndlessBatches(len(" in loader.read_text()
