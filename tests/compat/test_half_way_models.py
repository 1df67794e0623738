"""The adapters of a project that is half way, against the same training in Chainer alone."""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
import pytest
import torch
import torch.nn as nn
from chainer import training
from chainer.training import extensions

from chainer2torch.compat.half_way import half_way_links, half_way_modules, half_way_training
from chainer2torch.compat.training import log_extensions
from chainer2torch.compat.serializers import serializers
from chainer2torch.compat.optimizers import optimizer_hooks as hooks
from chainer2torch.compat.optimizers.optimizers_by_name import OptimizersByName as optimizers
from chainer2torch.compat.training import snapshot
from chainer2torch.compat.links.classifier import Classifier
from chainer2torch.compat.dataset.iterators import SerialIterator
from chainer2torch.compat.training.updaters import StandardUpdater

OPTIMIZERS = pytest.mark.parametrize("name", ["SGD", "MomentumSGD", "Adam", "RMSprop", "AdaDelta"])
DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])
RNG = np.random.RandomState(0)
X, T = RNG.randn(32, 5), RNG.randint(0, 3, 32).astype("i")


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1, self.bn, self.l2 = L.Linear(None, 8), L.BatchNormalization(8), L.Linear(8, 3)
            self.unused = L.Linear(2, 2)

    def forward(self, x):
        return self.l2(self.bn(F.relu(self.l1(x))))


class TorchNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.bn, self.l2 = nn.LazyLinear(8), nn.BatchNorm1d(8, eps=2e-5), nn.Linear(8, 3)
        self.unused = nn.Linear(2, 2)

    def forward(self, x):
        return self.l2(self.bn(torch.relu(self.l1(x))))


def net(dtype="float32"):
    np.random.seed(1)
    with chainer.using_config("dtype", np.dtype(dtype)):
        return Net()


def weights(path, dtype="float32"):
    """A file with the weights of a net, and the net."""
    link = net(dtype)
    for name, shape in (("l1", (8, 5)),):
        getattr(link, name).W.initialize(shape)
    chainer.serializers.save_npz(str(path), link)
    return link


def steps(link, optimizer, dtype, hook, clear=True):
    optimizer.add_hook(hook(1e-2))
    np.random.seed(5)  # for the weight that has no shape yet
    losses = []
    for _ in range(12):
        with chainer.using_config("dtype", np.dtype(dtype)):
            loss = F.softmax_cross_entropy(link(X.astype(dtype)), T)
        link.cleargrads()
        loss.backward()
        optimizer.update()
        losses.append(float(loss.array))
    return losses


def close(a, b, dtype="float32"):
    np.testing.assert_allclose(a, b, **({"rtol": 1e-5, "atol": 1e-6} if dtype == "float32" else {"rtol": 1e-12}))


@OPTIMIZERS
@DTYPES
def test_a_link_under_an_optimizer_of_torch(name, dtype):
    ours, theirs = net(dtype), net(dtype)  # neither has the shape of its first weight yet
    want = steps(theirs, getattr(chainer.optimizers, name)().setup(theirs), dtype, chainer.optimizer_hooks.WeightDecay)
    optimizer = getattr(optimizers, name)().setup(half_way_links.as_torch_model(ours))
    close(steps(ours, optimizer, dtype, hooks.WeightDecay), want, dtype)
    for (_, a), (_, b) in zip(sorted(ours.namedparams()), sorted(theirs.namedparams())):
        close(a.array, b.array, dtype)
    assert want[0] != want[-1]


def test_a_plain_optimizer_of_torch_takes_it_too():
    ours, theirs = net(), net()
    want = steps(theirs, chainer.optimizers.SGD(0.1).setup(theirs), "float32", lambda rate: lambda optimizer: None)
    np.random.seed(5)
    with chainer.using_config("train", False):
        ours(X.astype("f"))
    optimizer = torch.optim.SGD(half_way_links.as_torch_model(ours).parameters(), lr=0.1)
    for value in want:
        optimizer.zero_grad()
        assert all(p.grad is None for p in ours.params())
        loss = F.softmax_cross_entropy(ours(X.astype("f")), T)
        loss.backward()
        optimizer.step()
        close(float(loss.array), value)


