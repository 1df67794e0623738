"""Code of Chainer's version 1: calls mean what they meant there, also where today's signature would take them, too."""

import ast
import sys
import textwrap
import types
from unittest import mock

import chainer
import chainer.functions as F
import numpy as np
import pytest
import torch

from chainer2torch.analysis.eras import eras
from chainer2torch.analysis.source import Source
from chainer2torch.compat.links.link_tree import zerograds
from chainer2torch.compat.variable.modes import call_in_mode
from chainer2torch.compat.links.normalization_links import BatchNormalization, call_as_version_1
from chainer2torch.compat.optimizers.optimizer_hooks import GradientClipping, WeightDecay
from chainer2torch.compat.optimizers.optimizers import SGD
from chainer2torch.engine import Options, migrate_source, migrate_sources
from chainer2torch.rules.table import load_rules
from chainer2torch.vendor import compat_file

HEAD = "import chainer\nimport chainer.functions as F\nimport chainer.links as L\n"
V1 = "model = chainer.FunctionSet()\n"
LATER = "with model.init_scope():\n    pass\n"


def last(text: str, era: str = V1, options: Options | None = None) -> tuple[str, list[str]]:
    """The last line of what becomes of a source, and the states of its line's sites."""
    source = HEAD + era + text + "\n"
    result = migrate_source(source, options=options)
    assert result.error is None
    line = source.count("\n")
    return result.code.rstrip().splitlines()[-1], [s.state for s in result.sites if s.line == line]


@pytest.mark.parametrize(
    "before, after, state",
    [
        ("y = F.dropout(x, 0.3, train)", "y = F.dropout(x, p=0.3, training=train)", "exact"),
        ("y = F.dropout(x, train=train)", "y = F.dropout(x, training=train)", "exact"),
        ("y = F.dropout(x, train=0)", "y = F.dropout(x, training=False)", "exact"),  # PyTorch takes truth values only
        ("n = len(x)\ny = F.dropout(x, train=n)", "y = F.dropout(x, training=bool(n))", "exact"),
        ("n = None\ny = F.dropout(x, train=n)", "y = F.dropout(x, training=bool(n))", "exact"),
        # it drops in every mode
        ("y = F.dropout(x, 0.3)", "y = F.dropout(x, p=0.3, training=True)", "exact"),
        ("y = F.dropout(x)", "y = F.dropout(x, training=True)", "exact"),
        ("y = F.relu(x, False)", "y = F.relu(x)", "exact"),
        ("y = F.softmax(x, use_cudnn=False)", "y = F.softmax(x, dim=1)", "exact"),
        ("y = F.softmax(x, False)", "y = F.softmax(x, dim=1)", "exact"),
        ("y = F.max_pooling_2d(x, 2, 2, 0, True, True)", "y = F.max_pool2d(x, 2, stride=2, ceil_mode=True)", "exact"),
        (
            "y = F.softmax_cross_entropy(x, t, False, False)",
            "y = compat.softmax_cross_entropy(x, t, normalize=False)",
            "exact",
        ),
        ("l = L.Linear(3, 4, bias=0.1)", "l = compat.Linear(3, 4, initial_bias=0.1)", "exact"),
        ("l = L.Linear(3, 4, w)", "l = compat.Linear(3, 4, initialW=compat.LeCunNormal(scale=w))", "review"),
        ("l = F.Linear(3, 4)", "l = compat.Linear(3, 4)", "exact"),
        (
            "l = L.Convolution2D(3, 4, 5, 1, 2, w)",
            "l = compat.Convolution2D(3, 4, 5, pad=2, initialW=compat.LeCunNormal(scale=w))",
            "review",
        ),
        ("l = L.Convolution2D(3, 4, 5, use_cudnn=False)", "l = compat.initialize(nn.Conv2d(3, 4, 5))", "exact"),
        ("l = L.Convolution2D(3, 4, 5, use_cudnn=int('1'))", "l = compat.initialize(nn.Conv2d(3, 4, 5))", "exact"),
        (
            "l = L.Deconvolution2D(3, 4, 5, 2, 1, 2, 0.5)",
            "l = compat.Deconvolution2D(3, 4, 5, stride=2, pad=1, initialW=compat.LeCunNormal(scale=2), initial_bias=0.5)",  # noqa: E501
            "review",
        ),
        (
            "l = L.Deconvolution2D(3, 4, 5, 2, 1, 1, 0.5)",
            "l = compat.initialize(nn.ConvTranspose2d(3, 4, 5, stride=2, padding=1), b=0.5)",
            "exact",
        ),
        ("v = chainer.Variable(x, volatile=flag)", "v = compat.volatile_variable(x, flag)", "exact"),
        ("v = chainer.Variable(x, volatile=True)", "v = compat.volatile_variable(x, True)", "exact"),
    ],
)
def test_the_words_of_version_1(before, after, state):
    line, states = last(before)
    assert line.replace("torch.nn.functional.", "F.").replace("nn.functional.", "F.") == after
    assert states[0] == state


