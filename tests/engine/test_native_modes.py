"""The native style: ``model.eval()`` reaches every dropout, also in functions that belong to no module."""

import importlib.util
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import torch

from chainer2torch.engine import FileResult, migrate_source, migrate_sources
from chainer2torch.plan.options import Options
from chainer2torch.vendor import compat_file
from tests.support import native_programs

HEAD = "import chainer\nimport chainer.functions as F\nimport chainer.links as L\n"
MODEL = """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.EmbedID(3, 4)

    def forward(self, x):
        return {call}
"""


def native(body: str) -> FileResult:
    result = migrate_source(HEAD + textwrap.dedent(body), options=Options(style="native"))
    assert result.error is None
    return result


def lines(body: str) -> list[str]:
    return [line.strip() for line in native(body).code.splitlines()]


def loaded(result: FileResult, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The migrated module, with its helpers beside it."""
    (folder / "program.py").write_text(result.code, encoding="utf-8")
    (folder / "chainer_compat.py").write_text(compat_file.build(result.helpers, style="native"), encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "chainer_compat", raising=False)
    spec = importlib.util.spec_from_file_location("program", folder / "program.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.delitem(sys.modules, "chainer_compat", raising=False)
    return module


THROUGH = "def inner(x):\n    return F.dropout(x, 0.9)\n\ndef drop(x):\n    return inner(x) * 1.0\n" + MODEL.format(
    call="drop(self.l(x))"
)


def test_the_flag_of_the_module_is_handed_on() -> None:
    found = lines(THROUGH)
    assert "def inner(x, training=True):" in found and "def drop(x, training=True):" in found
    assert "return F.dropout(x, p=0.9, training=training)" in found
    assert "return inner(x, training=training) * 1.0" in found
    assert "return drop(self.l(x), training=self.training)" in found


def test_eval_silences_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    net = loaded(native(THROUGH), tmp_path, monkeypatch).Net()
    x = torch.ones(5, dtype=torch.int64)
    assert (net(x) == 0).any(), "it drops in train mode"
    net.eval()
    assert not (net(x) == 0).any()
    assert torch.equal(net(x), net(x)) and torch.equal(net(x), net.l(x))


EVALUATE = """
def evaluate(model, x):
    with chainer.using_config('train', False):
        return noise(model(x))

def noise(x):
    if chainer.config.train:
        return F.dropout(x, 0.9)
    return x
"""


def test_a_block_hands_its_own_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = native(THROUGH + EVALUATE + "\nevaluate(Net(), 0)\n")
    plain = "    model.eval()\n    result = noise(model(x), training=False)\n    model.train()\n    return result\n"
    assert plain in result.code
    program = loaded(native(THROUGH + EVALUATE), tmp_path, monkeypatch)
    net, x = program.Net(), torch.ones(5, dtype=torch.int64)
    assert torch.equal(program.evaluate(net, x), net.l(x)) and net.training
    assert (program.noise(x.float()) == 0).any(), "by itself it is in train mode, as in Chainer"


def test_what_only_trains_needs_no_argument() -> None:
    found = lines("def drop(x):\n    return F.dropout(x)\n\ndef main(x):\n    return drop(x)\n\nmain(1)\n")
    assert "def drop(x):" in found and "return F.dropout(x, training=True)" in found


@pytest.mark.parametrize(
    "use",
    [
        "table = {'drop': drop}\n",
        "import functools\ntable = functools.partial(drop, 1)\n",
        "def twice(f):\n    return f\ntwice(drop)\n",
    ],
)
def test_a_function_that_is_a_value_is_left_to_a_person(use: str) -> None:
    result = native("def drop(x):\n    return F.dropout(x)\n" + MODEL.format(call="drop(self.l(x))") + use)
    site = next(site for site in result.sites if site.symbol == "chainer.functions.dropout")
    assert site.state == "review" and "does not reach this" in site.message


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        ("x, *rest", "def drop(x, *rest, training=True):"),
        ("x, **more", "def drop(x, training=True, **more):"),
        ("x, *, ratio=0.5", "def drop(x, *, ratio=0.5, training=True):"),
    ],
)
def test_every_signature_takes_it(signature: str, expected: str) -> None:
    found = lines(f"def drop({signature}):\n    return F.dropout(x)\n" + MODEL.format(call="drop(self.l(x))"))
    assert expected in found and "return drop(self.l(x), training=self.training)" in found


def test_arguments_keep_their_layout() -> None:
    body = "def drop(x,\n         ratio=0.5):\n    return F.dropout(x, ratio)\n" + MODEL.format(
        call="drop(\n            self.l(x),\n            0.3,\n        )"
    )
    code = native(body).code
    assert "def drop(x,\n         ratio=0.5,\n         training=True):" in code
    assert "            0.3,\n            training=self.training,\n        )" in code


def test_a_link_in_a_list_needs_the_switch_of_all_modules() -> None:
    held = "class Holder(chainer.Chain):\n    def __init__(self):\n        super().__init__()\n"
    held += "        self.all = [Net()]\n"
    body = MODEL.format(call="F.dropout(self.l(x))") + held + "\ndef run(model, x):\n"
    body += "    with chainer.using_config('train', False):\n        return model(x)\n\nrun(Holder(), 1)\n"
    assert "compat.eval_mode(model)" in native(body).code


def test_a_switch_for_good_stays_the_threads() -> None:
    found = lines("chainer.config.train = False\ndef drop(x):\n    return F.dropout(x)\n")
    assert "return F.dropout(x, training=compat.is_training())" in found


def test_a_block_under_a_switch_for_good_sets_the_threads_mode_too(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    body = "def drop(x):\n    return F.dropout(x, 0.9)\n" + MODEL.format(call="drop(self.l(x))")
    body += "\ndef run(x):\n    model = Net()\n    with chainer.using_config('train', False):\n        y = model(x)\n"
    body += "    chainer.config.train = True\n    return y, model.l(x)\n"
    assert "model.train(was_training)" in native(body).code and "train = True" not in native(body).code
    dropped, plain = loaded(native(body), tmp_path, monkeypatch).run(torch.arange(3))
    assert torch.equal(dropped, plain)
    both = native(body + "\ndef stop():\n    chainer.config.train = False\n")
    assert "compat.eval_mode(model)" in both.code
    dropped, plain = loaded(both, tmp_path, monkeypatch).run(torch.arange(3))
    assert torch.equal(dropped, plain)


def test_a_mode_that_is_set_for_good_once_reaches_every_module_and_the_functions_they_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "def drop(x):\n    return F.dropout(x, 0.9)\n" + MODEL.format(call="F.dropout(drop(self.l(x)))")
    body += "\ndef run(x):\n    early = Net()\n    chainer.config.train = False\n    late = Net()\n"
    body += "    late.l = early.l\n    return early(x), late(x), early.l(x)\n"
    result = native(body)
    assert "compat.evaluate_from_here(early)" in result.code and "training=training" in result.code
    assert not {"using_train", "is_training", "set_train"} & set(result.helpers)
    hooks = torch.nn.modules.module._global_forward_pre_hooks
    before = dict(hooks)
    try:
        early, late, plain = loaded(result, tmp_path, monkeypatch).run(torch.arange(3))
    finally:
        hooks.clear()
        hooks.update(before)
    assert torch.equal(early, plain) and torch.equal(late, plain)


HOLDER = """
class Holder(chainer.Chain):
    def __init__(self):
        super().__init__()
        links = [('a', Net()), ('b', Net())]
        {added}
        self.all = links

    def forward(self, x):
        return self.all[0][1](x)

def run(model, x):
    with chainer.using_config('train', False):
        return model(x)

run(Holder(), 1)
"""


@pytest.mark.parametrize(
    ("added", "helper"),
    [
        ("for link in links: self.add_link(*link)", "model.eval()"),
        ("for name, link in links: self.add_link(name, link)", "model.eval()"),
        ("for name, link in links: setattr(self, name, link)", "with compat.eval_mode(model):"),
        (
            "with self.init_scope():\n            for name, link in links:\n                setattr(self, name, link)",
            "model.eval()",
        ),
        ("self.add_link(*links[0])", "with compat.eval_mode(model):"),
        ("pass", "with compat.eval_mode(model):"),
    ],
)
def test_links_in_a_list_that_are_registered_too_are_reached(
    added: str, helper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = native(MODEL.format(call="F.dropout(self.l(x))") + HOLDER.format(added=added))
    assert f"    {helper}\n" in result.code
    if helper == "model.eval()":
        program = loaded(native(result.source[len(HEAD) :].replace("run(Holder(), 1)", "")), tmp_path, monkeypatch)
        model, x = program.Holder(), torch.arange(3)
        assert torch.equal(program.run(model, x), model.all[0][1].l(x)) and model.all[0][1].training


def test_a_layer_without_modes_may_be_anywhere() -> None:
    body = MODEL.format(call="F.dropout(self.more[0](self.l(x)))").replace(
        "    def forward", "        self.more = [L.Linear(4, 4)]\n\n    def forward"
    )
    assert "model.eval()\n" in native(body + "\n" + RUN).code


RUN = "def run(model, x):\n    with chainer.using_config('train', False):\n        return model(x)\n\nrun(Net(), 1)\n"
PLAIN = HEAD + MODEL.format(call="self.l(x)") + "\n" + RUN


@pytest.mark.parametrize(
    ("first", "helper"),
    [
        ("", "model.eval()"),
        ("from other import Holder\n", "with compat.eval_mode(model):"),
        ("import importlib\n", "with compat.eval_mode(model):"),
        ("import pkg.other\n", "model.eval()"),
    ],
)
def test_only_files_that_meet_decide_on_each_other(first: str, helper: str) -> None:
    other = HEAD + MODEL.format(call="self.l(x)") + "\nclass Holder(chainer.Chain):\n    def __init__(self):\n"
    other += "        super().__init__()\n        self.all = [Net()]\n"
    found = migrate_sources({"a.py": first + PLAIN, "other.py": other}, options=Options(style="native"))
    assert f"    {helper}\n" in found["a.py"].code


BY_NAME = """
class ByName(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l0 = chainer.links.Linear(3, 3)
            self.l1 = chainer.links.Linear(3, 3)
    def __call__(self, x):
        for i in range(2):
            x = getattr(self, 'l{}'.format(i))(x)
        return x

def run(model, x):
    with chainer.using_config('train', False):
        return model(x)

run(ByName(), 1)
"""


def test_a_child_that_is_asked_for_by_name_belongs_to_the_model() -> None:
    assert "model.eval()\n" in native(BY_NAME).code


@pytest.mark.parametrize(
    ("value", "call", "block"),
    [
        ("True", "model(x)", "def run(model, x, flag):\n    return model(x)\n"),
        ("flag", "model(x)", "    was_training = model.training\n    model.train(bool(flag))\n    try:\n"),
        ("not flag", "model(x)", "    model.train(not flag)\n"),
        ("flag", "model(x).found()", "with compat.in_mode(flag, model):"),
        ("False", "model(x).found()", "with compat.in_mode(False, model):"),
    ],
)
def test_what_is_called_gets_the_mode(value: str, call: str, block: str) -> None:
    body = MODEL.format(call="self.l(x)") + "\ndef run(model, x, flag):\n"
    body += f"    with chainer.using_config('train', {value}):\n        return {call}\n\nrun(Net(), 1, 0)\n"
    assert block in native(body).code


def test_that_an_array_module_is_no_network() -> None:
    source = """
import chainer

class Trainer:
    def __init__(self, net, xp):
        self.net, self.xp = net, xp

    def forward(self, batch):
        xp = self.xp
        return self.net(xp.asarray(batch))

    def evaluate(self, batch):
        with chainer.using_config('train', False):
            return self.forward(batch)
"""
    code = migrate_source(source, options=Options(style="native")).code
    assert "        self.net.eval()\n" in code and "xp.eval" not in code


IN_A_METHOD = """
class Net(chainer.Chain):
    def forward(self, x, train=True):
        def noisy(h):
            return F.dropout(h)

        with chainer.using_config('train', train):
            h = {call}
        return h
"""


@pytest.mark.parametrize("call", ["F.dropout(x)", "noisy(x)", "x if not chainer.config.train else x * 0"])
def test_a_block_in_a_method_switches_the_module_that_a_function_asks(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, x = loaded(native(IN_A_METHOD.format(call=call)), tmp_path, monkeypatch).Net(), torch.ones(50)
    assert (net(x) == 0).any() and torch.equal(net(x, train=False), x)
    net.eval()
    assert (net(x) == 0).any() and torch.equal(net(x, train=False), x) and not net.training


IN_A_LOOP = """
class Net(chainer.ChainList):
    def __init__(self):
        super().__init__(L.BatchNormalization(3), L.Linear(3, 3))

    def forward(self, x):
        for i, layer in enumerate({layers}):
            x = layer(x)
        return x

def run(model, x):
    with chainer.using_config('train', False):
        y = model(x)
    return y

others = [Net()]
run(Net(), 1)
"""


@pytest.mark.parametrize(
    ("layers", "reached"),
    [("self.children()", True), ("[layer for layer in self]", True), ("others", False), ("make()", False)],
)
def test_parts_that_a_method_takes_from_its_module_are_reached(layers: str, reached: bool) -> None:
    code = native(IN_A_LOOP.format(layers=layers)).code
    assert ("    model.eval()\n    y = model(x)\n    model.train()\n" in code) == reached
    assert ("with compat." in code) != reached


@pytest.mark.parametrize(
    ("head", "plain"),
    [
        ("@functools.wraps(f)\n    ", False),  # `f` is a method, whose modules are switched when they are called
        ("", True),  # `f` is most likely a model
    ],
)
def test_what_a_decorator_is_given_is_no_module(head, plain):
    text = (
        "import functools\nimport chainer\n\n\ndef testing(f):\n    "
        + head
        + "def wrapped(self, *args):\n        with chainer.using_config('train', False):\n"
        "            return f(self, *args)\n    return wrapped\n"
    )
    code = migrate_source(text, options=Options(style="native")).code
    assert ("f.eval()" in code) is plain, code
    assert ("in_mode(False)" in code) is not plain


VALUES = """
import functools

class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.EmbedID(3, 4)
        self.steps = [self.l, F.relu, F.dropout]
        self.also = {option}
        self.noise = lambda h: F.dropout(h, 0.4)

    def forward(self, x):
        for step in self.steps:
            x = step(x)
        return apply([F.dropout, self.also, self.noise], x)

def apply(functions, x):
    for function in functions:
        x = function(x)
    return x
"""


@pytest.mark.parametrize("option", ["F.dropout", "functools.partial(F.dropout, ratio=0.3)"])
@pytest.mark.parametrize("copied", [False, True])
def test_eval_silences_functions_that_are_passed_on(
    option: str, copied: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import copy

    net = loaded(native(VALUES.replace("{option}", option)), tmp_path, monkeypatch).Net()
    if copied:  # what is kept in lists goes along, and asks the copy
        first, net = net, copy.deepcopy(net)
        net.noise = first.noise = torch.relu
    x = torch.ones(5, 40, dtype=torch.int64)
    assert (net(x)[..., (net.l.weight[1] > 0)] == 0).any(), "it drops in train mode"
    net.eval()
    assert torch.equal(net(x), torch.relu(net.l(x)))


def test_where_a_lambda_still_asks_the_copied_module_that_is_said() -> None:
    result = native("import copy\n" + VALUES.replace("{option}", "copy.deepcopy(F.dropout)"))
    assert any(s.state == "review" and "still asks the first one" in s.message for s in result.sites)


OUTSIDE = [
    "def f(x, g=F.dropout):\n    return g(x)\n",
    "class A(chainer.Chain):\n    act = F.dropout\n",
    "ALL = {'drop': F.dropout, 'relu': F.relu}\n",
    "drop = lambda x: F.dropout(x, 0.2)\n",
    "def choose():\n    return F.dropout\n",
    "class A(chainer.Chain):\n    def forward(self, x, g=F.dropout):\n        return g(x)\n",
    "def f(x, g=F.rrelu):\n    return g(x)\n",
    "class A(chainer.Chain):\n    def forward(self, g):\n        h = F.dropout\n        return g is F.dropout or h\n",
    "def f(x):\n    with chainer.using_config('train', False):\n        return [g(x) for g in (F.relu, F.dropout)]\n",
    "class A(chainer.Chain):\n    def forward(self, x, g=F.dropout):\n        return x if g is F.dropout else g(x)\n",
]


@pytest.mark.parametrize("body", OUTSIDE)
def test_where_no_module_is_known_eval_does_not_reach_it_and_that_is_said(body: str) -> None:
    result = native(body)
    assert any(s.state == "review" and "does not reach this" in s.message for s in result.sites)
    assert "TODO" in result.code


def test_a_function_that_only_hands_values_on_takes_no_flag() -> None:
    assert "def apply(functions, x):" in lines(VALUES.replace("{option}", "F.relu"))


@pytest.mark.parametrize(
    "forward",
    [
        "return functools.reduce(lambda h, f: f(h), self.parts, x)",
        "def step(h, f):\n            return f(h)\n"
        "        for part in self.parts:\n            x = step(x, part)\n        return x",
        "apply = lambda f: f(x)\n        return apply(self.parts[0])",
    ],
)
def test_parameters_inside_of_a_method_are_no_modules_around_its_caller(forward: str) -> None:
    """What a lambda or a function calls by the name of its own parameter has no such name where the model is called."""
    result = native(f"""
import functools


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(3, 3)
        self.parts = [self.a, F.relu]

    def forward(self, x):
        {forward}


net = Net()
with chainer.using_config('train', False):
    net(np.ones((2, 3), 'f'))
""")
    assert "f.eval()" not in result.code and "in_mode(False, f" not in result.code, result.code


BUILT = """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        self.rate = 0.5 if chainer.config.train else 0.0
        with self.init_scope():
            self.l = L.Linear(3, 3)

    def forward(self, x):
        return self.l(x) * self.rate


def build():
    return Net()


"""


@pytest.mark.parametrize(
    ("run", "asked"),
    [
        ("net = build()\nwith chainer.using_config('train', False):\n    net(np.ones((2, 3), 'f'))\n", False),
        ("with chainer.using_config('train', False):\n    net = build()\n", True),
        ("with chainer.using_config('train', False):\n    net = Net()\n", True),
        ("chainer.config.train = False\nnet = Net()\n", True),
    ],
)
def test_the_mode_in_which_a_module_is_made_is_asked_for(run: str, asked: bool) -> None:
    """`chainer.config.train` in a constructor: a module of PyTorch is made in train mode, whatever is around."""
    sites = [s for s in native(BUILT + run).sites if s.symbol == "chainer.config.train" and s.line < 16]
    assert [s.state for s in sites] == ["review" if asked else "exact"]


def test_a_switch_in_a_function_names_no_model_that_is_made_later() -> None:
    code = native(
        BUILT
        + "def switch(mode):\n    chainer.config.train = mode\n\n\na = Net()\nswitch(False)\nb = Net()\nswitch(True)\n"
        "a(np.ones((2, 3), 'f'))\nb(np.ones((2, 3), 'f'))\n"
    ).code
    assert "set_train(mode, a)" in code, code


def test_a_value_in_a_block_has_the_mode_of_the_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No module is known there, so the block sets more than the model's own flag."""
    body = MODEL.format(call="self.l(x)") + textwrap.dedent("""
        def evaluate(model, x):
            with chainer.using_config('train', False):
                y = model(x)
                for function in (F.dropout, F.relu):
                    y = function(y)
            return y
        """)
    program = loaded(native(body), tmp_path, monkeypatch)
    net, x = program.Net(), torch.ones(50, dtype=torch.int64)
    assert torch.equal(program.evaluate(net, x), torch.relu(net.l(x)))


def test_a_function_that_asks_its_module_has_the_name_of_the_function() -> None:
    theirs, ours, code = native_programs.both(
        """
        class Holder(chainer.Chain):
            def __init__(self):
                super().__init__()
                self.functions = [F.dropout, F.relu]

            def names(self):
                return [f.__name__ for f in self.functions]


        def f():
            return Holder().names()
        """
    )
    assert "in_mode_of(" in code and ours["f"]() == theirs["f"]() == ["dropout", "relu"]
