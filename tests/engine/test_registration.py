"""What is assigned outside of init_scope is neither trained nor saved in Chainer, whatever form the assignment has."""

import io

import numpy as np
import pytest
import torch

from chainer2torch.compat.serializers.serializers import load_npz
from chainer2torch.engine import Options, migrate_source
from tests.support import both_sides

_NET = """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(3, 2)
            self.replaced = L.Linear(3, 2)
        self.plain = [L.Linear(2, 2), L.Linear(2, 2)]
        self.table = {'a': L.Linear(2, 2)}
        self.pair = (L.Linear(2, 2), F.relu)
        self.out = L.Linear(2, 2)
        self.scale = chainer.Parameter(np.ones(2, 'f'))
        self.annotated: L.Linear = L.Linear(2, 2)
        setattr(self, 'named', L.Linear(2, 2))
        self.replaced = L.Linear(3, 4)
        self.later()

    def later(self):
        self.norm = L.BatchNormalization(2)

def build():
    net = Net()
    net.added = L.Linear(2, 2)
    with net.init_scope():
        net.joined = L.Linear(2, 2)
    return net

def registered():
    net = build()
    return sorted((name, p.shape) for name, p in net.namedparams()), sorted(name for name, _ in net.namedlinks())

def used():
    net = build()
    return [type(part).__name__ for part in (net.out, net.named, net.added, net.annotated, net.plain[1], net.norm)]
"""


def test_only_init_scope_registers():
    original, migrated = both_sides.both(_NET, left=["chainer.Link.__class__"])  # the names of their classes
    params, links = original["registered"]()
    ours, modules = migrated["registered"]()
    assert [(name, tuple(shape)) for name, shape in ours] == params
    assert modules == links
    assert {name.split("/")[1] for name, _ in params} == {"fc", "replaced", "joined"}
    assert len(migrated["used"]()) == len(original["used"]()) == 6
    assert not [name for name, _ in migrated["build"]().named_parameters() if name.split(".")[0] in ("out", "scale")]
    assert isinstance(migrated["build"]().scale, torch.nn.Parameter)


_TIED = """
class Output(chainer.Chain):
    def __init__(self, W, scale):
        super().__init__()
        self.W = W
        self.scale = scale
        self.own = scale

    def forward(self, x):
        return F.linear(x, self.W)

class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(3, 4)
            self.out = Output(self.embed.W, 2)

def names():
    return sorted(name for name, _ in Net().namedparams())

def tied():
    net = Net()
    return net.out.W is net.embed.W
"""


def test_a_parameter_of_another_link_stays_that_links():
    original, migrated = both_sides.both(_TIED)
    assert migrated["names"]() == original["names"]() == ["/embed/W"]
    assert migrated["tied"]() and original["tied"]()
    code = migrate_source("import chainer\nimport chainer.functions as F\nimport chainer.links as L\n" + _TIED).code
    assert "set_unregistered(self, 'W', W)" in code and "self.scale = scale" in code


def test_a_class_that_registers_in_its_own_way_is_left_to_do_so():
    code = migrate_source("""
import chainer
import chainer.links as L
class Base(chainer.Chain):
    def __setattr__(self, name, value):
        with self.init_scope():
            super().__setattr__(name, value)

class Net(Base):
    def __init__(self):
        super().__init__()
        self.a = L.Linear(2, 2)
        setattr(self, 'b', L.Linear(2, 2))
""").code
    assert "self.a = compat.Linear(2, 2)" in code and "set_unregistered" not in code


@pytest.mark.parametrize(
    "name, state",
    [
        ("__setattr__(self, name, value)", "review"),
        ("__getattr__(self, name)", "manual"),
        ("__getattribute__(self, name)", "manual"),
    ],
)
def test_own_access_to_attributes_is_shown_to_a_person(name, state):
    method = f"    def {name}:\n        pass\n\n"
    text = f"import chainer\nclass Net(chainer.Chain):\n{method}class Other:\n{method}"
    result = migrate_source(text)
    assert [s.state for s in result.sites if s.symbol.endswith(name.partition("(")[0])] == [state]
    assert result.code.count("C2T203)") == 1 and result.code.index("TODO") < result.code.index(name)


