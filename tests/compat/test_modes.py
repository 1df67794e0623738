"""The train flag and the context managers of compat.modes."""

import types
import functools
import threading

import chainer
import pytest
import torch

from chainer2torch.compat.variable import modes as long_modes
from chainer2torch.native import modes as short_modes

modes = long_modes


@pytest.fixture(autouse=True, params=[long_modes, short_modes], ids=["compat", "native"])
def _both(request, monkeypatch):
    """Each test is run with the helpers of both styles."""
    monkeypatch.setitem(globals(), "modes", request.param)


def unnamed():
    """The option that switches modules without a name, too: in the native style they always are."""
    return {"called": True} if modes is long_modes else {}


def _model():
    return torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.Dropout(), torch.nn.BatchNorm1d(2)))


def _states(model):
    return [m.training for m in model.modules()]


def test_default_is_chainers():
    assert modes.is_training() is True
    assert chainer.config.train is True


def test_eval_mode_switches_modules_and_flag_and_restores_each_own_mode():
    model, other = _model(), _model()
    model[1][0].eval()  # frozen by its owner: must stay so afterwards
    before = _states(model)
    assert before.count(False) == 1
    with modes.eval_mode(model, other):
        assert not modes.is_training()
        assert not any(_states(model)) and not any(_states(other))
    assert modes.is_training()
    assert _states(model) == before and all(_states(other))


@pytest.fixture
def switch():
    """``set_train``, which is in train mode again afterwards."""
    yield modes.set_train
    modes.set_train(True)
    assert (modes._mode.follower if modes is long_modes else modes._mode.block) is None


def test_the_switch_of_all_modules(switch):
    model, other = _model(), _model()
    switch(False, model)
    assert not modes.is_training() and not any(_states(model)) and all(_states(other))
    switch(True, model)
    assert modes.is_training() and all(_states(model))


def test_the_switch_reaches_modules_that_are_made_later(switch):
    switch(False)
    model, x = _model(), torch.randn(3, 2)
    model(x)
    assert not any(_states(model))
    with modes.train_mode(**unnamed()):
        model(x)
        assert all(_states(model))
    model(x)
    assert not any(_states(model))
    assert modes.call_in_mode(model[1][0], True, torch.ones(64)).eq(0).any()  # as it was called: drops
    model.eval()  # by hand
    switch(True)
    assert all(_states(model))
    other = _model()
    switch(False, other)
    assert not any(_states(other)) and all(_states(model))
    switch(True)
    assert all(_states(other))
    model.eval()
    model(x)
    assert not any(_states(model))  # PyTorch's own way works as ever


@pytest.mark.parametrize("train", [True, False])
def test_modules_without_a_name_are_switched_when_they_are_called(train):
    models = {"a": _model().train(not train), "b": _model().train(not train)}
    x, seen = torch.randn(3, 2), []
    models["a"].register_forward_hook(lambda *_: seen.append(_states(models["a"])))
    with modes.using_train(train, **unnamed()):
        models["a"](x)
        assert _states(models["b"]) == [not train] * 5
    assert seen == [[train] * 5]
    assert _states(models["a"]) == [not train] * 5  # and have their own modes again
    models["a"](x)
    assert seen[1] == [not train] * 5
    with pytest.raises(ZeroDivisionError), modes.using_train(train, **unnamed()):
        models["b"](x)
        raise ZeroDivisionError
    assert _states(models["b"]) == [not train] * 5


def test_blocks_inside_blocks_give_each_call_its_mode():
    model, x = _model(), torch.randn(3, 2)
    with modes.eval_mode(**unnamed()):
        with modes.train_mode(**unnamed()):
            model(x)
            assert all(_states(model))
        model(x)
        assert not any(_states(model))
        with modes.train_mode(model):
            model(x)
            assert all(_states(model))
    assert all(_states(model))


def test_modules_that_another_thread_calls_are_its_own():
    model, x = _model(), torch.randn(3, 2)
    with modes.eval_mode(**unnamed()):
        thread = threading.Thread(target=model, args=(x,))
        thread.start()
        thread.join()
        assert all(_states(model))


