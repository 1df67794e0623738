"""Trees of links: orders, paths, copies, Sequential, persistent values, against Chainer."""

import copy
import io

import chainer
import chainer.functions as CF
import numpy as np
import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from chainer import links as L

from chainer2torch.compat.links import link_tree as T
from chainer2torch.compat.optimizers import optimizers
from chainer2torch.compat.links import persistent as P
from chainer2torch.compat.initializers.layer_init import init_like_chainer
from chainer2torch.compat.links.linear import Linear
from chainer2torch.compat.links.normalization_links import BatchNormalization
from chainer2torch.compat.variable.parameters import initialize_parameter, parameter
from chainer2torch.compat.links.sequential import Sequential, repeat_link
from chainer2torch.compat.serializers.serializers import load_npz, save_npz
from tests.support.both_sides import both
from tests.support.links import arrays_of, check_link, npz_of


class CNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.z = L.Linear(3, 4)
            self.blocks = chainer.ChainList(
                L.Linear(4, 4), L.BatchNormalization(4), *[L.Linear(4, 4) for _ in range(10)]
            )
            self.a = L.Linear(None, 2)
            self.scale = chainer.Parameter(1, (4,))

    def forward(self, x):
        h = self.z(x)
        for link in self.blocks:
            h = CF.tanh(link(h))
        return self.a(h * CF.broadcast_to(self.scale, h.shape))


class TNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.z = nn.Linear(3, 4)
        self.blocks = nn.ModuleList(
            [nn.Linear(4, 4), nn.BatchNorm1d(4, eps=2e-5), *[nn.Linear(4, 4) for _ in range(10)]]
        )
        self.a = nn.LazyLinear(2)
        T.add_param(self, "scale", (4,), initializer=1)
        init_like_chainer(self)

    def forward(self, x):
        h = self.z(x)
        for link in self.blocks:
            h = torch.tanh(link(h))
        return self.a(h * self.scale)


def test_a_model():
    check_link(CNet, TNet, ["f32[5,3]"])


def test_orders_and_paths():
    link, module = CNet(), TNet()
    for skip in (False, True):
        assert [p for p, _ in T.namedlinks(module, skip)] == [p for p, _ in link.namedlinks(skip)]
        assert len(list(T.links(module, skip))) == len(list(link.links(skip)))
    assert [p for p, _ in T.namedparams(module)] == [p for p, _ in link.namedparams()]
    # a lazy layer of torch has no bias either before its first call
    assert [p for p, _ in T.namedparams(module, False)] == [p for p, _ in link.namedparams(False) if p != "/a/b"]
    assert [type(c).__name__ for c in T.children(module)] == ["LazyLinear", "ModuleList", "Linear"]
    with pytest.warns(UserWarning, match="/a/W"):
        T.count_params(module)
    link(np.ones((2, 3), "f"))
    module(torch.ones(2, 3))
    assert T.count_params(module) == link.count_params()
    assert [p for p, _ in T.namedparams(module, False)] == [p for p, _ in link.namedparams(False)]
    assert [tuple(p.shape) for p in T.params(module)] == [p.shape for p in link.params()]


def layers(sizes, linear, relu):
    return [relu if n is None else linear(n, n) for n in sizes]


@pytest.mark.parametrize(
    "sizes",
    [
        (2, None, 2, 2, None, 2, 2),
        (None, 2, 2, 2, 2),
        (None, None, 2, 2, 2, 2, 2),
        (2,),
        (None, 2, None),
        (2, 2),
        (2, 2, 2),
    ],
)
def test_sequential_keeps_chainers_count_of_its_links(sizes):
    make_link = lambda: chainer.Sequential(*layers(sizes, L.Linear, CF.relu))  # noqa: E731
    check_link(make_link, lambda: Sequential(*layers(sizes, nn.Linear, F.relu)), ["f32[3,2]"], steps=1)
    check_link(make_link, lambda: nn.Sequential(*layers(sizes, nn.Linear, nn.ReLU())), ["f32[3,2]"], steps=1)


