"""Checks of gradients: right and wrong gradients, against chainer.gradient_check itself."""

import re
from typing import Any

import chainer
import chainer.functions as F
import numpy as np
import pytest
import torch
from chainer import gradient_check

from chainer2torch.compat.testing import gradient_check as compat
from chainer2torch.compat.functions import own_functions
from chainer2torch.native import gradient_checks as short

BOTH = pytest.mark.parametrize("api", ["chainer", "compat"])
ALL = pytest.mark.parametrize("api", ["chainer", "compat", "short"])
TOLERANCE = {"atol": 1e-4, "rtol": 1e-3}


def of(api: str) -> Any:
    return {"chainer": gradient_check, "compat": compat, "short": short}[api]


def draw(*shape: int, seed: int = 0, dtype: str = "f8") -> np.ndarray:
    return np.asarray(np.random.RandomState(seed).uniform(0.5, 1.5, shape)).astype(dtype)


def scaled_square(api: str, factor: float, second: float = 2.0) -> Any:
    """x ** 2 with the gradient ``factor * x * gy``; its derivative is right for ``factor`` 2 only."""
    base = chainer.FunctionNode if api == "chainer" else own_functions.FunctionNode

    class Square(base):  # type: ignore[misc, valid-type]
        def forward(self, inputs: Any) -> Any:
            self.retain_inputs((0,))
            return (inputs[0] * inputs[0],)

        def backward(self, indexes: Any, grad_outputs: Any) -> Any:
            (x,) = self.get_retained_inputs()
            return Gradient().apply((x, grad_outputs[0]))

    class Gradient(base):  # type: ignore[misc, valid-type]
        def forward(self, inputs: Any) -> Any:
            self.retain_inputs((0, 1))
            return (factor * inputs[0] * inputs[1],)

        def backward(self, indexes: Any, grad_outputs: Any) -> Any:
            x, gy = self.get_retained_inputs()
            return second * gy * grad_outputs[0], factor * x * grad_outputs[0]

    return lambda x: Square().apply((x,))[0]


