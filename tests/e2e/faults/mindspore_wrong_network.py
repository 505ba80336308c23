"""The network is not ResNet-50."""

import _train
from mindcv.models import resnet

resnet.resnet50 = resnet.resnet18
_train.run("mindspore")
