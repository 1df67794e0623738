"""Random numbers under PyTorch, for a run in lockstep: masks and noise are drawn as Chainer draws them."""

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy
import torch
import torch.utils.data

from . import lockstep


def noise_from(stream: Any) -> None:
    """Dropout masks, sampled noise and samples come from one stream, in the order of the calls."""
    functional = torch.nn.functional
    plain_dropout = functional.dropout

    def mask(shape: Sequence[int], p: float, like: torch.Tensor) -> torch.Tensor:
        kept = torch.from_numpy(numpy.asarray(stream.rng.rand(*shape) >= p)).to(like.device)
        return kept.to(like.dtype) * (1.0 / (1.0 - p) if p < 1 else 0.0)

    def dropout(input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> torch.Tensor:
        if not training or p == 0 or isinstance(input, torch.nn.utils.rnn.PackedSequence):
            return plain_dropout(input, p, training, inplace)
        drawn = mask(input.shape, p, input)
        return input.mul_(drawn) if inplace else input * drawn

    def like(draw: Callable[[Sequence[int]], Any]) -> Any:
        def drawn(
            input: torch.Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **kwargs: Any
        ) -> torch.Tensor:
            values = torch.as_tensor(numpy.asarray(draw(tuple(input.shape))))
            return values.to(device or input.device, dtype or input.dtype).requires_grad_(requires_grad)

        return drawn

    def in_place(draw: Callable[[Sequence[int]], Any]) -> Any:
        def drawn(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
            return self.copy_(torch.as_tensor(numpy.asarray(draw(tuple(self.shape)))))

        return drawn

    def rand(
        *size: Any,
        generator: Any = None,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        **kwargs: Any,
    ) -> torch.Tensor:
        shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
        values = torch.as_tensor(numpy.asarray(stream.rng.uniform(size=shape)))
        return values.to(device or "cpu", dtype or torch.get_default_dtype()).requires_grad_(requires_grad)

    def normal(
        mean: Any = 0.0,
        std: Any = 1.0,
        size: Any = None,
        *,
        generator: Any = None,
        dtype: Any = None,
        device: Any = None,
        **kwargs: Any,
    ) -> torch.Tensor:
        given = [value for value in (mean, std) if isinstance(value, torch.Tensor)]
        shape = torch.broadcast_shapes(*(value.shape for value in given)) if given else tuple(size)
        like = given[0] if given else torch.empty(0, dtype=dtype, device=device)
        drawn: torch.Tensor = torch.as_tensor(numpy.asarray(stream.rng.standard_normal(tuple(shape)))).to(like)
        return drawn.mul(std).add(mean)

    def gumbel_softmax(
        logits: torch.Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
    ) -> torch.Tensor:
        noise = torch.as_tensor(stream.rng.gumbel(size=tuple(logits.shape))).to(logits)
        y = torch.softmax((logits + noise) / tau, dim)
        if not hard:
            return y
        return torch.zeros_like(y).scatter_(dim, y.argmax(dim, keepdim=True), 1.0) - y.detach() + y

    functional.dropout = dropout
    functional.gumbel_softmax = gumbel_softmax
    torch.rand = rand  # type: ignore[assignment]
    torch.normal = normal
    for module in (torch.distributions.normal, torch.distributions.multivariate_normal):  # each has a name of its own
        vars(module)["_standard_normal"] = lambda shape, dtype, device: normal(size=shape, dtype=dtype, device=device)
    # pack_sequence sorts by length: sequences of one length keep their order, however many there are
    torch.sort = functools.partial(torch.sort, stable=True)
    torch.rand_like = like(lambda shape: stream.rng.uniform(size=shape))
    torch.randn_like = like(lambda shape: stream.rng.standard_normal(shape))
    torch.Tensor.exponential_ = in_place(stream.rng.standard_exponential)  # type: ignore[method-assign]
    torch.Tensor.cauchy_ = in_place(stream.rng.standard_cauchy)  # type: ignore[method-assign]
    for kind in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        setattr(torch._VF, kind, _by_layer(getattr(torch._VF, kind), mask))


def _by_layer(plain: Callable[..., Any], mask: Callable[..., torch.Tensor]) -> Callable[..., Any]:
    """A stack of recurrent layers, one after the other, with the masks between them drawn as Chainer draws them.

    Chainer draws a mask for each step in time, of the sequences that reach it: that is the layout of a packed sequence.
    Of a layer with two directions each direction has its own masks.
    """

    def run(*args: Any) -> Any:
        packed = isinstance(args[3], (list, tuple))
        if packed:
            x, sizes, hx, weights, bias, layers, dropout, train, two_ways = args
            place: tuple[Any, ...] = (sizes,)
        else:
            x, hx, weights, bias, layers, dropout, train, two_ways, batch_first = args
            place = ()
        if not train or not dropout or layers == 1:
            return plain(*args)
        directions = 2 if two_ways else 1
        states = hx if isinstance(hx, (list, tuple)) else (hx,)
        count = len(weights) // layers
        last: list[list[torch.Tensor]] = [[] for _ in states]

        def one_layer(layer: int, x: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
            part = [state[layer * directions : (layer + 1) * directions] for state in states]
            own = weights[layer * count : (layer + 1) * count]
            given = tuple(part) if len(part) > 1 else part[0]
            rest = (own, bias, 1, 0.0, train, two_ways, *(() if packed else (batch_first,)))
            y, *ends = plain(x, *place, given, *rest)
            return y, ends

        def dropped(x: torch.Tensor) -> torch.Tensor:
            if packed or not batch_first:
                return x * mask(x.shape, dropout, x)
            return x * mask((x.shape[1], x.shape[0], x.shape[2]), dropout, x).transpose(0, 1)

        for layer in range(layers):
            if layer == 0 or not two_ways:
                x, ends = one_layer(layer, x if layer == 0 else dropped(x))
            else:
                there, back = one_layer(layer, dropped(x)), one_layer(layer, dropped(x))
                half = there[0].shape[-1] // 2
                x = torch.cat((there[0][..., :half], back[0][..., half:]), -1)
                ends = [torch.cat((a[:1], b[1:])) for a, b in zip(there[1], back[1], strict=True)]
            for found, end in zip(last, ends, strict=True):
                found.append(end)
        return (x, *(torch.cat(found) for found in last))

    return run


def seed_examples(seed: int) -> None:
    """What reading an example draws in a DataLoader's worker or a thread depends on the seed and the example only."""
    fetcher = torch.utils.data._utils.fetch._MapDatasetFetcher
    init = fetcher.__init__

    def seeded_init(self: Any, dataset: Any, *args: Any, **kwargs: Any) -> None:
        if torch.utils.data.get_worker_info() is not None:
            dataset = lockstep.SeededExamples(dataset, seed)
        init(self, dataset, *args, **kwargs)

    fetcher.__init__ = seeded_init  # type: ignore[method-assign]
    _seed_threads(seed)


def _seed_threads(seed: int) -> None:
    """Where an iterator reads examples in threads; they are read before the program goes on, as on Chainer's side."""
    submit = ThreadPoolExecutor.submit

    def seeded(self: Any, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        dataset = getattr(function, "__self__", None)
        if getattr(function, "__name__", "") != "__getitem__" or dataset is None or not hasattr(dataset, "__len__"):
            return submit(self, function, *args, **kwargs)
        future = submit(self, lockstep.SeededExamples(dataset, seed).__getitem__, *args, **kwargs)
        wait([future])
        return future

    ThreadPoolExecutor.submit = seeded  # type: ignore[method-assign]
