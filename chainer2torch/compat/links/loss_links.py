"""Chainer's links that are losses with parameters."""

import heapq
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from chainer2torch.compat.functions.arrays import transpose_sequence
from chainer2torch.compat.initializers.initializers import NaN, Uniform, Zero, _torch_dtype
from chainer2torch.compat.links.links_base import ChainerLayer
from chainer2torch.compat.functions.sequence_loss import argmax_crf1d, black_out, crf1d, negative_sampling


class WalkerAlias:
    """Draws integers with given probabilities (a sequence of weights, not necessarily normalized).

    ``sample(shape)`` gives an int32 tensor: the numbers that Chainer draws on the CPU, from NumPy's generator.
    Source: chainer.utils.WalkerAlias.
    """

    def __init__(self, probs: Any) -> None:
        weights = np.array(probs, np.float32)
        weights /= weights.sum()
        n = len(weights)
        # Slot k holds left[k] with probability share[k], else right[k]; all slots are equally likely.
        self.share = np.zeros(n, np.float32)
        self.left, self.right = np.zeros(n, np.int32), np.zeros(n, np.int32)
        topped = 0
        for slot, value in enumerate(np.argsort(weights, kind="stable")):
            mass = weights[value] * np.float32(n)
            while mass > 1 and topped < slot:  # what is too much for one slot fills up the slots before
                self.right[topped] = value
                mass -= np.float32(1) - self.share[topped]
                topped += 1
            self.share[slot], self.left[slot] = mass, value

    def sample(self, shape: Any) -> torch.Tensor:
        """Independent draws, of ``shape`` (int or tuple)."""
        position = np.asarray(np.random.uniform(0, len(self.share), shape))
        slot = position.astype(np.int32)
        fraction = position.astype(np.float32) - slot.astype(np.float32)
        return torch.from_numpy(np.where(self.share[slot] < fraction, self.right[slot], self.left[slot]))


class NegativeSampling(ChainerLayer):
    """Negative sampling: ``loss = layer(x, t)`` for x (batch, in_size) and labels t (batch,), -1 ignored.

    Samples follow ``counts ** power``; ``W`` (len(counts), in_size) starts at 0. ``reduce`` is 'sum' or 'no';
    ``return_samples=True`` gives the pair of loss and samples. Source: chainer.links.NegativeSampling.
    """

    W: torch.Tensor

    def __init__(
        self, in_size: int, counts: Sequence[float], sample_size: int, power: float = 0.75, dtype: Any = None
    ) -> None:
        super().__init__()
        self.sample_size = sample_size
        self.sampler = WalkerAlias(np.asarray(counts, dtype=np.float64) ** power)
        self._new_parameter("W", 0, (len(counts), in_size))  # not of that dtype, as in Chainer

    def forward(self, x: torch.Tensor, t: torch.Tensor, reduce: str = "sum", *, return_samples: bool = False) -> Any:
        return negative_sampling(
            x, t, self.W, self.sampler.sample, self.sample_size, reduce, return_samples=return_samples
        )


class BlackOut(ChainerLayer):
    """BlackOut loss: ``loss = layer(x, t)`` for x (batch, in_size) and labels t (batch,).

    Samples follow ``counts``. As in Chainer, ``W`` (len(counts), in_size) starts as NaN: fill it.
    Source: chainer.links.BlackOut.
    """

    W: torch.Tensor
    sample_data: Any = None

    def __init__(self, in_size: int, counts: Sequence[float], sample_size: int) -> None:
        super().__init__()
        self.sampler = WalkerAlias(counts)
        self.sample_size = sample_size
        self._new_parameter("W", NaN(), (len(counts), in_size))

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        samples = self.sample_data
        if samples is None:
            samples = self.sampler.sample((len(x), self.sample_size))
        return black_out(x, t, self.W, torch.as_tensor(samples, device=x.device))