@pytest.mark.parametrize("call", ["L.Convolution2D(3, 4, 5, 1, 2, w)", "L.Linear(3, 4, w)"])
def test_a_place_that_has_changed_its_meaning(call):
    assert "LeCunNormal(scale=w)" in last(f"l = {call}")[0]
    later = last(f"l = {call}", era=LATER)[0]
    assert "bias=not w" in later or later == f"l = {call}".replace("L.", "compat.")
    line, states = last(f"l = {call}", era="")
    assert states == ["manual"] and line == f"l = {call}"
    # the option says what the words do not
    assert "LeCunNormal(scale=w)" in last(f"l = {call}", era="", options=Options(chainer_version=1))[0]
    assert "LeCunNormal" not in last(f"l = {call}", era="", options=Options(chainer_version=4))[0]


@pytest.mark.parametrize(
    ("call", "minor", "spread", "state"),
    [  # numpy.std of many weights in Chainer 1.8.2 and 1.9.1, by their sources: wscale / sqrt(fan), sqrt(wscale / fan)
        ("L.Linear(100, 400, wscale=4)", 8, 0.4, "exact"),
        ("L.Linear(100, 400, wscale=4)", 9, 0.2, "exact"),
        ("L.Linear(100, 400, wscale=4)", None, 0.4, "review"),
        ("L.Convolution2D(4, 400, 5, wscale=9)", 8, 0.9, "exact"),
        ("L.Convolution2D(4, 400, 5, wscale=9)", 24, 0.3, "exact"),
        ("L.Deconvolution2D(400, 4, 5, wscale=9)", 9, 0.3, "exact"),
        ("L.Deconvolution2D(400, 4, 5, wscale=9)", 8, None, "review"),
        ("L.MLPConvolution2D(4, (400, 3), 5, wscale=9)[0]", 8, 0.9, "exact"),
        ("L.MLPConvolution2D(4, (400, 3), 5, wscale=9)[0]", 24, 0.3, "exact"),
        ("L.MLPConvolution2D(4, (400, 3), 5, wscale=9, conv_init=0)[0]", 24, 0, "review"),
        ("L.Linear(100, 400, wscale=4, initialW=np.full((400, 100), 3, 'f'))", 8, 0, "exact"),
        ("L.Linear(100, 400, wscale=4, initialW=np.full((400, 100), 3, 'f'))", 9, 0, "review"),
    ],
)
@pytest.mark.parametrize("style", ["native", "faithful"])
def test_first_weights_are_scaled_as_the_minor_version_did(call, minor, spread, state, style):
    source = f"import chainer.links as L\nimport numpy as np\nl = {call}\n"
    chosen = Options(chainer_version=1, chainer_minor=minor, style=style)
    result = migrate_source(source, options=chosen)
    assert [site.state for site in result.sites if site.symbol.startswith("chainer.links")] == [state]
    if spread is not None:
        text = compat_file.build(result.helpers, style=style) if result.helpers else ""
        compat = types.ModuleType("chainer_compat")
        exec(compile(text, "chainer_compat.py", "exec"), vars(compat))
        with mock.patch.dict(sys.modules, chainer_compat=compat):
            names = {}
            exec(result.code, names)
        assert float(names["l"].weight.detach().std()) == pytest.approx(spread, rel=0.03)


