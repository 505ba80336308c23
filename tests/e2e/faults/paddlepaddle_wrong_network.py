"""The network is not ResNet-50."""

import _train
import paddle

paddle.vision.models.resnet50 = paddle.vision.models.resnet18
_train.run("paddlepaddle")