def test_methods_of_the_link_reach_the_rules_of_the_optimizer():
    link = net()
    link(X.astype("f"))
    optimizer = optimizers.SGD(0.1).setup(half_way_links.as_torch_model(link))
    link.l1.disable_update()
    before = link.l1.W.array.copy(), link.l2.W.array.copy()
    F.softmax_cross_entropy(link(X.astype("f")), T).backward()
    optimizer.reallocate_cleared_grads()
    link.unused.cleargrads()
    optimizer.update()
    assert (link.l1.W.array == before[0]).all() and (link.l2.W.array != before[1]).any()


def test_an_array_that_the_link_gets_later_is_trained():
    link = net()
    link(X.astype("f"))
    optimizer = optimizers.SGD(0.5).setup(half_way_links.as_torch_model(link))
    link.l2.W.array = new = np.ones_like(link.l2.W.array)
    link.cleargrads()
    F.softmax_cross_entropy(link(X.astype("f")), T).backward()
    optimizer.update()
    close(new, 1 - 0.5 * link.l2.W.grad)


def test_a_shared_link_is_one_and_updated_as_often_as_in_chainer():
    def tied():
        np.random.seed(2)
        chain = chainer.Chain(a=L.Linear(5, 5))
        with chain.init_scope():
            chain.b = chain.a
        return chain

    results = []
    for module, wrap in ((chainer.optimizers, lambda link: link), (optimizers, half_way_links.as_torch_model)):
        chain = tied()
        optimizer = module.MomentumSGD(0.1).setup(wrap(chain))
        for _ in range(3):
            chain.cleargrads()
            F.sum(chain.b(chain.a(X.astype("f"))) ** 2).backward()
            optimizer.update()
        results.append(chain.a.W.array)
    close(*results)


def test_wrapping_twice_is_once_and_wrong_things_pass():
    link, module = net(), nn.Linear(2, 3)
    once = half_way_links.as_torch_model(link)
    assert half_way_links.as_torch_model(link) is once and half_way_links.as_torch_model(once) is once
    assert half_way_links.as_torch_model(link.copy()) is not once
    assert half_way_links.as_torch_model(module) is module and half_way_links.as_torch_model("it") == "it"
    other = half_way_modules.as_chainer_link(module)
    assert half_way_modules.as_chainer_link(module) is other and half_way_modules.as_chainer_link(other) is other
    assert half_way_modules.as_chainer_link(link) is link
    assert half_way_links.as_torch_model({"main": link})["main"] is once
    assert once.l1 is link.l1, "other attributes are the link's"
    once.note = 3
    assert link.note == 3


def test_arrays_and_tensors_cross():
    array = np.arange(6, dtype="f").reshape(2, 3)
    tensor, (label, name) = half_way_links.astensor((array, [T, "word"]))
    tensor[0, 0] = 9
    assert array[0, 0] == 9 and label.dtype == torch.int32 and name == "word"
    back = half_way_links.asarray({"x": tensor, "n": 3})
    assert np.shares_memory(back["x"], array) and back["n"] == 3
    assert (half_way_links.astensor(array[:, ::-1]).numpy() == array[:, ::-1]).all()
    with pytest.raises(RuntimeError, match="requires a gradient"):
        half_way_links.asarray(torch.ones(2, requires_grad=True))


# -- trainers ----------------------------------------------------------------------------------------------------------


def trainer_of(kind, out, file, epochs=4):
    """One training: in Chainer alone, with the training on torch's side, or with the model there."""
    dataset = chainer.datasets.TupleDataset(X.astype("f"), T)
    link = net()
    chainer.serializers.load_npz(str(file), link)
    model, wrap = L.Classifier(link), (lambda value: value)
    if kind == "models":
        module = TorchNet()
        serializers.load_npz(str(file), module)
        model, wrap = Classifier(module), half_way_modules.as_chainer_link
    if kind == "data":
        ours = [SerialIterator(dataset, 10, shuffle=False), SerialIterator(dataset, 10, repeat=False, shuffle=False)]
        iterators = [half_way_training.as_chainer_iterator(iterator) for iterator in ours]
    else:
        iterators = [
            chainer.iterators.SerialIterator(dataset, 10, shuffle=False),
            chainer.iterators.SerialIterator(dataset, 10, repeat=False, shuffle=False),
        ]
    if kind == "training":
        optimizer = optimizers.Adam().setup(half_way_links.as_torch_model(model))
        updater = half_way_training.StandardUpdaterOfLinks(iterators[0], optimizer, device=-1)
        trainer = half_way_training.TrainerOfLinks(updater, (epochs, "epoch"), out=str(out))
        trainer.extend(half_way_training.EvaluatorOfLinks(iterators[1], model, device=-1))
        rooms = log_extensions, snapshot
    else:
        optimizer = chainer.optimizers.Adam().setup(wrap(model))
        updater = training.updaters.StandardUpdater(iterators[0], optimizer, device=-1)
        trainer = training.Trainer(updater, (epochs, "epoch"), out=str(out))
        trainer.extend(extensions.Evaluator(iterators[1], wrap(model), device=-1))
        rooms = extensions, extensions
    trainer.extend(rooms[0].LogReport())
    trainer.extend(rooms[1].snapshot(), trigger=(2, "epoch"))
    return trainer, model


