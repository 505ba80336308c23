"""The network is not ResNet-50."""

import _train
import torchvision

torchvision.models.resnet50 = torchvision.models.resnet18
_train.run("pytorch")