SCALED = """\
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__(
            fc=L.Linear(100, 400, wscale=4), up=L.Deconvolution2D(3, 4, 5, wscale=4),
            conv=L.Convolution2D(3, 4, 5, wscale=4))


def run(x):
    v = chainer.Variable(x, volatile=True)
    BODY
"""


@pytest.mark.parametrize("style", ["native", "faithful"])
@pytest.mark.parametrize(
    ("body", "is_later"),
    [
        ("return F.sum(v)", False),
        ("return F.expand_dims(v, 0)", False),
        ("model = Net()\n    model.zerograds()\n    return model", False),
        ("return F.maximum(v, v)", True),
        ("model = Net()\n    model.cleargrads()\n    return model", True),
        ("return chainer.iterators.SerialIterator(x, 3)", True),
        ("import chainer.training.extensions as e\n    return e.LogReport()", True),
        ("chainer.report({'loss': v})", True),
        ("return chainer.initializers.HeNormal()", True),
    ],
)
def test_a_program_that_uses_what_came_with_1_9_is_no_older(body, is_later, style):
    result = migrate_source(SCALED.replace("BODY", body), options=Options(style=style))
    states = [s.state for s in result.sites if s.symbol in ("chainer.links.Linear", "chainer.links.Deconvolution2D")]
    assert states == ["exact" if is_later else "review"] * 2
    assert ("math.sqrt(4)" in result.code) is is_later
    assert result.code.count("C2T200") == (0 if is_later else 1)  # one question, of three kinds of layers


def test_another_file_of_the_program_says_it_too():
    run = "import net\nfrom chainer import training\nupdater = training.StandardUpdater\nmodel = net.Net()\n"
    texts = {
        "net.py": SCALED.replace("BODY", "return v"),
        "run.py": run,
        "apart.py": SCALED.replace("BODY", "return v"),
    }
    results = migrate_sources(texts)
    assert "TODO" not in results["net.py"].code and "chainer-version" in results["apart.py"].code


@pytest.mark.parametrize("era", ["", V1, LATER])
def test_literals_say_it_in_any_file(era):
    assert "LeCunNormal(scale=1.4)" in last("l = L.Convolution2D(3, 4, 5, 1, 2, 1.4)", era)[0]
    assert (
        "bias=False" in last("l = L.Convolution2D(3, 4, 5, 1, 2, True)", era)[0]
        or "nobias=True" in last("l = L.Convolution2D(3, 4, 5, 1, 2, True)", era)[0]
    )
    assert "dim=2" in last("y = F.softmax(x, 2)", era)[0]
    assert "dim=1" in last("y = F.softmax(x, True)", era)[0]


def test_the_era_of_a_project_is_that_of_its_files():
    from chainer2torch.analysis.eras import eras
    from chainer2torch.analysis.source import Source

    first, later, plain = "x = Variable(x, volatile=True)\n", "with self.init_scope(): pass\n", "L.Linear(3, 4, w)"

    def of(**texts):
        return eras({path: Source(text, ast.parse(text)) for path, text in texts.items()})

    assert of(a=first, b=plain) == {"a": 1, "b": 1}
    assert of(a=later, b=plain) == {"a": 2, "b": 2}
    assert of(a=first, b=later, c=plain) == {"a": 1, "b": 2, "c": None}
    assert of(a=first + later, b=first) == {"a": None, "b": 1}
    # words in strings and comments say nothing
    assert of(a="x = f'{volatile} volatile'  # 'volatile' wscale\n" + later, b=plain) == {"a": 2, "b": 2}
    assert of(a="'#'; chainer . config\n", b='"#"; volatile = 1\n') == {"a": 2, "b": 1}