def log_of(trainer):
    entries = trainer.get_extension("LogReport").log
    return [[float(entry[key]) for key in sorted(entry) if key != "elapsed_time"] for entry in entries]


KINDS = ["chainer", "training", "models", "data"]


@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_trainer_reports_what_chainers_does(kind, tmp_path):
    weights(tmp_path / "start.npz")
    logs = []
    for one in ("chainer", kind):
        trainer, _ = trainer_of(one, tmp_path / one, tmp_path / "start.npz")
        trainer.run()
        logs.append(log_of(trainer))
        keys = sorted(trainer.get_extension("LogReport").log[0])
        assert "validation/main/accuracy" in keys and "main/loss" in keys
    assert len(logs[0]) == 4
    np.testing.assert_allclose(logs[1], logs[0], rtol=1e-5)


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("then", KINDS)
def test_a_snapshot_of_one_stage_is_resumed_at_another(first, then, tmp_path):
    weights(tmp_path / "start.npz")
    whole, _ = trainer_of("chainer", tmp_path / "whole", tmp_path / "start.npz")
    whole.run()
    begun, _ = trainer_of(first, tmp_path / "begun", tmp_path / "start.npz", epochs=2)
    begun.run()
    (file,) = (tmp_path / "begun").glob("snapshot_iter_*")
    resumed, model = trainer_of(then, tmp_path / "resumed", tmp_path / "start.npz")
    for array in (
        p.array if then != "models" else p.data for p in (model.params() if then != "models" else model.parameters())
    ):
        array[...] = 0.5  # so that only the file can bring the weights
    load = serializers.load_npz if then == "training" else chainer.serializers.load_npz
    load(str(file), resumed)
    resumed.run()
    np.testing.assert_allclose(log_of(resumed)[-1], log_of(whole)[-1], rtol=1e-5)


def test_an_extension_of_chainers_runs_in_the_trainer_for_links(tmp_path):
    weights(tmp_path / "start.npz")
    seen = []

    class Own(chainer.training.Extension):
        trigger = (1, "epoch")

        def __call__(self, trainer):
            target = trainer.updater.get_optimizer("main").target
            loss = float(trainer.observation["main/loss"])
            seen.append((trainer.updater.iteration, loss, target.predictor.l1.W.shape))

    trainer, _ = trainer_of("training", tmp_path / "out", tmp_path / "start.npz", epochs=2)
    trainer.extend(Own())
    trainer.run()
    assert [iteration for iteration, _, _ in seen] == [4, 7] and seen[0][2] == (8, 5)


class TwoLosses(half_way_training.StandardUpdaterOfLinks):
    """An updater whose code is still Chainer's."""

    def update_core(self):
        x, t = self.converter(self.get_iterator("main").next(), self.device)
        assert isinstance(x, np.ndarray)
        optimizer = self.get_optimizer("main")
        model = optimizer.target
        optimizer.update(lambda: F.softmax_cross_entropy(model.l2(model.bn(F.relu(model.l1(x)))), t) * 2)