def test_sequential_is_a_list():
    c_relu, t_relu = CF.relu, F.relu
    link = chainer.Sequential(*layers((1, 2, None, 3), L.Linear, c_relu))
    module = Sequential(*layers((1, 2, None, 3), nn.Linear, t_relu))

    def same():
        assert [getattr(x, "out_size", None) for x in link] == [getattr(x, "out_features", None) for x in module]
        assert [x.out_size for x in link.children()] == [x.out_features for x in T.children(module)]
        assert len(link) == len(module)

    same()
    for action in (
        lambda s, lin, relu: s.insert(0, lin(4, 4)),
        lambda s, lin, relu: s.insert(2, lin(5, 5)),
        lambda s, lin, relu: s.insert(-1, relu),
        lambda s, lin, relu: s.append(lin(6, 6)),
        lambda s, lin, relu: s.extend([lin(7, 7), relu]),
        lambda s, lin, relu: s.pop(),
        lambda s, lin, relu: s.__setitem__(1, lin(8, 8)),
        lambda s, lin, relu: s.remove(relu),
        lambda s, lin, relu: s.remove_by_layer_type("relu"),
    ):
        action(link, L.Linear, c_relu)
        action(module, nn.Linear, t_relu)
        same()
    assert module.count_by_layer_type("Linear") == link.count_by_layer_type("Linear") == len(module)
    assert module.index(module[2]) == 2 and module.count(module[2]) == 1 and module[2] in module
    assert [m.out_features for m in reversed(module)] == [m.out_size for m in reversed(link)]
    assert len(module + module) == 2 * len(module) and isinstance(module[1:3], list)
    nested_link = chainer.Sequential(chainer.Sequential(L.Linear(1, 1), c_relu), c_relu).flatten()
    assert len(Sequential(Sequential(nn.Linear(1, 1), t_relu), t_relu).flatten()) == len(nested_link) == 3
    module.clear()
    assert len(module) == 0 and list(module.parameters()) == []


def test_sequential_passes_tuples_on():
    link = chainer.Sequential(lambda x, y: (x + y, x * y), lambda a, b: a - b)
    module = Sequential(lambda x, y: (x + y, x * y), lambda a, b: a - b)
    x, y = np.ones(3, "f"), np.arange(3).astype("f")
    np.testing.assert_array_equal(module(torch.tensor(x), torch.tensor(y)).numpy(), link(x, y))


@pytest.mark.parametrize(
    "act,error",
    [
        (lambda s: s(1), RuntimeError),
        (lambda s: s.insert(1, abs), IndexError),
        (lambda s: s.append(3), ValueError),
        (lambda s: s + [], ValueError),
        (lambda s: s.remove(abs), ValueError),
        (lambda s: s.__setitem__(0, abs), ValueError),
        (lambda s: s.copyparams([]), ValueError),
    ],
)
def test_sequential_errors(act, error):
    for sequential in (chainer.Sequential(), Sequential()):
        with pytest.raises(error):
            act(sequential)


def test_repeat_and_copy():
    module = repeat_link(Linear(3, 3, initial_bias=5), 4)
    assert len(module) == 4 and not torch.equal(module[0].weight, module[1].weight)
    assert module[3].bias.tolist() == [5.0] * 3
    assert len(repeat_link(Linear(3, 3), 0)) == 0
    check_link(lambda: L.Linear(3, 3).repeat(4), lambda: repeat_link(Linear(3, 3), 4), ["f32[2,3]"], steps=1)
    same = repeat_link(nn.Linear(3, 3), 3, "copy")
    assert torch.equal(same[0].weight, same[2].weight) and same[0].weight is not same[2].weight


@pytest.mark.parametrize("mode", ["share", "copy", "init"])
def test_copy_modes(mode):
    link, module = CNet(), TNet()
    link(np.ones((2, 3), "f"))
    module(torch.ones(2, 3))
    link.blocks[1].avg_mean[...] = 7
    with torch.no_grad():
        module.blocks[1].running_mean.fill_(7)
    link2, module2 = link.copy(mode), T.copy_link(module, mode)
    with torch.no_grad():
        for net in (module2.z.weight, module2.blocks[0].weight):
            net.add_(1)
    for param in (link2.z.W, link2.blocks[0].W):
        param.array += 1
    for a, b in ((module.z.weight, module2.z.weight), (module.blocks[0].weight, module2.blocks[0].weight)):
        assert torch.equal(a, b) is (mode == "share")
        assert a is not b
    assert np.array_equal(link.z.W.array, link2.z.W.array) is (mode == "share")
    module2.z.weight.grad = torch.ones(4, 3)
    assert module.z.weight.grad is None
    assert module2.blocks[1].running_mean.tolist() == list(link2.blocks[1].avg_mean) == [7.0] * 4
    assert module2.scale.tolist() == list(link2.scale.array)
    assert module2.z.bias.tolist() == list(link2.z.b.array)