@pytest.mark.parametrize(
    "call, after",
    [
        ("self.bn(x, test=test)", "compat.call_in_mode(self.bn, not test, x)"),
        ("self.bn(x, test=False)", "compat.call_in_mode(self.bn, True, x)"),
        ("self.bn(x, test)", "compat.call_in_mode(self.bn, not test, x)"),
        ("self.bn(x, test=True, finetune=False)", "compat.call_in_mode(self.bn, False, x, finetune=False)"),
        ("self.bn(self.fc(x), test=not train)", "compat.call_in_mode(self.bn, train, self.fc(x))"),
    ],
)
def test_the_mode_that_a_call_passes(call, after):
    source = HEAD + (
        "class Net(chainer.Chain):\n    def __init__(self):\n        super(Net, self).__init__(\n"
        "            bn=L.BatchNormalization(4), fc=L.Linear(3, 4))\n"
        "    def __call__(self, x, test=False, train=True):\n"
        f"        return {call}\n    def volatile(self):\n        pass\n"
    )
    result = migrate_source(source)
    assert f"return {after}\n" in result.code


def test_call_in_mode_is_chainers_mode():
    x = np.random.RandomState(0).randn(8, 3).astype("f")
    ours, theirs = BatchNormalization(3), chainer.links.BatchNormalization(3)
    for train in (True, False, True):
        for mode in (True, False):  # whatever mode the module is in
            ours.train(mode)
            with chainer.using_config("train", train):
                expected = theirs(x).array
            np.testing.assert_allclose(
                call_in_mode(ours, train, torch.tensor(x)).detach(), expected, rtol=1e-5, atol=1e-6
            )
            assert ours.training is mode
    np.testing.assert_allclose(ours.running_mean, theirs.avg_mean, rtol=1e-5)


def test_dropout_in_the_mode_it_is_told():
    x = np.ones((200, 50), "f")
    for train in (True, False):
        with chainer.using_config("train", train):
            expected = F.dropout(x, 0.3).array
        got = torch.nn.functional.dropout(torch.tensor(x), p=0.3, training=train).numpy()
        assert sorted(set(got.ravel().tolist())) == pytest.approx(sorted(set(expected.ravel().tolist())))
        assert abs((got == 0).mean() - (expected == 0).mean()) < 0.03


def test_methods_that_optimizers_had():
    text = "opt = chainer.optimizers.SGD(0.1)\nopt.setup(model)\nopt.zero_grads()\n{}"
    code = migrate_source(HEAD + V1 + text.format("opt.clip_grads(2)\nopt.weight_decay(0.5)\n")).code
    assert "compat.zerograds(opt.target)" in code
    assert "opt.call_hook(compat.GradientClipping(2))" in code and "opt.call_hook(compat.WeightDecay(0.5))" in code
    model = torch.nn.Linear(2, 2)
    opt = SGD(lr=0.1)
    opt.setup(model)
    link = chainer.links.Linear(2, 2)
    link.W.array[...], link.b.array[...] = model.weight.detach().numpy(), model.bias.detach().numpy()
    theirs = chainer.optimizers.SGD(0.1)
    theirs.setup(link)
    for ours_p, theirs_p in ((model.weight, link.W), (model.bias, link.b)):
        ours_p.grad = torch.full_like(ours_p, 3.0)
        theirs_p.grad = np.full_like(theirs_p.array, 3.0)
    opt.call_hook(GradientClipping(2))
    chainer.optimizer_hooks.GradientClipping(2)(theirs)
    opt.call_hook(WeightDecay(0.5))
    theirs.call_hook(chainer.optimizer_hooks.WeightDecay(0.5))
    np.testing.assert_allclose(model.weight.grad, link.W.grad, rtol=1e-5)
    zerograds(opt.target)
    assert float(model.weight.grad.abs().sum()) == 0


def test_old_rows_belong_to_rows_of_today():
    rules = load_rules()
    assert rules.old and rules.old.keys() <= rules.rows.keys()
    for name, row in rules.old.items():
        assert row.signature is not None and set(row.ignores) | set(row.renames) <= row.signature.names
        kept = {row.renames.get(p, p) for p in row.signature.names - set(row.ignores)}
        today = rules.rows[name].signature
        assert today is not None and (row.cases or kept <= today.names), name


@pytest.mark.parametrize(
    "talk",
    [
        "# volatile is gone",
        "'FunctionSet'",
        '"""wscale, volatile and clip_grads"""',
        "print('use_cudnn=True', f'{1} zero_grads')",
    ],
)
def test_what_comments_and_strings_say_is_no_sign_of_version_1(talk):
    result = migrate_source(f"{HEAD}{talk}\nl = L.LSTM(3, 4)\n")
    assert "l = compat.LSTM(3, 4)\n" in result.code


