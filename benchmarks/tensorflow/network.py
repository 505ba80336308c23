"""ResNet-50 v1.5 as a Keras model: the network of torchvision's resnet50, to the last weight.

Layers have torchvision's names. Keras's own ResNet50 is v1 and has biases in its convolutions.
"""

import keras
import tensorflow as tf
from common.arguments import CLASSES

MOMENTUM = 0.9  # of BatchNorm's moving statistics: torch calls it 0.1
EPSILON = 1e-5
# (channels, blocks, stride of the first block) of each stage.
STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))


class BatchNorm(keras.layers.Layer):
    """Batch normalisation by TensorFlow's one fused operation, in fp32 whatever the input's type.

    Keras's layer computes it in several: in fp32 on a CPU the whole step took 1.15 times as long.
    """

    def __init__(self, data_format, sharers, **kwargs):
        """Normalise over all axes but the channels'; `sharers` replicas have the same statistics.

        Each of them adds its part of a step to the moving statistics, whichever comes first.
        """
        super().__init__(**kwargs)
        self.part = (1 - MOMENTUM) / sharers
        self.axis = 1 if data_format == "channels_first" else -1
        self.data_format = "NCHW" if data_format == "channels_first" else "NHWC"

    def build(self, shape):
        """Make scale, offset and moving statistics."""

        def weight(name, initial, trainable):
            return self.add_weight(
                (shape[self.axis],), initial, name=name, trainable=trainable, autocast=False
            )

        self.scale = weight("scale", "ones", trainable=True)
        self.offset = weight("offset", "zeros", trainable=True)
        self.mean = weight("mean", "zeros", trainable=False)
        self.variance = weight("variance", "ones", trainable=False)

    def compute_output_shape(self, shape):
        """Return the input's shape."""
        return shape

    def call(self, x, training=False):
        """Normalise by the batch's statistics in training, by the moving ones otherwise."""
        none = tf.zeros((0,))
        normalised, mean, variance, *_ = tf.raw_ops.FusedBatchNormV3(
            x=x,
            scale=self.scale,
            offset=self.offset,
            mean=none if training else self.mean,
            variance=none if training else self.variance,
            epsilon=EPSILON,
            data_format=self.data_format,
            is_training=training,
        )
        if training:
            # Variables that replicas share would have assign_add wait for all of them.
            for moving, new in ((self.mean, mean), (self.variance, variance)):
                change = self.part * (new - moving)
                tf.raw_ops.AssignAddVariableOp(resource=moving.value.handle, value=change)
        return normalised


def resnet50(image_size, data_format, sharers=1):
    """Return the network: images of `image_size` px in `data_format` to logits in fp32.

    `sharers` is the number of replicas that train one copy of it.
    """
    layers = keras.layers

    def convolution(x, channels, kernel, stride, name):
        padding = "same"
        if stride > 1:
            # "same" would pad an even size on one side only. With stride 1 it is what we want, and
            # faster than padding in an operation of its own.
            padding = "valid"
            if kernel > 1:
                x = layers.ZeroPadding2D(kernel // 2, data_format=data_format)(x)
        fan_out = keras.initializers.VarianceScaling(2.0, "fan_out", "untruncated_normal")
        return layers.Conv2D(
            channels,
            kernel,
            strides=stride,
            padding=padding,
            data_format=data_format,
            use_bias=False,
            kernel_initializer=fan_out,
            name=name,
        )(x)

    def norm(x, name):
        return BatchNorm(data_format, sharers, name=name)(x)

    def bottleneck(x, channels, stride, name):
        y = convolution(x, channels, 1, 1, name + ".conv1")
        y = layers.ReLU()(norm(y, name + ".bn1"))
        y = convolution(y, channels, 3, stride, name + ".conv2")  # v1 has its stride in conv1
        y = layers.ReLU()(norm(y, name + ".bn2"))
        y = norm(convolution(y, 4 * channels, 1, 1, name + ".conv3"), name + ".bn3")
        if name.endswith(".0"):
            x = convolution(x, 4 * channels, 1, stride, name + ".downsample.0")
            x = norm(x, name + ".downsample.1")
        return layers.ReLU()(layers.Add()([x, y]))

    size = (image_size, image_size)
    images = layers.Input((*size, 3) if data_format == "channels_last" else (3, *size))
    x = layers.ReLU()(norm(convolution(images, 64, 7, 2, "conv1"), "bn1"))
    # Behind a ReLU, zeros at the edge are as good as the minus infinity of torch's padding.
    x = layers.ZeroPadding2D(1, data_format=data_format)(x)
    x = layers.MaxPooling2D(3, 2, padding="valid", data_format=data_format)(x)
    for stage, (channels, blocks, stride) in enumerate(STAGES, start=1):
        for block in range(blocks):
            name = "layer%d.%d" % (stage, block)
            x = bottleneck(x, channels, 1 if block else stride, name)
    x = layers.GlobalAveragePooling2D(data_format=data_format)(x)
    edge = x.shape[-1] ** -0.5
    logits = layers.Dense(
        CLASSES,
        kernel_initializer=keras.initializers.RandomUniform(-edge, edge),
        bias_initializer=keras.initializers.RandomUniform(-edge, edge),
        name="fc",
    )(x)
    return keras.Model(images, layers.Activation("linear", dtype="float32")(logits))
