"""What every training script checks once its steps are done."""

import hashlib
import math

from . import arguments


def weights_digest(weights):
    """Return a digest of arrays that offer their memory: equal only if every bit is."""
    digest = hashlib.blake2b(digest_size=16)
    for weight in weights:
        digest.update(weight)
    return digest.hexdigest()


def find_fault(losses, checksums, parameters):
    """Return what makes this run not a good one, as one sentence; empty where nothing does.

    `losses`: the rank's loss of each step; `checksums`: the weights' digest on each rank;
    `parameters`: how many trainable ones the network has.
    """
    if parameters != arguments.PARAMETERS:
        return "the network has %d parameters, not %d" % (parameters, arguments.PARAMETERS)
    for step, loss in enumerate(losses, start=1):
        if not math.isfinite(loss):
            return "the loss of step %d is %s" % (step, loss)
    if len(set(checksums)) > 1:
        odd = next(r for r, c in enumerate(checksums) if c != checksums[0])
        return "the weights of ranks 0 and %d differ after the last step" % odd
    return ""