def test_what_comments_say_is_no_sign_of_a_later_version():
    text = f"{HEAD}# chainer.config and init_scope come later\nv = F.relu(x, use_cudnn=False)\nl = L.LSTM(3, 4)\n"
    assert "forget_bias_init=0" in migrate_source(text).code


def test_a_doubt_about_the_version_outlives_the_words_that_raised_it():
    """What a first run rewrites takes the words of version 1 with it: the second must not know better."""
    from chainer2torch.engine import migrate_sources

    old = "import chainer\n\nx = chainer.Variable(0, volatile='on')\n"
    new = "import chainer\n\n\ndef f(c):\n    with c.init_scope():\n        pass\n"
    doubtful = "import chainer.functions as F\n\n\ndef f(h):\n    return F.spatial_pyramid_pooling_2d(h, 3, kind())\n"
    first = migrate_sources({"a.py": old, "b.py": new, "c.py": doubtful})
    assert "version 1 of Chainer" in first["c.py"].code
    again = migrate_sources({path: result.code for path, result in first.items()})
    assert again["c.py"].code == first["c.py"].code


def test_what_optimizers_of_version_1_were_given():
    text = (
        "import chainer\nfrom chainer import FunctionSet, optimizers\nimport chainer.functions as F\n\n"
        "model = FunctionSet(l1=F.Linear(3, 2))\noptimizer = optimizers.SGD()\n"
        "optimizer.setup(model.collect_parameters())\nmodel.copy_parameters_from([])\noptimizer.prepare()\n"
        "params, grads = model.collect_parameters()\n"
    )
    result = migrate_source(text)
    assert "optimizer.setup(model)" in result.code
    assert [s.symbol for s in result.sites if s.state == "manual"] == [
        "chainer.Link.copy_parameters_from",
        "chainer.GradientMethod.prepare",
        "chainer.Link.collect_parameters",
    ]


def test_an_evaluator_of_ones_own_knows_its_model() -> None:
    """The test mode of version 1: the attribute `train` of the model has another name, wherever it is set."""
    code = migrate_source(
        textwrap.dedent("""
        import chainer
        import chainer.links as L
        from chainer.training import extensions


        class Net(chainer.Chain):
            def __init__(self):
                super(Net, self).__init__(fc=L.Linear(3, 2))
                self.train = True

            def __call__(self, x):
                return self.fc(x) if self.train else x


        class TestMode(extensions.Evaluator):
            def evaluate(self):
                model = self.get_target('main')
                model.predictor.train = False
                result = super(TestMode, self).evaluate()
                model.predictor.train = True
                return result


        class Own(extensions.Evaluator):
            def __init__(self, iterator, net):
                super(Own, self).__init__(iterator, {'main': L.Classifier(net), 'net': net})

            def evaluate(self):
                self.get_target('net').train = False
                return super(Own, self).evaluate()


        def main(it):
            model = L.Classifier(Net())
            return TestMode(it, model), Own(it, model.predictor)
    """)
    ).code
    assert "model.predictor.train_ = False" in code and "model.predictor.train_ = True" in code
    assert "self.get_target('net').train_ = False" in code and "TODO" not in code


def test_call_as_version_1():
    class Own(torch.nn.Module):
        def forward(self, x, test=False, **more):
            return x, test, more

    class Plain(torch.nn.Module):
        def forward(self, x, second=None):
            return x, second, self.training

    class Called(Own):
        def __init__(self):
            super().__init__()
            self.forward = []

        def __call__(self, x, test):
            return x, test

    assert call_as_version_1(Called(), 1, test=True) == call_as_version_1(Called(), 1, True) == (1, True)
    assert call_as_version_1(Own(), 1, test=True, train=2) == (1, True, {"train": 2})
    assert call_as_version_1(Own(), 1, True) == (1, True, {})
    assert call_as_version_1(Plain(), 1, 2) == (1, 2, True)
    assert call_as_version_1(Plain(), 1, test=True) == (1, None, False)
    assert call_as_version_1(Plain(), 1, 2, train=False) == (1, 2, False)
    assert call_as_version_1(lambda x, test: (x, test), 1, test=3) == (1, 3)
    x = torch.randn(4, 3)
    for layer in (torch.nn.BatchNorm1d(3), BatchNormalization(3)):
        test = call_as_version_1(layer, x, True)
        np.testing.assert_allclose(test.detach(), x, rtol=1e-3)
        train = call_as_version_1(layer, x, False)
        np.testing.assert_allclose(train.detach().mean(0), 0, atol=1e-5)