def test_copy_errors():
    with pytest.raises(ValueError):
        T.copy_link(nn.Linear(1, 1), "deep")
    with pytest.raises(ValueError):
        L.Linear(1, 1).copy("deep")
    with pytest.raises(ValueError, match="no shape yet"):
        T.copy_link(nn.LazyLinear(1))
    odd = nn.Module()
    odd.w = nn.Parameter(torch.ones(2))
    with pytest.raises(ValueError, match="initializer"):
        T.copy_link(odd, "init")


@pytest.mark.parametrize("persistent", [True, False])
def test_copyparams_and_addgrads(persistent):
    source, target = TNet(), TNet()
    source(torch.randn(4, 3)).sum().backward()
    T.copyparams(target, source, persistent)
    for (name, a), (_, b) in zip(target.named_parameters(), source.named_parameters(), strict=True):
        assert torch.equal(a, b), name
    assert torch.equal(target.blocks[1].running_mean, source.blocks[1].running_mean) is persistent
    T.addgrads(target, source)
    T.addgrads(target, source)
    torch.testing.assert_close(target.z.weight.grad, 2 * source.z.weight.grad)
    assert target.z.weight.grad is not source.z.weight.grad
    T.zerograds(target)
    assert target.a.bias.grad.tolist() == [0, 0]
    with pytest.raises(RuntimeError):
        T.copyparams(nn.Linear(2, 3), nn.Linear(1, 3))
    with pytest.raises(AttributeError):
        T.copyparams(target, nn.Linear(1, 3))


