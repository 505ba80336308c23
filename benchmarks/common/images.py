"""What loaders have in common: which files are images, and which rank reads which of them.

Needs NumPy, which comes with every framework.
"""

import ctypes
import os
import signal

import numpy as np

# The images of a folder, as torchvision and the driver's check of it have them.
EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


class EndlessBatches:
    """A rank's share of one shuffled order after another, in batches, without end."""

    def __init__(self, images, batch_size, rank, world_size, seed):
        """Share `images` indices between `world_size` ranks."""
        self.images, self.batch_size = images, batch_size
        self.rank, self.world_size, self.seed = rank, world_size, seed

    def __iter__(self):
        """Yield lists of indices; the ranks' shares of the endless order do not overlap."""
        order = np.random.default_rng(self.seed)
        position, batch = 0, []
        while True:
            for index in order.permutation(self.images).tolist():
                if position % self.world_size == self.rank:
                    batch.append(index)
                    if len(batch) == self.batch_size:
                        yield batch
                        batch = []
                position += 1

    def __len__(self):
        """Return more than any run takes."""
        return 2**31


def die_with_rank(_worker=None):
    """End this loader process with its rank, whatever ends that; to be called in the process."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # 1: PR_SET_PDEATHSIG


def require_whole_records(folder, log_dir, rank):
    """Raise an error where the rank's log says that an image read from records was damaged.

    MXNet and OneFlow go on with what they could decode, and libjpeg tells the log alone. ImageNet
    has whole images with bytes too many, which is told there as well.
    """
    if not (folder and log_dir):
        return
    with open(os.path.join(log_dir, "rank%d.log" % rank), errors="replace") as log:
        for line in log:
            if "Corrupt JPEG data" in line and "extraneous bytes" not in line:
                raise RuntimeError(
                    "damaged image in %s (%s): `dlscale data convert --to %s --verify` finds it"
                    % (folder, line.strip(), folder)
                )
