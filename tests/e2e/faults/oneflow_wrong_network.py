"""The network is not ResNet-50."""

import _train
import flowvision

flowvision.models.resnet50 = flowvision.models.resnet18
_train.run("oneflow")