@pytest.mark.parametrize("line", ["self.a = self.b = L.Linear(2, 2)", "self.a, self.b = L.Linear(2, 2), L.Linear(1)"])
def test_other_forms_are_shown_to_a_person(line):
    head = "import chainer\nimport chainer.links as L\nclass Net(chainer.Chain):\n    def __init__(self):\n"
    result = migrate_source(f"{head}        super().__init__()\n        {line}\n")
    assert [s.symbol for s in result.sites if s.state == "review"] == ["self.a", "self.b"]
    scoped = migrate_source(f"{head}        super().__init__()\n        with self.init_scope():\n            {line}\n")
    assert not [s for s in scoped.sites if s.state == "review"]


@pytest.mark.parametrize("again, states", [("pass", []), ("self.build()", ["review"])])
def test_a_method_that_is_called_inside_the_scope(again, states):
    """What it assigns is registered in Chainer; where it is called elsewhere, too, a person must look."""
    result = migrate_source(f"""import chainer
import chainer.links as L

class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.build()
        {again}

    def build(self):
        self.fc = L.Linear(2, 2)
""")
    assert [s.state for s in result.sites if s.code == "C2T203"] == states
    assert "set_unregistered" not in result.code


def test_an_unknown_models_own_methods_are_seen():
    result = migrate_source("import chainer\n\ndef size(model):\n    return model.count_params()\n")
    assert [(s.symbol, s.state) for s in result.sites if s.symbol.startswith("?")] == [("?.count_params", "exact")]
    assert "compat.count_params_of(model)" in result.code


def test_what_a_scope_does_to_its_own_layers_stays():
    """Layers are filled where they are made if the scope shares, changes or hands on a parameter afterwards."""
    original, migrated = both_sides.both("""
        class Net(chainer.Chain):
            def __init__(self):
                super().__init__()
                with self.init_scope():
                    self.a = L.Convolution2D(3, 4, 1, initialW=1)
                    self.tied = L.Convolution2D(3, 4, 1)
                    self.tied.W = self.a.W
                    self.set = L.Convolution2D(3, 4, 1)
                    self.set.b.array[...] = 5
                    self.filled = L.Convolution2D(3, 2, 1)
                    self._fill()

            def _fill(self):
                self.filled.b.array[...] = 7

        def run():
            net = Net()
            values = [x.array.ravel().tolist() for x in (net.a.W, net.set.b, net.filled.b)]
            return net.tied.W is net.a.W, values
        """)
    assert migrated["run"]() == original["run"]() == (True, [[1.0] * 12, [5.0] * 4, [7.0] * 2])
    assert migrated["__code__"].count("compat.initialize(") == 4
    plain = both_sides.both("""
        class Net(chainer.Chain):
            def __init__(self):
                super().__init__()
                with self.init_scope():
                    self.n = 4
                    self.a = L.Convolution2D(3, self.n, 1)
                    self.add_param('p', (2,))
        """)[1]["__code__"]
    assert "compat.init_like_chainer(self)" in plain


def test_list_items_are_replaced():
    original, migrated = both_sides.both("""
        def run():
            links = chainer.ChainList(L.Linear(1, 1), L.Linear(2, 2))
            links[0] = L.Linear(5, 5)
            links[1:2] = [L.Linear(6, 6), L.Linear(7, 7)]
            del links[0]
            return [m.W.shape for m in links], [p for p, _ in links.namedparams()]
        """)
    assert [[tuple(s) for s in migrated["run"]()[0]], migrated["run"]()[1]] == [*map(list, original["run"]())]


def test_parts_of_recurrent_layers_are_marked():
    source = """import chainer
import chainer.links as L
r = L.NStepLSTM(2, 2, 3, 0.1)
print(r[0].w0)
for p in r.params():
    print(p)
"""
    result = migrate_source(source)
    left = {(s.line, s.state) for s in result.sites if s.line > 3 and s.state != "exact"}
    assert left >= {(4, "manual"), (5, "review")}
    assert "for p in compat.params(r):" in result.code


def test_layers_that_are_set_before_the_constructor_of_the_base():
    original, migrated = both_sides.both("""
        class Net(chainer.ChainList):
            def __init__(self):
                self.head = L.Linear(3, 2, initialW=1)
                self.tail = L.Linear(2, 1, initialW=2)
                super(Net, self).__init__(self.head, self.tail)

            def __call__(self, x):
                return self.tail(self.head(x))

        def run():
            net = Net()
            y = net(np.ones((1, 3), 'f'))
            return [name for name, _ in net.namedparams()], float(y.array[0, 0]), net[0] is net.head
        """)
    assert migrated["run"]() == original["run"]() == (["/0/W", "/0/b", "/1/W", "/1/b"], 12.0, True)


