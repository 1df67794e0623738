"""Ways through helpers that a mutation run showed no other test to take."""

import types

import chainer
import numpy as np
import pytest
import torch

from chainer2torch.compat.links import convolution_links, vision_models
from chainer2torch.compat.optimizers import adam
from chainer2torch.compat.serializers import serializers, state_io
from chainer2torch.compat.training import shift_extensions
from chainer2torch.native import indexing, small_links


def test_weights_fill_a_layer_that_waits_for_its_size() -> None:
    saved = convolution_links.Convolution2D(2, 3, 3).state_dict()
    layer = convolution_links.Convolution2D(None, 3, 3)
    layer.load_state_dict(saved)
    assert torch.equal(layer.weight, saved["weight"])
    rest = convolution_links.Convolution2D(None, 3, 3)
    rest.load_state_dict({"bias": saved["bias"] + 1}, strict=False)
    assert torch.nn.parameter.is_lazy(rest.weight) and torch.equal(rest.bias, saved["bias"] + 1)


@pytest.mark.parametrize(("n_layers", "parameters", "convolutions_of_it"), [(16, 138357544, 13), (19, 143667240, 16)])
def test_vgg_has_as_many_parameters_as_published(n_layers: int, parameters: int, convolutions_of_it: int) -> None:
    """Source: the sums over the table of Simonyan and Zisserman, 2014."""
    with torch.device("meta"):
        model = vision_models.VGGLayers(None, n_layers)
    assert sum(param.numel() for param in model.parameters()) == parameters
    names = [name for name, _ in model.named_children() if name.startswith("conv")]
    assert len(names) == convolutions_of_it and names[:3] == ["conv1_1", "conv1_2", "conv2_1"]


def test_adam_goes_on_from_another_count_of_updates() -> None:
    values = np.linspace(-1, 1, 6, dtype="f").reshape(2, 3)
    link = chainer.links.Linear(3, 2, initialW=values, nobias=True)
    linear = torch.nn.Linear(3, 2, bias=False)
    linear.load_state_dict({"weight": torch.from_numpy(values.copy())})
    reference, optimizer = chainer.optimizers.Adam(0.1).setup(link), adam.Adam(0.1).setup(linear)
    for step in range(6):
        if step == 2:
            reference.t = optimizer.t = 40
            link.W.update_rule.t = 40
        x = np.full((1, 3), step - 2.5, "f")
        reference.update(lambda x: chainer.functions.sum(link(x) ** 2), x)
        optimizer.update(lambda x: (linear(x) ** 2).sum(), torch.from_numpy(x))
    np.testing.assert_allclose(linear.weight.detach().numpy(), link.W.array, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("rate", "target"), [(2.0, 0.3), (2.0, None), (-2.0, 3.0), (0.5, 0.01)])
def test_polynomial_shift_stops_at_its_target(rate: float, target: float | None) -> None:
    found: list[list[float]] = []
    for extension in (chainer.training.extensions.PolynomialShift, shift_extensions.PolynomialShift):
        optimizer = types.SimpleNamespace(lr=1.0)
        shift = extension("lr", rate, 8, init=1.0, target=target, optimizer=optimizer)
        trainer = types.SimpleNamespace()
        shift.initialize(trainer)
        seen = [optimizer.lr]
        for _ in range(6):
            shift(trainer)
            seen.append(optimizer.lr)
        found.append(seen)
    assert found[0] == pytest.approx(found[1]) and len(set(found[0])) > 2


def test_a_value_of_none_is_read_as_none_and_other_objects_are_refused() -> None:
    entries = {"a": np.array(None, dtype=object), "b": np.array("x", dtype=object), "c": np.array([None], dtype=object)}
    reader = state_io.StateReader(entries)
    assert reader("a", 3) is None
    for key in ("b", "c"):
        with pytest.raises(ValueError, match="Python objects"):
            reader(key, 3)


@pytest.mark.parametrize(
    ("index", "shape"),
    [
        (slice(None, None, -1), (3, 4)),
        ((slice(None, None, 2), [0, 2]), (3, 4)),
        ((slice(None, None, -2), [1, 0]), (3, 4)),
        ((Ellipsis, [1, 3], 0), (2, 4, 3)),
        ((0, [1, 3]), (2, 4)),
        ([0, 2], (3, 4)),
        ((slice(3, 0, -1), slice(None)), (4, 2)),
    ],
)
def test_items_are_those_of_numpy(index: object, shape: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape), dtype="f").reshape(shape)
    np.testing.assert_array_equal(indexing.get_item(torch.from_numpy(x), index), x[index])  # type: ignore[index]


def test_a_normalization_takes_its_size_from_weights() -> None:
    saved = small_links.LayerNormalization(3).state_dict()
    layer = small_links.LayerNormalization()
    layer.load_state_dict({name: value + 1 for name, value in saved.items()})
    assert layer.weight.shape == (3,) and bool((layer.weight == 2).all())
    empty = small_links.LayerNormalization(2)
    empty.load_state_dict({}, strict=False)
    assert empty.weight.shape == (2,)


def test_weights_that_do_not_fit_say_what_the_file_is() -> None:
    problem = serializers._Problem("l/W", "has nothing for it", KeyError)
    wrong = serializers._Problem("l/W", "has shape (1,), the model's has (2,)", ValueError)
    snapshot = {"updater/model:main/l/W": np.zeros(2)}
    with pytest.raises(KeyError, match="snapshot: pass path='updater/model:main/'"):
        serializers._raise([problem], snapshot, "")
    with pytest.raises(KeyError, match="snapshot"):
        serializers._raise([problem], snapshot, "m/")
    with pytest.raises(ValueError) as caught:
        serializers._raise([wrong], snapshot, "m/")
    assert "snapshot" not in str(caught.value)
    with pytest.raises(KeyError, match="nothing in the file is under path='m/'"):
        serializers._raise([problem], {"l/W": np.zeros(2)}, "m/")