def test_init_weight_fills_arrays_of_links_of_version_1():
    text = """
import chainer
from chainer import initializers, link


class Scaled(link.Link):
    def __init__(self, n, wscale=1, initialW=None):
        super(Scaled, self).__init__(W=(n, n))
        initializers.init_weight(self.W.data, initialW, scale=wscale)
        initializers.init_weight(self.W.data, 0)

    def __call__(self, x):
        return x * self.W
"""
    code = migrate_source(text).code
    assert "compat.init_weight(self.W.detach(), initialW, scale=wscale)" in code, code
    assert "compat.init_weight(self.W.detach(), 0)" in code and "import initializers" not in code, code


WEAK = "chainer.cuda.get_device_from_id(0).use()\nw = chainer.initializers.Normal(0.1)\n"


@pytest.mark.parametrize(
    ("text", "era"),
    [
        (WEAK, 2),
        (WEAK + "y = F.dropout(F.relu(l(x)), train=train)\n", 1),
        (WEAK + "v = chainer.Variable(x, volatile='on')\n", 1),
        (WEAK + "l = L.Linear(3, 4, wscale=2)\n", 1),
        (WEAK + "f = chainer.FunctionSet(l=l)\n", 1),
        ("y = F.dropout(x, train=train)\n", 1),
        ("y = F.dropout(x)\n", None),
        # said of the file's own functions, or left over: later versions take it
        (WEAK + "b = batches(x, volatile='on')\n", None),
        (WEAK + "m.volatile = True\n", None),
        (WEAK + "g = Generator(wscale=2)\n", None),
        ("with chainer.using_config('train', False):\n    y = F.dropout(x, train=train)\n", None),
    ],
)
def test_what_only_version_1_takes_counts_more_than_what_its_last_releases_had_as_well(text, era):
    source = Source(HEAD + text, ast.parse(HEAD + text))
    assert eras({"a.py": source}) == {"a.py": era}


def test_a_program_of_1_24_starts_its_forget_gate_as_it_did():
    text = (
        WEAK
        + "class Net(chainer.Chain):\n    def __init__(self, train=True):\n"
        + "        super(Net, self).__init__(l1=L.LSTM(3, 3))\n        self.mode = train\n\n"
        + "    def __call__(self, x):\n        return self.l1(F.dropout(x, train=self.mode))\n"
    )
    assert "bias_init=0, forget_bias_init=0" in migrate_source(HEAD + text).code


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_whether_a_link_is_on_the_cpu(style):
    """``_cpu``, which links had up to version 5; a class of the project may have one of its own."""
    source = (
        f"{HEAD}class Net(chainer.Chain):\n    def __init__(self):\n        super().__init__()\n"
        "        with self.init_scope():\n            self.l = L.Linear(2, 2)\n\n"
        "    def where(self):\n        return self._cpu, not self.l._cpu\n\n"
        "class Bare(chainer.Chain):\n    def where(self):\n        return self._cpu\n\n"
        "class Own(chainer.Chain):\n    def __init__(self):\n        super().__init__()\n        self._cpu = 3\n\n"
        "    def where(self):\n        return self._cpu\n"
    )
    result = migrate_source(source, options=Options(style=style))
    assert {site.state for site in result.sites} == {"exact"}
    module = types.ModuleType("chainer_compat")
    exec(compat_file.build(result.helpers, style=style), module.__dict__)
    namespace: dict = {}
    with mock.patch.dict(sys.modules, chainer_compat=module):
        exec(result.code, namespace)
        found = [namespace[name]().where() for name in ("Net", "Bare", "Own")]
    assert found == [(True, False), True, 3]
