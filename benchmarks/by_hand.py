"""The training loops of Chainer's examples mnist and cifar as one writes them in PyTorch: the other side of
bench_training.py. Batches are cut from whole arrays, in a new order every epoch.

    python by_hand.py mnist|cifar
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def mlp() -> nn.Module:
    """Three layers of 1000, 1000 and 10 units."""
    return nn.Sequential(nn.Linear(784, 1000), nn.ReLU(), nn.Linear(1000, 1000), nn.ReLU(), nn.Linear(1000, 10))


def vgg() -> nn.Module:
    """VGG for pictures of 32 x 32: batch normalization after every convolution, dropout between them."""
    layers: list[nn.Module] = []
    channels = 3
    for out, ratios in (
        (64, (0.3, 0)),
        (128, (0.4, 0)),
        (256, (0.4, 0.4, 0)),
        (512, (0.4, 0.4, 0)),
        (512, (0.4, 0.4, 0)),
    ):
        for ratio in ratios:
            layers += [nn.Conv2d(channels, out, 3, padding=1, bias=False), nn.BatchNorm2d(out, eps=2e-5), nn.ReLU()]
            if ratio:
                layers.append(nn.Dropout(ratio))
            channels = out
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(
        *layers,
        nn.Dropout(0.5),
        nn.Flatten(),
        nn.Linear(512, 512, bias=False),
        nn.BatchNorm1d(512, eps=2e-5),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(512, 10),
    )


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Pictures from 0 to 1 in float32, labels in int64."""
    root = Path(os.environ["CHAINER_DATASET_ROOT"]) / "pfnet" / "chainer"
    if name == "mnist":
        with np.load(root / "mnist" / "train.npz") as arrays:
            return arrays["x"].astype(np.float32) / 255, arrays["y"].astype(np.int64)
    with np.load(root / "cifar" / "cifar-10.npz") as arrays:
        return (arrays["train_x"].reshape(-1, 3, 32, 32).astype(np.float32) / 255, arrays["train_y"].astype(np.int64))


def train(name: str) -> None:
    """Trains for ever: the caller ends it."""
    x, t = data(name)
    if name == "mnist":
        model, size = mlp(), 100
        optimizer: torch.optim.Optimizer = torch.optim.Adam(model.parameters())
    else:
        model, size = vgg(), 32
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    sum_loss = sum_accuracy = 0.0
    while True:
        order = np.random.permutation(len(x))
        for start in range(0, len(order) - size + 1, size):
            picked = order[start : start + size]
            inputs, labels = torch.from_numpy(x[picked]), torch.from_numpy(t[picked])
            outputs = model(inputs)
            loss = F.cross_entropy(outputs, labels)
            accuracy = (outputs.argmax(dim=1) == labels).float().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            sum_loss += loss.item() * size
            sum_accuracy += accuracy.item() * size


if __name__ == "__main__":
    train(sys.argv[1])
