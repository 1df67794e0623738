"""Drawings of graphs: a node for each step and each leaf, once, and an arrow for each use."""

import re

import pytest
import torch

from chainer2torch.compat.utils.graph_drawings import ComputationalGraph


def test_the_text_has_every_step_once():
    w = torch.ones(3, requires_grad=True)
    h = w * 2
    text = ComputationalGraph([h + h, h.sum()]).dump()
    labels = re.findall(r'label="([^"]+)"', text)
    assert sorted(labels) == ["(3,)", "AddBackward0", "MulBackward0", "SumBackward0"]
    assert text.count("->") == 4  # both sides of the sum, the other use of h, and w
    assert text.startswith("digraph graphname {\nrankdir=TB;\n") and text.endswith("\n}")


def test_options():
    y = torch.ones(3)
    assert ComputationalGraph(y, rankdir="LR", show_name=False).dump("dot").splitlines()[1:] == ["rankdir=LR;", "}"]
    with pytest.raises(NotImplementedError, match="svg"):
        ComputationalGraph(y).dump("svg")