class BinaryHierarchicalSoftmax(ChainerLayer):
    """Hierarchical softmax over a binary ``tree`` of nested pairs of labels: the loss of the batch, summed.

    ``layer(x, t)`` for x (batch, in_size) and labels t (batch,). ``W`` (inner nodes, in_size) starts U(-1, 1). A node
    that is no pair raises ValueError. Source: chainer.links.BinaryHierarchicalSoftmax.
    """

    W: torch.Tensor
    paths: torch.Tensor
    codes: torch.Tensor

    def __init__(self, in_size: int, tree: Any, dtype: Any = None) -> None:
        super().__init__()
        dtype = None if dtype is None else _torch_dtype(dtype)
        found: dict[int, list[tuple[int, float]]] = {}
        nodes = _parse_tree(tree, found)
        longest = max(len(path) for path in found.values())
        paths = torch.zeros(max(found) + 1, longest, dtype=torch.long)
        codes = torch.zeros(max(found) + 1, longest, dtype=dtype)  # 0: the path is over
        for label, path in found.items():
            paths[label, : len(path)] = torch.tensor([node for node, _ in path])
            codes[label, : len(path)] = torch.tensor([code for _, code in path])
        self.register_buffer("paths", paths, persistent=False)
        self.register_buffer("codes", codes, persistent=False)
        self._new_parameter("W", Uniform(1), (nodes, in_size))  # not of that dtype, as in Chainer

    @staticmethod
    def create_huffman_tree(word_counts: Mapping[int, float]) -> Any:
        """The Huffman tree of ``{label: count}`` as nested pairs; ValueError without labels."""
        if not word_counts:
            raise ValueError("Empty vocabulary")
        queue: list[tuple[float, int, Any]] = [(count, i, word) for i, (word, count) in enumerate(word_counts.items())]
        heapq.heapify(queue)
        while len(queue) > 1:
            count1, id1, tree1 = heapq.heappop(queue)
            count2, id2, tree2 = heapq.heappop(queue)
            heapq.heappush(queue, (count1 + count2, min(id1, id2), (tree1, tree2)))
        return queue[0][2]

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        codes = self.codes[t.long()]  # of a wider dtype it widens the loss
        score = torch.einsum("bi,bni->bn", x, self.W[self.paths[t.long()]]) * codes
        losses = torch.logaddexp(-score, torch.zeros_like(score))
        return torch.where(codes == 0, 0, losses).sum()


def _parse_tree(tree: Any, found: dict[int, list[tuple[int, float]]]) -> int:
    """Notes for every label the inner nodes on its path, each with 1 (left) or -1; returns how many nodes there are.

    Nodes are numbered from the root, left subtrees first.
    """
    count = 0
    stack: list[tuple[Any, list[tuple[int, float]]]] = [(tree, [])]
    while stack:
        node, path = stack.pop()
        if not isinstance(node, tuple):
            found[node] = path
            continue
        if len(node) != 2:
            raise ValueError("every inner node must have two children")
        stack.append((node[1], [*path, (count, -1.0)]))
        stack.append((node[0], [*path, (count, 1.0)]))
        count += 1
    return count


class CRF1d(ChainerLayer):
    """A linear-chain conditional random field: the negative log likelihood of label sequences.

    ``layer(xs, ys)`` takes, for each time, scores (batch, n_label) and labels (batch,), the batch shrinking from time
    to time; with ``transpose=True`` lists of sequences, (length, n_label) and (length,), in any order. ``reduce`` is
    'mean' or 'no' (then the losses are in the order of falling length). ``cost`` (n_label, n_label) starts at 0.
    Source: chainer.links.CRF1d.
    """

    cost: torch.Tensor

    def __init__(self, n_label: int, initial_cost: Any = None) -> None:
        super().__init__()
        self._new_parameter("cost", initial_cost, (n_label, n_label), default=Zero())

    def forward(self, xs: Any, ys: Any, reduce: str = "mean", transpose: bool = False) -> torch.Tensor:
        if transpose:
            order = _by_falling_length(xs)
            xs = transpose_sequence([xs[i] for i in order])
            ys = transpose_sequence([ys[i] for i in order])
        return crf1d(self.cost, xs, ys, reduce)

    def argmax(self, xs: Any, transpose: bool = False) -> tuple[torch.Tensor, list[Any]]:
        """The scores and labels of the best sequences; with ``transpose`` one tensor of labels for each of ``xs``."""
        if not transpose:
            return argmax_crf1d(self.cost, xs)
        order = _by_falling_length(xs)
        score, path = argmax_crf1d(self.cost, transpose_sequence([xs[i] for i in order]))
        sequences: list[Any] = [None] * len(xs)
        for i, sequence in zip(order, transpose_sequence(path), strict=True):
            sequences[i] = sequence
        return score, sequences


def _by_falling_length(xs: Sequence[Any]) -> list[int]:
    # numpy's own order of equal lengths: with reduce='no' it shows
    order: list[int] = np.argsort([-len(x) for x in xs]).tolist()
    return order
