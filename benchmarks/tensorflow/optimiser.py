"""Momentum SGD as torch.optim.SGD does it, and a dynamic loss scale as torch's GradScaler.

Keras's SGD puts the learning rate into the momentum, which is another rule while the rate changes.
Both are called with gradients that were averaged before: in a replica's context where each replica
has weights of its own, and in the strategy's where one copy serves all.
"""

import tensorflow as tf
from common.arguments import MOMENTUM, WEIGHT_DECAY

GROWTH_STEPS = 2000  # good steps before the loss scale is doubled


class MomentumSGD:
    """velocity = momentum x velocity + gradient + decay x weight; weight -= rate x velocity."""

    def __init__(self, weights):
        """Keep a velocity beside each of the weights, which are Keras's variables."""
        self.weights = [weight.value for weight in weights]
        self.velocities = []
        beside = tf.distribute.get_strategy().extended.colocate_vars_with
        for weight in self.weights:
            with beside(weight):
                self.velocities += [tf.Variable(tf.zeros(weight.shape), trainable=False)]

    def apply(self, gradients, rate):
        """Do one step at a learning rate."""
        one_copy = tf.distribute.in_cross_replica_context()
        for weight, velocity, gradient in zip(self.weights, self.velocities, gradients):
            if one_copy:
                where = tf.distribute.get_strategy().extended
                where.update(weight, move, (velocity, gradient, rate))
            else:
                move(weight, velocity, gradient, rate)


def move(weight, velocity, gradient, rate):
    """Do one step of one weight; workers that share it take turns."""
    tf.raw_ops.ResourceApplyMomentum(
        var=weight.handle,
        accum=velocity.handle,
        lr=rate,
        grad=gradient + WEIGHT_DECAY * tf.convert_to_tensor(weight),
        momentum=MOMENTUM,
        use_locking=True,
    )


class LossScale:
    """Scales the loss up, so that gradients in fp16 do not vanish; steps that overflow are left."""

    def __init__(self):
        """Start where torch does."""
        self.scale = tf.Variable(2.0**16, trainable=False)
        self.good_steps = tf.Variable(0, trainable=False, dtype=tf.int64)

    def apply(self, optimiser, gradients, rate):
        """Do one step with gradients of the scaled loss, or halve the scale if any overflowed."""
        finite = tf.reduce_all([tf.reduce_all(tf.math.is_finite(g)) for g in gradients])
        scale = tf.convert_to_tensor(self.scale)

        def step():
            optimiser.apply([gradient / scale for gradient in gradients], rate)
            good = self.good_steps + 1
            grown = tf.equal(good, GROWTH_STEPS)
            self.scale.assign(tf.where(grown, 2 * scale, scale))
            self.good_steps.assign(tf.where(grown, tf.zeros_like(good), good))

        def skip():
            self.scale.assign(scale / 2)
            self.good_steps.assign(0)

        tf.cond(finite, step, skip)