def test_switching_updates_off():
    """Before an optimizer is set up the switch does nothing; after it, gradients are computed and not applied."""
    x = np.random.RandomState(0).randn(4, 3).astype("f")
    link = chainer.Chain(one=chainer.links.Linear(3, 3), two=chainer.links.Linear(3, 2))
    module = nn.ModuleDict({"one": nn.Linear(3, 3), "two": nn.Linear(3, 2)})
    with torch.no_grad():
        for name in ("one", "two"):
            module[name].weight.copy_(torch.tensor(link[name].W.array))
            module[name].bias.copy_(torch.tensor(link[name].b.array))
    link.one.disable_update()
    T.set_update_enabled(module["one"], False)
    assert T.is_update_enabled(module) is link.update_enabled is False
    reference, optimizer = chainer.optimizers.SGD(0.1).setup(link), optimizers.SGD(0.1).setup(module)
    for step in range(4):
        assert T.is_update_enabled(module["one"]) is link.one.update_enabled is (step != 2)
        assert T.is_update_enabled(module) is link.update_enabled is True
        before = link.one.W.array.copy()
        reference.update(lambda x: chainer.functions.sum(link.two(link.one(x)) ** 2), x)
        optimizer.update(lambda x: (module["two"](module["one"](x)) ** 2).sum(), torch.tensor(x))
        for name in ("one", "two"):
            np.testing.assert_allclose(module[name].weight.detach().numpy(), link[name].W.array, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(module[name].weight.grad.numpy(), link[name].W.grad, rtol=1e-4, atol=1e-4)
        assert np.array_equal(before, link.one.W.array) is (step == 2)
        if step == 1:
            link.one.disable_update()
            T.set_update_enabled(module["one"], False)
        elif step == 2:
            link.enable_update()
            T.set_update_enabled(module, True)


def test_parameters_of_ones_own():
    module = nn.Module()
    T.add_param(module, "w", (2, 3), initializer=4)
    T.add_param(module, "n", (2,))
    T.add_param(module, "later", initializer=2.5)
    assert module.w.tolist() == [[4.0] * 3] * 2 and module.n.isnan().all()
    initialize_parameter(module.later, 3)
    assert module.later.tolist() == [2.5] * 3
    with pytest.raises(AttributeError):
        T.add_param(module, "w", (1,))
    assert sorted(dict(module.named_parameters())) == ["later", "n", "w"]
    array = np.arange(3.0)
    assert parameter(array).dtype == torch.float64 and chainer.Parameter(array).dtype == np.float64
    assert parameter(array, (3,)).dtype == torch.float32 and chainer.Parameter(array, (3,)).dtype == np.float32
    assert parameter(np.float64(2), (3,)).dtype == torch.float32


def test_persistent_values():
    class CLink(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l = L.Linear(2, 2)
                self.frozen = chainer.Parameter(3, (2,))
            self.add_persistent("mean", np.arange(3).astype("f"))
            self.add_persistent("count", 5)
            self.rate = 0.25
            self.register_persistent("rate")
            self.register_persistent("frozen")

    class TLink(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(2, 2)
            self.frozen = parameter(3, (2,))
            P.add_persistent(self, "mean", np.zeros(3, "f"))
            P.add_persistent(self, "count", 0)
            self.rate = 0.0
            P.register_persistent(self, "rate")
            P.register_persistent(self, "frozen")

    link, module = CLink(), TLink()
    load_npz(npz_of_plain(link), module)
    assert module.mean.tolist() == [0, 1, 2] and module.count == 5 and module.rate == 0.25
    assert isinstance(module.count, int) and isinstance(module.rate, float)
    assert sorted(dict(module.named_parameters())) == ["l.bias", "l.weight"]
    other = TLink()
    other.load_state_dict(copy.deepcopy(module).state_dict())
    assert other.count == 5 and other.rate == 0.25 and other.mean.tolist() == [0, 1, 2]
    module.count += 1
    assert int(arrays_of(module)["count"]) == 6
    file = io.BytesIO()
    save_npz(file, module)
    file.seek(0)
    again = CLink()
    again.frozen = again.frozen.array  # Chainer saves a former Parameter only as an array
    chainer.serializers.load_npz(file, again)
    assert again.count == 6 and again.rate == 0.25
    for act in (lambda m: P.add_persistent(m, "mean", 1), lambda m: P.register_persistent(m, "nothing")):
        with pytest.raises(AttributeError):
            act(module)


def npz_of_plain(link):
    link.frozen = link.frozen.array
    return npz_of(link)


def test_batch_norm_in_a_copy_shares_statistics():
    layer = BatchNormalization(3)
    shared = T.copy_link(layer)
    shared(torch.randn(5, 3))
    assert torch.equal(shared.running_mean, layer.running_mean) and layer.running_mean.abs().sum() > 0


def test_chain_and_chainlist():
    from chainer2torch.compat.links.chains import Chain, ChainList, add_link

    c_links, t_links = [L.Linear(n, n) for n in range(1, 7)], [nn.Linear(n, n) for n in range(1, 7)]
    for links, make in ((c_links, chainer.ChainList), (t_links, ChainList)):
        net = make(*links[:3])
        net.append(links[3])
        net.extend(links[4:5])
        net.insert(1, links[5])
        assert [links.index(x) for x in net] == [0, 5, 1, 2, 3, 4]
        assert net.pop() is links[4] and net.pop(0) is links[0]
        net.remove(links[2])
        net.reverse()
        assert [links.index(x) for x in net] == [3, 1, 5] and net[0:2] == [links[3], links[1]] and net[-1] is links[5]
        assert net.index(links[1]) == 1 and net.count(links[0]) == 0 and len(net) == 3
        net[0] = links[0]
        del net[1]
        net.add_link(links[1])
        assert [links.index(x) for x in net] == [0, 5, 1]
        for bad in (lambda: net.remove(links[2]), lambda: net.index(links[2])):  # noqa: B023
            with pytest.raises(ValueError):
                bad()
        with pytest.raises(IndexError):
            net.pop(9)
    for make, link in ((chainer.Chain, c_links[0]), (Chain, t_links[0])):
        chain = make(a=link)
        assert chain["a"] is link is chain.a
        with pytest.raises((KeyError, AttributeError)):
            chain["b"]
    with pytest.raises(AttributeError):
        add_link(chain, "a", t_links[1])
    with pytest.raises(TypeError):
        add_link(chain, "c", 1)
    check_link(lambda: _run_both(chainer.ChainList, L.Linear), lambda: _run_both(ChainList, nn.Linear), ["f32[2,3]"])


def _run_both(base, linear):
    class Net(base):
        def __init__(self):
            super().__init__(linear(3, 3), linear(3, 2))

        def forward(self, x):
            return self[1](self[0](x))

    return Net()


TIED = """
    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.embed = L.EmbedID(5, 5)
                self.first = L.Linear(5, 5)
                self.second = self.first
                self.out = L.Linear(5, 5)
            self.out.W = self.embed.W
            self.layers = [self.first, self.second]

        def forward(self, x):
            h = self.embed(x)
            for layer in self.layers:
                h = layer(h)
            return self.out(h)

    def train(mode):
        model = Net()
        for i, (_, p) in enumerate(sorted(model.namedparams())):
            p.array[...] = np.random.RandomState(i).uniform(-1, 1, p.shape)
        model = model.copy(mode)
        facts = [model.first is model.second, model.out.W is model.embed.W, model.layers[0] is model.first]
        optimizer = chainer.optimizers.Adam(0.1)
        optimizer.setup(model)
        x = np.array([1, 2, 3], 'i')
        for _ in range(3):
            loss = F.sum(model(x) ** 2)
            model.cleargrads()
            loss.backward()
            optimizer.update()
            facts.append(float(loss.array))
        return facts, {name: np.array(p.array) for name, p in model.namedparams()}
"""


@pytest.mark.parametrize("mode", ["copy", "share"])
def test_copies_share_nothing_between_their_children(mode):
    original, migrated = both(TIED)
    (facts, params), (facts2, params2) = original["train"](mode), migrated["train"](mode)
    assert facts[:3] == facts2[:3] == [False, False, False]
    np.testing.assert_allclose(facts2[3:], facts[3:], rtol=1e-5)
    assert params.keys() == params2.keys()
    for name, value in params.items():
        np.testing.assert_allclose(params2[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def test_copies_of_lists_share_what_is_no_child():
    class CList(chainer.ChainList):
        def __init__(self):
            super().__init__(L.Linear(2, 2))
            self.kept = [1]

    class TList(nn.ModuleList):
        def __init__(self):
            super().__init__([nn.Linear(2, 2)])
            self.kept = [1]

    for original, copied in ((link := CList(), link.copy("copy")), (module := TList(), T.copy_link(module, "copy"))):
        assert copied.kept is original.kept and copied[0] is not original[0]


def test_arrays_of_the_host_as_persistent_values(tmp_path):
    """What was no array when it was registered: torch.load, which takes no array of NumPy, reads it back as one."""

    class Scaler(nn.Module):
        def __init__(self, mean, scale):
            super().__init__()
            self.mean = self.scale = None
            P.register_persistent(self, "mean")
            P.register_persistent(self, "scale")
            self.mean, self.scale = mean, scale

    saved = Scaler(np.arange(3.0)[::-1], np.float32(0.5))
    torch.save(saved.state_dict(), tmp_path / "scaler.pt")
    for mean, kind in ((np.zeros(3), np.ndarray), (None, torch.Tensor)):
        loaded = Scaler(mean, 0.0)
        loaded.load_state_dict(torch.load(tmp_path / "scaler.pt"))
        assert isinstance(loaded.mean, kind) and loaded.mean.tolist() == [2, 1, 0] and loaded.scale == 0.5


class _Short(torch.nn.Linear):
    def reset_parameters(self):
        torch.nn.init.constant_(self.weight, 0.5)
        torch.nn.init.zeros_(self.bias)


class _Own(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))

    def reset_parameters(self):
        torch.nn.init.constant_(self.weight, 0.5)


def test_a_layer_on_one_of_torch_draws_its_values_again():
    layer = _Short(3, 2)
    torch.nn.init.ones_(layer.weight)
    assert T.copy_link(layer, "init").weight.tolist() == [[0.5] * 3] * 2
    with pytest.raises(ValueError, match="initializer of parameter weight"):
        T.copy_link(_Own(), "init")