def test_unnamed_modules_compute_what_they_compute_in_chainer():
    link = chainer.links.BatchNormalization(2)
    layer = torch.nn.BatchNorm1d(2, eps=2e-5)
    x = torch.randn(5, 2)
    nets = {"theirs": [link], "ours": [layer]}
    with chainer.using_config("train", False), modes.eval_mode(**unnamed()):
        assert torch.allclose(nets["ours"][0](x), torch.tensor(nets["theirs"][0](x.numpy()).array), atol=1e-6)
    assert layer.num_batches_tracked == 0


def test_train_mode_inside_eval_mode():
    model = _model().eval()
    with modes.eval_mode():
        assert not modes.is_training()
        with modes.train_mode(model):
            assert modes.is_training() and all(_states(model))
        assert not modes.is_training() and not any(_states(model))
    assert modes.is_training()


@pytest.mark.parametrize("flag", [True, False])
def test_using_train_equals_using_config(flag):
    model = _model()
    with modes.using_train(flag, model), chainer.using_config("train", flag):
        assert modes.is_training() is chainer.config.train is model.training is flag
    assert modes.is_training() is chainer.config.train is model.training is True


def test_restored_after_an_exception():
    model = _model()
    with pytest.raises(KeyError), modes.eval_mode(model):
        raise KeyError
    assert modes.is_training() and all(_states(model))


def test_a_module_named_twice_and_a_parent_with_its_child():
    model = _model()
    model[1].eval()
    before = _states(model)
    with modes.eval_mode(model, model[1], model):
        assert not any(_states(model))
    assert _states(model) == before


def test_the_flag_belongs_to_the_thread():
    seen = {}

    def look():
        seen["torch"] = modes.is_training()
        seen["chainer"] = chainer.config.train

    with modes.eval_mode(), chainer.using_config("train", False):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert seen == {"torch": True, "chainer": True}


def test_as_decorator():
    @modes.eval_mode()
    def predict():
        return modes.is_training()

    assert predict() is False and predict() is False  # a decorator serves more than one call
    assert modes.is_training()


_GLOBAL = torch.nn.Dropout(0.5)


def _uses_a_global(x):
    return _GLOBAL(x)


def _closure(model):
    return lambda x: model(x)


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda model: _closure(model),
        lambda model: functools.partial(_closure(model), x=torch.ones(3)),
        lambda model: functools.partial(torch.nn.Module.__call__, model),
        lambda model: [model],
        lambda model: {"a": model},
        lambda model: model.forward,
        lambda model: types.SimpleNamespace(inner=[model]),
    ],
)
def test_modules_behind_functions_and_objects_are_found(wrapped):
    model = torch.nn.Dropout(0.5)
    with modes.eval_mode(wrapped(model)):
        assert not model.training
    assert model.training


def test_a_module_of_the_functions_own_file_is_found():
    with modes.eval_mode(_uses_a_global):
        assert not _GLOBAL.training
    assert _GLOBAL.training
    with modes.eval_mode(len, 3, None, _closure):
        assert _GLOBAL.training


class _Teaching(torch.nn.Module):
    """Keeps modules that are not its children, as what ``init_scope`` does not see is no child in Chainer."""

    def __init__(self, teacher, layers):
        super().__init__()
        self.student = _model()
        object.__setattr__(self, "_teacher", teacher)
        self.layers = [["not a module", 3.0], layers]
        self.names = ["a"] * 3
        object.__setattr__(self.student, "parent", self)  # a way round


def test_modules_that_are_not_registered_are_switched_and_restored():
    teacher, last = _Teaching(_model(), []), _model()
    object.__setattr__(teacher.student, "inner", types.SimpleNamespace(last=last))
    layer = torch.nn.Dropout(0.5).eval()
    model = _Teaching(teacher, [layer, torch.nn.Dropout(0.5)])
    parts = [model, teacher, last, model.layers[1][1]]
    with modes.eval_mode(model):
        assert not any(training for part in parts for training in _states(part)) and not layer.training
    assert all(training for part in parts for training in _states(part)) and not layer.training
    try:
        modes.set_train(False, model)
        assert not any(training for part in parts for training in _states(part))
    finally:
        modes.set_train(True, model)
    assert layer.training or modes is short_modes  # put into test mode by hand, which Chainer does not have