@ALL
@pytest.mark.parametrize(("factor", "passes"), [(2.0, True), (2.1, False), (-2.0, False), (0.0, False)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_check_backward(api: str, factor: float, passes: bool, dtype: str) -> None:
    x, gy = draw(3, 4, dtype=dtype), draw(3, 4, seed=1, dtype=dtype)
    arguments = scaled_square(api, factor), x, gy
    options = {"dtype": np.float64, **TOLERANCE}
    if passes:
        of(api).check_backward(*arguments, **options)
    else:
        with pytest.raises(AssertionError, match="check_backward failed"):
            of(api).check_backward(*arguments, **options)


@ALL
def test_what_has_no_gradient(api: str) -> None:
    def floor(x: Any) -> Any:
        return F.floor(x) if api == "chainer" else torch.floor(x.detach())

    of(api).check_backward(floor, draw(3), draw(3, seed=1), eps=1e-3, **TOLERANCE)
    with pytest.raises(AssertionError):
        of(api).check_backward(
            lambda x: floor(x) + x.array * 2 if api == "chainer" else x.detach() * 2, draw(3), draw(3)
        )


@BOTH
@pytest.mark.parametrize(("second", "passes"), [(2.0, True), (2.2, False)])
def test_check_double_backward(api: str, second: float, passes: bool) -> None:
    x, gy, ggx = draw(3), draw(3, seed=1), draw(3, seed=2)
    if passes:
        of(api).check_double_backward(scaled_square(api, 2.0, second), x, gy, ggx)
    else:
        with pytest.raises(AssertionError, match="check_double_backward failed"):
            of(api).check_double_backward(scaled_square(api, 2.0, second), x, gy, ggx)


@ALL
def test_several_inputs_and_outputs(api: str) -> None:
    def f(x: Any, i: Any, y: Any) -> Any:
        return x * y, x + 1.0 if api == "chainer" else x + 1

    x, y, i = draw(2, 3), draw(2, 3, seed=1), np.arange(3)
    of(api).check_backward(f, (x, i, y), (draw(2, 3, seed=2), draw(2, 3, seed=3)), **TOLERANCE)
    of(api).check_backward(f, [x, i, y], [draw(2, 3, seed=2), None], **TOLERANCE)
    if api != "short":
        of(api).check_double_backward(
            f, (x, i, y), (draw(2, 3, seed=2), draw(2, 3, seed=3)), (draw(2, 3, seed=4), draw(2, 3, seed=5))
        )


@ALL
def test_loss_without_output_gradient(api: str) -> None:
    total = F.sum if api == "chainer" else torch.sum
    of(api).check_backward(lambda x: total(x * x), draw(4), None, **TOLERANCE)
    with pytest.raises(ValueError):
        of(api).check_backward(lambda x: x * x, draw(4), None)


@ALL
def test_parameters(api: str) -> None:
    x, gy = draw(2, 3, dtype="f4"), draw(2, 4, seed=1, dtype="f4")

    def new() -> Any:
        if api == "chainer":
            link = chainer.links.Linear(3, 4)
            return link, (link.W, link.b)
        module = torch.nn.Linear(3, 4)
        return module, (module.weight, module.bias)

    link, params = new()
    before = [p.detach().clone() for p in params] if api != "chainer" else []
    of(api).check_backward(link, x, gy, params, dtype=np.float64, **TOLERANCE)
    ggx = draw(2, 3, seed=2, dtype="f4")
    ggp = draw(4, 3, seed=3, dtype="f4"), draw(4, seed=4, dtype="f4")
    if api != "chainer":
        for p, value in zip(params, before):
            assert p.dtype == torch.float32 and torch.equal(p, value) and p.grad is None
        compat.check_double_backward(lambda x: torch.tanh(link(x)), x, gy, ggx, params, ggp, dtype=np.float64)

    link, params = new()  # Chainer leaves the parameters of the first one in float64

    def wrong(x: Any) -> Any:
        # the bias counts twice, but its gradient once
        b = params[1]
        return link(x) + (b.array if api == "chainer" else b.detach())

    with pytest.raises(AssertionError):
        of(api).check_backward(wrong, x, gy, params, eps=1e-2, **TOLERANCE)
    of(api).check_backward(wrong, x, gy, (), eps=1e-2, **TOLERANCE)


@ALL
@pytest.mark.parametrize(
    ("x", "gy", "options", "error"),
    [
        (draw(3), draw(2), {}, ValueError),
        (draw(3), draw(3, dtype="f4"), {}, ValueError),
        (draw(3), (draw(3), draw(3)), {}, ValueError),
        (draw(3), draw(3), {"dtype": np.int32}, ValueError),
        (draw(3), draw(3), {"no_grads": [False, True]}, ValueError),
        (draw(3), draw(3), {"no_grads": [True]}, RuntimeError),
    ],
)
def test_errors(api: str, x: Any, gy: Any, options: dict[str, Any], error: type[Exception]) -> None:
    refused = (error, RuntimeError) if api == "short" else error
    with pytest.raises(refused):
        of(api).check_backward(lambda x: x * 2, x, gy, **options)


@BOTH
def test_nondifferentiable(api: str) -> None:
    absolute = F.absolute if api == "chainer" else torch.abs
    of(api).check_backward(absolute, draw(3), draw(3, seed=1), detect_nondifferentiable=True, **TOLERANCE)
    with pytest.raises(of(api).NondifferentiableError):
        of(api).check_backward(absolute, np.zeros(3), draw(3, seed=1), detect_nondifferentiable=True, **TOLERANCE)
    root = F.sqrt if api == "chainer" else torch.sqrt
    with np.errstate(invalid="ignore"), pytest.raises(of(api).NondifferentiableError):
        of(api).check_backward(root, np.zeros(1), draw(1), detect_nondifferentiable=True, **TOLERANCE)


@BOTH
def test_the_direction_is_drawn_alike(api: str) -> None:
    """From the same seed both report the same gradients when a check fails."""
    np.random.seed(3)
    with pytest.raises(AssertionError) as caught:
        of(api).check_backward(scaled_square(api, 3.0), draw(3), draw(3, seed=1), **TOLERANCE)
    np.random.seed(3)
    other = "compat" if api == "chainer" else "chainer"
    with pytest.raises(AssertionError) as other_caught:
        of(other).check_backward(scaled_square(other, 3.0), draw(3), draw(3, seed=1), **TOLERANCE)

    def numeric(error: Any) -> float:
        text = str(error.value)
        key = "gradients (numeric):" if "gradients (numeric):" in text else "numeric gradient"
        return float(text[text.index(key) + len(key) :].split()[0].rstrip(","))

    assert numeric(caught) == pytest.approx(numeric(other_caught), rel=1e-9)


def test_the_short_form_compares_the_same_two_numbers() -> None:
    """The next random number is the same, too."""
    told = []
    for api in ("compat", "short"):
        np.random.seed(3)
        link = torch.nn.Linear(3, 2).double()
        torch.nn.init.constant_(link.weight, 0.3)
        torch.nn.init.constant_(link.bias, 0.1)

        def f(x: Any, none: None, module: torch.nn.Linear = link) -> Any:
            return scaled_square("compat", 3.0)(module(x)), None

        with pytest.raises(AssertionError) as caught:
            of(api).check_backward(f, (draw(2, 3), None), (draw(2, 2, seed=1), None), (link.weight, link.bias))
        told.append(
            (*re.findall(r" (?:x|y|ACTUAL|DESIRED): (?:array\()?([\d.e-]+)", str(caught.value)), np.random.rand())
        )
    assert told[0] == told[1] and len(told[0]) == 3


@pytest.mark.parametrize("detect", [False, True])
@pytest.mark.parametrize("scalar", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_numerical_grad(detect: bool, scalar: bool, dtype: str) -> None:
    x, y = draw(2, 3, dtype=dtype), draw(3, seed=1, dtype=dtype)
    gz = 2.0 if scalar else draw(2, 3, seed=2, dtype=dtype)

    def f() -> Any:
        return np.exp(x) * y, None

    expected = gradient_check.numerical_grad(f, (x, y), (gz, None), eps=1e-2, detect_nondifferentiable=detect)
    found = compat.numerical_grad(f, (x, y), (gz, None), eps=1e-2, detect_nondifferentiable=detect)
    tensors = torch.as_tensor(x.copy()), torch.as_tensor(y.copy())
    of_tensors = compat.numerical_grad(
        lambda: (torch.exp(tensors[0]) * tensors[1], None),
        tensors,
        (gz, None),
        eps=1e-2,
        detect_nondifferentiable=detect,
    )
    if not detect:
        briefly = short.numerical_grad(f, (x, y), (gz, None), eps=1e-2)
        for b, g in zip(briefly, found, strict=True):
            np.testing.assert_array_equal(b, g, strict=True)
        of_tensors_briefly = short.numerical_grad(
            lambda: (torch.exp(tensors[0]) * tensors[1], None), tensors, (gz, None), eps=1e-2
        )
        torch.testing.assert_close(of_tensors_briefly, of_tensors, rtol=0, atol=0)
    for e, g, t in zip(expected, found, of_tensors, strict=True):
        assert g.dtype == e.dtype and t.dtype == torch.as_tensor(e).dtype
        np.testing.assert_allclose(g, e, rtol=1e-9 if dtype == "f8" else 1e-6)
        np.testing.assert_allclose(t.numpy(), e, rtol=1e-9 if dtype == "f8" else 2e-3)
    assert torch.equal(tensors[0], torch.as_tensor(x))


@ALL
def test_numerical_grad_errors(api: str) -> None:
    x = np.arange(3)
    if api != "short":  # where whole numbers change in place, not by eps
        with pytest.raises(RuntimeError):
            of(api).numerical_grad(lambda: (x * 2,), (x,), (1.0,))
    y, refused = draw(3), ValueError if api == "short" else AssertionError
    with pytest.raises(refused):
        of(api).numerical_grad(lambda: (y * 2,), (y,), (1.0, 2.0))
    with pytest.raises(refused):
        of(api).numerical_grad(lambda: (y * 2,), (y,), (draw(2),))
