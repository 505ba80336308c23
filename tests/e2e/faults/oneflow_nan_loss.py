"""The loss of the second step is not a number."""

import _oneflow

_oneflow.run_with(
    lambda step, images, labels: (images * float("nan") if step == 2 else images, labels)
)