_NO_CHAIN = """
class Scaled(chainer.Link):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.inner = L.Linear(3, 3)
            self.factor = chainer.Parameter(2.0, (3,))

    def __call__(self, x):
        return self.inner(x) * F.broadcast_to(self.factor, x.shape)

class Norm(L.BatchNormalization):
    def __init__(self, size):
        super().__init__(size, use_gamma=False)
        with self.init_scope():
            self.gammas = L.EmbedID(4, size)

    def forward(self, x, c):
        return super().forward(x) * self.gammas(c)

class Cell(L.LSTM):
    def __init__(self):
        super().__init__(3, 3)
        with self.init_scope():
            self.out = L.Linear(3, 3)

    def forward(self, x):
        return self.out(super().forward(x))

class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.scaled = Scaled()
            self.norm = Norm(3)
            self.cell = Cell()

    def forward(self, x, c):
        return self.cell(self.scaled(self.norm(x, c)))

def seen():
    net = Net()
    return [path for path, _ in net.namedparams()], [path for path, _ in net.namedlinks()], net.count_params()

def deviation():
    return np.std(Norm(3000).gammas.W.array)
"""


def test_a_link_that_is_no_chain_registers_no_links():
    original, migrated = both_sides.both(_NO_CHAIN)
    assert original["seen"]() == migrated["seen"]()
    assert "/cell/out/W" in original["seen"]()[0] and "/norm/gammas/W" not in original["seen"]()[0]
    assert abs(float(migrated["deviation"]()) - 1) < 0.05, "such a layer starts from Chainer's values, too"
    x, c = np.random.RandomState(0).randn(5, 3).astype("f"), np.array([0, 3, 1, 1, 2], "i")
    net, ours = original["Net"](), migrated["Net"]()
    for link, module in ((net.scaled.inner, ours.scaled.inner), (net.norm.gammas, ours.norm.gammas)):
        for name, value in (("weight", link.W), ("bias", getattr(link, "b", None))):
            if value is not None:
                getattr(module, name).detach()[...] = torch.as_tensor(value.array)
    stored = io.BytesIO()
    original["chainer"].serializers.save_npz(stored, net)
    stored.seek(0)
    load_npz(stored, ours)
    theirs, result = net(x, c), ours(torch.as_tensor(x), torch.as_tensor(c))
    np.testing.assert_allclose(result.detach().numpy(), theirs.array, rtol=1e-4, atol=1e-5)


_PARAMETERS = """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        self.kept = []
        for i in range(2):
            p = chainer.Parameter(np.full((2,), i + 1, 'f'))
            self.kept.append(p)
            setattr(self, 'out%d' % i, p)
        for i, p in enumerate(self.kept):
            setattr(self, 'again%d' % i, p)
        with self.init_scope():
            for i in range(2):
                p = chainer.Parameter(np.ones(2, 'f'))
                setattr(self, 'in%d' % i, p)
        self.later()

    def later(self):
        p = chainer.Parameter(np.ones(2, 'f'))
        self.late = p

def registered():
    net = Net()
    return sorted(name for name, _ in net.namedparams()), float(net.out1.data.sum() + net.again1.data.sum())
"""


def test_parameters_by_computed_names():
    """A parameter that has a name before it becomes an attribute outside of `init_scope` is not trained either."""
    original, migrated = both_sides.both(_PARAMETERS)
    assert migrated["registered"]() == original["registered"]() == (["/in0", "/in1"], 8.0)


@pytest.mark.parametrize("style", ["native", "faithful"])
@pytest.mark.parametrize("put", ["links.append(chainer.Parameter(np.ones(2, 'f')))", "p = Own().w\nlinks.add_link(p)"])
def test_parameters_in_a_list_of_links_are_marked(put, style):
    """Chainer's list takes them, nn.ModuleList raises."""
    own = "class Own(chainer.Link):\n    def __init__(self):\n        super().__init__()\n"
    own += "        with self.init_scope():\n"
    own += "            self.w = chainer.Parameter(np.ones(2, 'f'))\n"
    source = f"import chainer\nimport numpy as np\n{own}links = chainer.ChainList()\n{put}\nlinks.append(Own())\n"
    sites = migrate_source(source, options=Options(style=style)).sites
    assert [site.line for site in sites if site.state == "manual"] == [
        source[: source.index("links.a")].count("\n") + 1
    ]
