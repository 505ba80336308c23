"""What a replica does in a step: the loss, its gradients, and the update that comes of them."""

import tensorflow as tf
from common.arguments import CLASSES, LABEL_SMOOTHING


def smoothed_loss(logits, labels):
    """Return the mean cross-entropy against labels that are smoothed over all classes."""
    spread = LABEL_SMOOTHING / CLASSES
    wanted = tf.one_hot(labels, CLASSES, 1 - LABEL_SMOOTHING + spread, spread)
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(wanted, logits))


def make_replica_step(model, optimiser, loss_scale, averaged=None, *, compiled, one_copy):
    """Return the function that does one step on a replica's batch and returns the replica's loss.

    `loss_scale` is None but for fp16; `averaged` returns the ranks' mean gradients where no
    strategy of TensorFlow's does. With `one_copy` all replicas train the same weights, which are
    updated where they lie; otherwise each replica has its own.
    """
    weights = [weight.value for weight in model.trainable_variables]

    @tf.function(jit_compile=compiled)
    def gradients_of(images, labels, scale):
        with tf.GradientTape() as tape:
            loss = smoothed_loss(model(images, training=True), labels)
            scaled = loss * scale
        return loss, tape.gradient(scaled, weights)

    def update(gradients, rate):
        if loss_scale:
            loss_scale.apply(optimiser, gradients, rate)
        else:
            optimiser.apply(gradients, rate)

    def update_one_copy(strategy, gradients, rate):
        pairs = list(zip(gradients, weights))
        gradients = strategy.extended.batch_reduce_to(tf.distribute.ReduceOp.MEAN, pairs)
        update(gradients, strategy.experimental_local_results(rate)[0])

    def replica_step(images, labels, rate):
        scale = tf.convert_to_tensor(loss_scale.scale) if loss_scale else 1.0
        loss, gradients = gradients_of(images, labels, scale)
        replica = tf.distribute.get_replica_context()
        if one_copy:
            replica.merge_call(update_one_copy, (gradients, rate))
        elif averaged:
            update(averaged(gradients), rate)
        else:
            update(replica.all_reduce(tf.distribute.ReduceOp.MEAN, gradients), rate)
        return loss

    return replica_step
