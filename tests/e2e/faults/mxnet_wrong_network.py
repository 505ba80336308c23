"""The network is not ResNet-50."""

import _train
from gluoncv import model_zoo

model_zoo.resnet50_v1b = model_zoo.resnet18_v1b
_train.run("mxnet")