def test_an_updater_of_the_users_with_a_loss_of_chainers(tmp_path):
    link, reference = net(), net()
    for each in (link, reference):
        np.random.seed(5)
        each.l1.W.initialize((8, 5))
    dataset = chainer.datasets.TupleDataset(X.astype("f"), T)
    updater = TwoLosses(
        chainer.iterators.SerialIterator(dataset, 8, shuffle=False),
        optimizers.SGD(0.1).setup(half_way_links.as_torch_model(link)),
        device="cpu",
    )
    optimizer = chainer.optimizers.SGD(0.1).setup(reference)
    for i in range(4):
        updater.update()
        batch = slice(8 * i, 8 * i + 8)
        optimizer.update(lambda b=batch: F.softmax_cross_entropy(reference(X[b].astype("f")), T[b]) * 2)
    close(link.l1.W.array, reference.l1.W.array)
    assert isinstance(updater, StandardUpdater)


# -- modules under Chainer ---------------------------------------------------------------------------------------------


@OPTIMIZERS
@pytest.mark.parametrize("scale", [None, 16.0])
def test_a_module_under_an_optimizer_of_chainer(name, scale, tmp_path):
    link = weights(tmp_path / "start.npz")
    module = TorchNet()
    serializers.load_npz(str(tmp_path / "start.npz"), module)
    wrapped = half_way_modules.as_chainer_link(module)
    losses = {}
    for target in (link, wrapped):
        optimizer = getattr(chainer.optimizers, name)().setup(target)
        optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(1e-2))
        optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(0.5))
        if scale:
            optimizer.set_loss_scale(scale)
        losses[target] = []
        for _ in range(10):

            def loss(target=target):
                value = F.softmax_cross_entropy(target(X.astype("f")), T)
                losses[target].append(float(value.array))
                return value

            optimizer.update(loss)
    close(losses[wrapped], losses[link])
    # the rules divide by roots of small squares: what is left of a rounding grows there, and hardly shows in the losses
    np.testing.assert_allclose(module.l1.weight.detach(), link.l1.W.array, atol=5e-5)
    close(module.bn.running_var, link.bn.avg_var)
    assert [path for path, _ in sorted(wrapped.namedparams())] == [path for path, _ in sorted(link.namedparams())]


def test_a_lazy_module_and_a_loss_that_torch_differentiates():
    module = TorchNet()
    wrapped = half_way_modules.as_chainer_link(module)
    optimizer = chainer.optimizers.SGD(0.1).setup(wrapped)
    x, t = torch.from_numpy(X.astype("f")), torch.from_numpy(T).long()
    loss = nn.functional.cross_entropy(module(x), t)
    module.zero_grad()
    loss.backward()
    before, grad = module.l1.weight.detach().clone(), module.l1.weight.grad.clone()
    optimizer.update()
    close(module.l1.weight.detach(), before - 0.1 * grad)
    wrapped.cleargrads()
    assert module.l1.weight.grad is None


def test_modes_and_gradients_of_inputs_cross(tmp_path):
    link = weights(tmp_path / "start.npz")
    module = TorchNet()
    serializers.load_npz(str(tmp_path / "start.npz"), module)
    wrapped = half_way_modules.as_chainer_link(module)
    grads = []
    for target in (link, wrapped):
        x = chainer.Variable(X.astype("f"))
        F.sum(target(x) ** 2).backward()
        grads.append(x.grad)
    close(*grads)
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        y = wrapped(X.astype("f"))
        close(y.array, link(X.astype("f")).array)
        assert y.creator_node is None
    assert module.training


def test_weights_of_a_half_way_model_are_saved_and_loaded(tmp_path):
    link = weights(tmp_path / "start.npz")
    link(X.astype("f"))
    serializers.save_npz(str(tmp_path / "a.npz"), half_way_links.as_torch_model(link))
    fresh = net()
    serializers.load_npz(str(tmp_path / "a.npz"), half_way_links.as_torch_model(fresh))
    module = TorchNet()
    chainer.serializers.load_npz(str(tmp_path / "a.npz"), half_way_modules.as_chainer_link(module))
    assert link.bn.avg_mean.any()
    close(fresh.bn.avg_mean, link.bn.avg_mean)
    with chainer.using_config("train", False):
        want = link(X.astype("f")).array
        close(fresh(X.astype("f")).array, want)
        close(module.eval()(torch.from_numpy(X.astype("f"))).detach(), want)
    with pytest.raises((KeyError, ValueError)):
        serializers.load_npz(str(tmp_path / "start.npz"), half_way_links.as_torch_model(L.Linear(3, 4)))
