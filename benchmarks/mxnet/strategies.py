"""How ranks are kept in step: each strategy makes the trainer and compares digests at the end.

Gluon's losses are sums over a batch: `images_per_update` is what a sum of gradients is divided by.
"""

import mxnet as mx

CHECKSUM = 1 << 20  # a key that no weight has


class Alone:
    """One rank."""

    def trainer(self, model, optimiser):
        """Return what updates the weights."""
        return mx.gluon.Trainer(model.collect_params(), optimiser, kvstore=None)

    def images_per_update(self, batch_size):
        """Return how many images' gradients the trainer finds added up."""
        return batch_size

    def gather(self, digest):
        """Return the digest of each rank's weights."""
        return [digest]


class Horovod(Alone):
    """Each rank updates its weights with gradients that Horovod has averaged."""

    def __init__(self):
        """Meet the other ranks."""
        import horovod.mxnet as hvd

        self.hvd = hvd
        hvd.init()

    def trainer(self, model, optimiser):
        """Return what averages gradients and updates the weights, which begin as rank 0's."""
        self.hvd.broadcast_parameters(model.collect_params(), root_rank=0)
        return self.hvd.DistributedTrainer(model.collect_params(), optimiser)

    def gather(self, digest):
        """Return the digest of each rank's weights."""
        return self.hvd.allgather_object(digest)


class Store(Alone):
    """Servers add the ranks' gradients up; they or the ranks update the weights."""

    def __init__(self, kind, rank, world_size, on_server):
        """Meet the other ranks and the servers."""
        self.store = mx.kv.create(kind)
        self.rank, self.world_size, self.on_server = rank, world_size, on_server

    def trainer(self, model, optimiser):
        """Return what sends gradients to the servers; weights begin as those of one rank."""
        return mx.gluon.Trainer(
            model.collect_params(),
            optimiser,
            kvstore=self.store,
            update_on_kvstore=self.on_server,
        )

    def images_per_update(self, batch_size):
        """Return how many images' gradients the servers have added up."""
        return batch_size * self.world_size

    def gather(self, digest):
        """Return the digest of each rank's weights, as far as a rank can know them.

        A store holds the first value that it is given: all compare theirs with that one rank's.
        """
        mine = mx.nd.array(list(digest.encode()))
        first = mx.nd.zeros(mine.shape)
        self.store.init(CHECKSUM, mine)
        self.store.pull(CHECKSUM, first)
        known = [bytes(int(value) for value in first.asnumpy()).decode()] * self.world_size
        known[self.rank] = digest
        return known


def choose(args, rank, world_size):
    """Return the strategy that `--strategy` names; one rank needs none."""
    if world_size == 1:
        return Alone()
    if args.strategy == "horovod":
        return Horovod()
    kind = args.backend or "dist_sync"
    return Store(kind, rank, world_size, on_server=args.strategy == "kvstore_server")
