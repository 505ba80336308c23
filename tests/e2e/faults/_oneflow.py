"""OneFlow's training script, whose synthetic batches a fault can spoil as they are taken."""

import _train

FOLDER = _train.BENCHMARKS / "oneflow"


def loaders():
    """Return the module that train.py will use."""
    import sys

    sys.path[:0] = [str(FOLDER), str(_train.BENCHMARKS)]
    import loaders

    return loaders


def run_with(spoil):
    """Train on batches that go through `spoil(step, images, labels)`, steps counted from 1."""
    module = loaders()
    synthetic = module.synthetic

    def spoiled(*arguments):
        for step, (images, labels) in enumerate(synthetic(*arguments), start=1):
            yield spoil(step, images, labels)

    module.synthetic = spoiled
    _train.run("oneflow")
