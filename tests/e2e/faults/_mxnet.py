"""Which rank of MXNet's training script this is, and what it was started by."""

import os

HOROVOD = "KVSTORE_RANK" not in os.environ
RANK = int(
    os.environ.get("KVSTORE_RANK")
    or os.environ.get("HOROVOD_RANK")
    or os.environ["OMPI_COMM_WORLD_RANK"]
)
