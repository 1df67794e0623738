"""Vendored helpers lack the methods that nobody names, and nothing else."""

import ast
import os
import runpy
import subprocess
import sys
import types
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import torch

from chainer2torch.vendor.rooms import Piece
from chainer2torch.vendor import compat_file
from chainer2torch.vendor.optional_parts import marked
from chainer2torch.vendor.said import OWN, words
from chainer2torch.vendor.said_in_array_modules import DRAWN_AS, MODULES_COMPARED, VIEWS_OF_MODULES, WRITTEN

ROOT = Path(__file__).resolve().parents[2]
ROOM = '''
"""A room."""

from collections.abc import Iterable


def plain(x):
    return x


def other(x):
    return plain(x)


class Base:
    limit = 3

    def run(self):
        """Says nothing of `never`."""
        return self._inner()

    def _inner(self):
        return self.limit

    # about saving
    @property
    def saved(self):
        return other(1)

    def __len__(self):
        return 1


class Thing(Base):
    def state_dict(self):
        return self.saved

    def asked(self):
        return getattr(self, "named_in_a_text")()

    def named_in_a_text(self):
        return Iterable
'''


@pytest.fixture
def rooms(tmp_path: Path) -> Path:
    folder = tmp_path / "rooms"
    folder.mkdir()
    (folder / "room.py").write_text(ROOM, encoding="utf-8")
    return folder


def members(text: str) -> set[str]:
    found = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{item.name}" for item in node.body if isinstance(item, ast.FunctionDef)}
        elif isinstance(node, ast.FunctionDef):
            found.add(node.name)
    return found


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("Thing()", {"Base.__len__"}),
        ("Thing().run()", {"Base.__len__", "Base.run", "Base._inner"}),
        ("Thing().saved", {"Base.__len__", "Base.saved", "other", "plain"}),
        ("Thing().asked()", {"Base.__len__", "Thing.asked", "Thing.named_in_a_text"}),
        ("getattr(x, 'run')", {"Base.__len__", "Base.run", "Base._inner"}),
        ("manager.load_state_dict(x)", {"Base.__len__", "Thing.state_dict", "Base.saved", "other", "plain"}),
        ("extensions.snapshot()", {"Base.__len__", "Thing.state_dict", "Base.saved", "other", "plain"}),
    ],
)
def test_what_is_named_stays(rooms: Path, program: str, expected: set[str]) -> None:
    text = compat_file.build(["Thing"], rooms, said=words(program))
    assert members(text) == expected
    assert ("Iterable" in text) == ("Thing.asked" in expected), "imports follow"
    assert ("# about saving" in text) == ("Base.saved" in expected), "a comment goes with its method"
    compile(text, "chainer_compat.py", "exec")


def test_without_words_all_stays(rooms: Path) -> None:
    assert len(members(compat_file.build(["Thing"], rooms))) == 9


@pytest.mark.parametrize("style", ["faithful", "native"])
def test_every_helper_can_be_cut(style: str, tmp_path: Path) -> None:
    """The least of each class still is a module that runs."""
    names = sorted(compat_file.helper_names(style=style))
    for part in (names[::2], names[1::2]):
        text = compat_file.build([n for n in part if "chainer" not in n], style=style, said=())
        (tmp_path / "chainer_compat.py").write_text(text, encoding="utf-8")
        assert "Written by" in text and text.count("\n") < compat_file.build(part, style=style).count("\n")
        if "import chainer\n" not in text:
            assert runpy.run_path(str(tmp_path / "chainer_compat.py"))


def test_what_is_handed_to_a_library_keeps_what_it_asks_for() -> None:
    text = compat_file.build(["ParameterStatistics"], style="native", said=frozenset())
    assert "_NamedByParents.named_parameters" in members(text)


def test_the_protocols_are_those_of_the_installed_libraries() -> None:
    # in a process of its own: an optimizer that another test has made has given its class a `step`
    root = Path(__file__).parents[2]
    code = "import protocols; print(protocols.TARGET); print(protocols.text(), end='')"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "docs"), str(root)])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    target, _, text = done.stdout.partition("\n")
    assert Path(target).read_text(encoding="utf-8") == text, "run docs/protocols.py"


def test_a_bar_of_ppe_draws_itself_under_a_trigger_that_is_ours(tmp_path: Path) -> None:
    """No text names the method that the bar asks the trigger for, which is no subclass of ppe's."""
    source = """
import sys
import chainer
import numpy as np
from chainer import training
from chainer.training import extensions

model = chainer.links.Classifier(chainer.links.Linear(1, 2))
optimizer = chainer.optimizers.SGD()
optimizer.setup(model)
data = chainer.datasets.TupleDataset(np.eye(4, 1, dtype=np.float32), np.array([0, 1, 0, 1], dtype=np.int32))
iterator = chainer.iterators.SerialIterator(data, 2)
trainer = training.Trainer(training.StandardUpdater(iterator, optimizer), (2, 'epoch'), out=sys.argv[1])
trainer.extend(extensions.ProgressBar(update_interval=1))
trainer.run()
"""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text(source)
    command = [sys.executable, "-m", "chainer2torch", "migrate", "src", "-o", "out", "--style", "faithful", "-q"]
    subprocess.run(command, cwd=tmp_path, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    done = subprocess.run([sys.executable, "train.py", "r"], cwd=tmp_path / "out", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "this epoch [" in done.stdout


def test_a_renamed_helper_leaves_parameters_and_variables_of_its_name_alone():
    text = (
        "class Optimizer:\n    def __init__(self, params=params(None)):\n        self.all = list(params)\n\n"
        "    def setup(self, link):\n        self.all = list(params(link))\n\n"
        "    def names(self):\n        params = self.all\n        return [f(p) for p in params]\n"
    )
    after = Piece(text, False, frozenset({"params"})).renamed("params", "long_params").text
    assert after == text.replace("=params(None)", "=long_params(None)").replace(
        "list(params(link)", "list(long_params(link)"
    )


def test_that_every_helper_has_all_that_it_names(tmp_path: Path) -> None:
    """Each alone, without what nobody names: nothing is undefined, nor defined behind what needs it at import."""
    for style in ("native", "faithful"):
        for name in compat_file.helper_names(style=style):
            text = compat_file.build([name], style=style, said=())
            compile(text, name, "exec")
            (tmp_path / f"{style}_{name}.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821", str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


MARKED = """
class Base:
    def __init__(
        self,
        x,
        size=3,  # where: size
        *,
        hooks=(),  # where: add_hook, hooks
        last=None,
    ):
        self.x = x
        # of another size
        self.size = size  # where: size
        if hooks:  # where: add_hook, hooks
            self.hooks = [
                *hooks
            ]
        self.all = sum(
            [x]
        )  # where: total
        self.waits = x  # where: Lazy*, inferred

    def __len__(self):
        self.asked = True  # where: total
        return 3
"""


@pytest.mark.parametrize(
    ("program", "there", "gone"),
    [
        ("Base(1)", ["(self, x, *, last=None):\n", "self.x = x"], ["size", "hooks", "sum", "where:"]),
        (
            "Base(1, size=2).x",
            ["(self, x, size=3, *, last=None):", "# of another size", "self.size = size"],
            ["hooks", "sum", "where:"],
        ),
        ("getattr(Base(1), 'total')", ["sum("], ["size", "hooks", "where:"]),
        ("Base(1).add_hook(2)", ["(self, x, *, hooks=(), last=None):", "*hooks"], ["size", "sum", "where:"]),
        ("hooks = size = 3  # total", ["self.x = x"], ["size", "hooks", "sum", "waits"]),
        ("Base(1).inferred", ["self.waits = x"], ["sum"]),
        ("nn.LazyLinear(3)", ["self.waits = x"], ["sum", "where:"]),
        ("nn.lazy.Laz", ["self.x = x"], ["waits"]),
    ],
)
def test_a_marked_part_stays_where_its_name_is_said(
    tmp_path: Path, program: str, there: list[str], gone: list[str]
) -> None:
    (tmp_path / "rooms").mkdir()
    (tmp_path / "rooms" / "room.py").write_text(MARKED, encoding="utf-8")
    text = compat_file.build(["Base"], tmp_path / "rooms", said=words(program))
    compile(text, "chainer_compat.py", "exec")
    assert all(part in text for part in there) and not any(part in text for part in gone), text
    assert "    def __len__(self):\n" in text and text.count("def __len__") == 1


def test_without_words_all_marked_parts_stay(tmp_path: Path) -> None:
    (tmp_path / "room.py").write_text(MARKED, encoding="utf-8")
    text = compat_file.build(["Base"], tmp_path)
    assert "sum(" in text and "size=3" in text and "hooks=()" in text and "where:" not in text


def test_only_the_last_parameters_of_a_helper_are_marked() -> None:
    """An argument by position would become that of the next parameter."""
    for room in sorted(compat_file.NATIVE.glob("*.py")):
        lines = room.read_text(encoding="utf-8").split("\n")
        for node in ast.walk(ast.parse("\n".join(lines))):
            if isinstance(node, ast.arguments):
                marks = ["# where:" in lines[arg.lineno - 1] for arg in node.args if len(lines) > 1]
                several = len({arg.lineno for arg in node.args}) == len(node.args) > 1
                assert not several or marks == sorted(marks), f"{room.name}: {[arg.arg for arg in node.args]}"


@pytest.mark.parametrize(("name", "settings"), [("LateAdam", "alpha eps"), ("LateMomentumSGD", "lr momentum")])
@pytest.mark.parametrize("way", ["opt.{0} *= 0.5", "setattr(opt, '{0}', 1)", "setattr(opt, name, 1)", "print {0}"])
def test_a_setting_of_an_optimizer_stays_where_it_may_be_named(name, settings, way):
    """Setting one that is gone would change nothing, silently; most programs name none."""

    def kept(program):
        tree = ast.parse(compat_file.build([name], style="native", said=words(program)))
        late = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
        return " ".join(ast.unparse(node.targets[0]) for node in late.body if isinstance(node, ast.Assign))

    assert not kept("f(alpha=1, lr=2, eps=3, momentum=4)")
    for setting in settings.split():
        assert setting in kept(way.format(setting))


@pytest.mark.parametrize(
    ("program", "rate", "betas"),
    [
        ("f(lr=3, beta1=0.5)['lr'] = 'beta1', {'beta2': lr}", False, False),
        ("opt.lr", True, False),
        ("args.lr + it.epoch", False, False),
        ("args.lr = 3", True, False),
        ("opt.alpha_t", True, False),
        ("opt.beta1 = 0.5", False, True),
        ("getattr(opt, 'lr')", True, False),
        ("setattr(opt, 'beta2', 0.5)", False, True),
        ("operator.attrgetter('a.lr')(x)", True, True),
        ("attrgetter(name)(x)", True, True),
        ("setattr(opt, name, value)", True, True),
        ("print('the rate is opt.lr now')", True, False),
        ("print(vars(args))", False, False),
        ("vars(x)[name] = value", True, True),
        ("setattr(args, name, value)", False, False),
        ("print lr", True, False),
        ("import chainer.links as L\nprint lr", False, False),
        ("import chainer_compat as compat\nprint lr", True, False),
    ],
)
def test_the_rate_and_the_betas_of_adam_stay_where_a_member_of_their_name_is_said(program, rate, betas):
    """Not for a keyword or a key, which each text about optimizers has; a text that is no Python may mean anything."""
    text = compat_file.build(["LateAdam", "Updater"], style="native", said=words(program))
    assert ("def lr(" in text) == rate
    assert ("beta1, beta2 = _beta(" in text) == ("def _beta(" in text) == betas


def test_a_helper_that_sets_what_it_is_told_reaches_the_groups():
    """It needs none of the attributes; only an optimizer of the program's own may have its settings elsewhere."""
    text = compat_file.build(["LateAdam", "ExponentialShift"], style="native", said=words("x.update()"))
    assert "_beta" not in text and "hasattr(optimizer" not in text
    program = "compat.GradientMethod"
    text = compat_file.build(["GradientMethod", "ExponentialShift"], style="native", said=words(program))
    assert "hasattr(optimizer, name)" in text


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("make(it, opt, convert, None)", ""),
        ("nn.Conv2d(3, 4, 5, 1, 2)", ""),
        ("StandardUpdater(it, opt, loss_func=f)", "loss_func"),
        ("make(it, opt, auto_new_epoch=False)", "auto_new_epoch loss_func"),
        ("Evaluator(it, model, eval_hook=f)", "eval_hook eval_func"),
        ("evaluator.eval_func", "eval_hook eval_func"),
        ("compat.StandardUpdater(it, opt, convert, None, f)", "loss_func eval_func"),
        ("MyEvaluator(*arguments)", "loss_func eval_func"),
        ("class Two(m.StandardUpdater): pass\nTwo(it, opt, convert, None, f)", "loss_func eval_func"),
        ("super().__init__(it, opt, convert, None, f)", "loss_func eval_func"),
        ("super().__init__(*arguments)", ""),
    ],
)
def test_options_of_updaters_and_evaluators_stay_where_a_program_gives_them(program: str, expected: str) -> None:
    text = compat_file.build(["StandardUpdater", "Evaluator"], style="native", said=words(program))
    compile(text, "chainer_compat.py", "exec")
    for name in ("loss_func", "auto_new_epoch", "eval_hook", "eval_func"):
        assert f"{name}=" in text or name not in expected.split()
    header = "(self, iterator, target, converter=None, device=None):"
    assert (header in text) == ("eval_func" not in expected)
    made = text.count("super().__init__(iterator, optimizer, converter, device)")  # without loaders Updater has none
    assert made == ("loss_func" in expected)
    assert ("self._eval_func" in text) == ("eval_func" in expected)


@pytest.mark.parametrize(
    ("program", "there", "gone"),
    [
        ("loss.backward()", "(y, *, enable_double_backprop=False, retain_graph", "y.retain_grad()"),
        ("loss.backward(retain_grad=True)", "        y.retain_grad()\n", "loss_scale"),
    ],
)
def test_backward_keeps_gradients_where_that_is_said(program: str, there: str, gone: str) -> None:
    text = compat_file.build(["backward"], style="native", said=words(program))
    assert there in text and gone not in text


def test_batches_have_the_names_that_somebody_asks_for() -> None:
    short, long = (
        compat_file.build(["Batches"], style="native", said=words(program)) for program in ("it.x", "it.reset().next")
    )
    assert "next = " not in short and "__getstate__" not in short
    assert "next = __next__\n" in long


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("opt.update()", False),
        ("opt.update()\nseen.update({'a': 1})\nseen.update(a=1)", False),
        ("seen.update(others)", False),
        ("opt.update()\nClassifier(model, lossfun=f)", False),
        ("opt.update(**arguments)", True),
        ("opt.update(model, x)", True),
        ("opt.update(lambda: loss)", True),
        ("opt.update(*arguments)", True),
        ("opt.update(lossfun=model)", True),
        ("step = opt.update\nstep(model)", True),
        ("methodcaller('update', model)(opt)", True),
    ],
)
def test_an_update_takes_a_loss_where_it_may_get_one(program: str, expected: bool) -> None:
    text = compat_file.build(["LateSGD"], style="native", said=words(program))
    assert ("compute_gradients" in text) == ("def backward(" in text) == ("lossfun" in text) == expected
    assert expected or "def update(self):" in text  # what it gets all the same is an error
    compile(text, "chainer_compat.py", "exec")


def test_a_helper_that_gives_losses_to_updates_says_so() -> None:
    for helper, gives in (("StandardUpdater", False), ("faithful_StandardUpdater", True)):
        text = compat_file.build(["LateSGD", helper], style="native", said=words("opt.update()"))
        assert ("compute_gradients" in text) == gives, "only asking for `update` gives it none"


def test_a_part_goes_where_what_takes_its_place_is_there() -> None:
    """Else two helpers would say the same lines; each combination fills and steps as the whole does."""

    def built(*names: str, said: str = "x = 1") -> tuple[str, types.ModuleType]:
        text, module = compat_file.build(names, style="native", said=words(said)), types.ModuleType("helpers")
        exec(compile(text, "<helpers>", "exec"), module.__dict__)
        return text, module

    for names in (["initialized"], ["initialized", "filled"]):
        text, module = built(*names)
        assert text.count("value(given)") == 1 and ("return filled(layer" in text) == (len(names) > 1)
        layer, fill = torch.nn.Linear(2, 3), mock.Mock(side_effect=lambda param: param.fill_(2), dtype=None)
        made = module.initialized(layer, weight=fill, bias=3.0)
        assert made is layer and fill.call_count == 1 and (layer.weight == 2).all() and (layer.bias == 3).all()
    for names in (["Adam"], ["Adam", "MomentumSGD", "fill_missing_gradients"]):
        text, module = built(*names)
        assert text.count("param.grad = torch.zeros_like(param)") == 1
        param = torch.nn.Parameter(torch.ones(2))
        optimizer = module.Adam([param], lr=0.5)
        optimizer.step()
        assert param.grad is not None and not param.grad.any()
    for said, text_too in (("collate(x, 0)", False), ("collate(x, 0)\nf(device='@numpy')", True)):
        text, module = built("collate", said=said)
        assert ("(int, str)" in text) == ("isinstance(device, int)" not in text) == text_too
        for device in (-1, *["@numpy"] * text_too):
            assert module.collate([np.ones(2, "f")], device).device == torch.device("cpu")


def test_what_only_a_helper_says_is_not_said_by_the_program() -> None:
    """`_OldStep.apply` is no use of the `apply` of a function of the program's."""
    said = words("class A(compat.Function):\n    def forward(self, x):\n        return x\n")
    assert "def apply(" not in compat_file.build(["Function"], style="native", said=said)
    assert "def apply(" in compat_file.build(["Function"], style="native", said=said | words("function.apply((x,))"))
    assert "def apply(" in compat_file.build(["Function"], style="native", said=said | words("getattr(f, 'apply')"))
    rooms = compat_file._rooms(compat_file.NATIVE)
    marks = {name for room in rooms for d in room.definitions for _, names in marked(d.node, d.lines) for name in names}
    assert {name for name in marks if name.startswith("own.")} == {f"own.{name}" for name in OWN}


def test_no_two_blank_rows_stay_where_a_part_of_a_class_went() -> None:
    said = words("class A(compat.Function):\n    def forward(self, x):\n        return x\n")
    assert "\n\n\n    " not in compat_file.build(["Function"], style="native", said=said)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("xp = array_module(x)\nxp.add(a, b, out)", True),
        ("lib = array_module(x)\nlib.add(a, b, out)", True),
        ("def f(lib):\n    lib.exp(y, y)", True),
        ("def f(lib):\n    lib.add(a, b)", False),
        ("F.add(a, b)\nparser.add(a)", False),
        ("def f(lib, a):\n    lib.cumsum(a, 0, None, a)\nf(array_module(x), a)", True),
        ("def f(lib, a):\n    lib.cumsum(a, 0, None, a)\nf(plotting, a)", False),
        ("import numpy as np\nnp.cumsum(a, 0, None, a)\nnp.savez(f, **arrays)", False),
        ("import numpy as np\nnp = array_module(x)\nnp.cumsum(a, 0, None, a)", True),
        ("import numpy as np\ndef f(np):\n    np.copyto(a, b)", True),
        ("try:\n    import cupy as np\nexcept ImportError:\n    import numpy as np\nnp.copyto(a, b)", True),
        ("queue.put(item, 0)\nself.add(*layers)\n'{} {} {}'.format(a, b, c)\ncompat.Trainer(u, out=o)", False),
        ("lib.put(a, i, v)", True),
    ],
)
def test_results_into_arrays_are_seen_whatever_the_array_module_is_called(program: str, said: bool) -> None:
    assert (WRITTEN in words(program)) == said


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("xp.reshape(a, (2, 3))[0] = 1", True),
        ("lib = array_module(x)\nlib.reshape(a, (2, 3))[0] = 1", True),
        ("lib = self.xp\nlib.reshape(a, (2, 3))[0] = 1", True),
        (
            "class A:\n    def f(self, lib):\n        lib.ravel(a)[0] = 1\n\n    def g(self, xp):\n        self.f(xp)",
            True,
        ),
        ("def f(lib):\n    lib.ravel(a)[0] = 1\n\nf(lib=xp)", True),
        ("x.reshape(2, 3)", False),
    ],
)
def test_views_are_seen_whatever_the_array_module_is_called(program: str, said: bool) -> None:
    assert (VIEWS_OF_MODULES in words(program)) == said


@pytest.mark.parametrize(("program", "wrapped"), [("", False), ("from torch.utils.data import DataLoader", True)])
def test_updaters_count_batches_of_loaders_where_a_program_makes_some(program: str, wrapped: bool) -> None:
    text = compat_file.build(
        ["StandardUpdater"], style="native", said=words(f"{program}\nupdater.get_iterator('main')")
    )
    assert ("class Batches" in text) is wrapped and ("DataLoader" in text) is wrapped


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("x = np.exp(y)\nx.reshape(2)", {VIEWS_OF_MODULES: False}),
        ("x = y.cpu().numpy()\nx.reshape(2, 3)", {VIEWS_OF_MODULES: False}),
        ("import numpy\nlib = numpy if x is None else cupy\nlib.reshape(x, (2, 3))", {VIEWS_OF_MODULES: True}),
        (
            "my_xp = device.xp\nmy_xp.reshape(a, 2)\nif my_xp == np: pass",
            {VIEWS_OF_MODULES: True, MODULES_COMPARED: True},
        ),
        ("if expected_size == other or xp == 0: pass", {MODULES_COMPARED: False}),
        ("self.assertEqual(xp, f(x))", {MODULES_COMPARED: True}),
        ("self.assertEqual(size, f(x))", {MODULES_COMPARED: False}),
        ("import random\nrandom.uniform(*limits)", {DRAWN_AS: False}),
        ("import numpy as np\nnp.random.rand(*shape)", {DRAWN_AS: False}),
        ("lib.random.rand(*shape)", {DRAWN_AS: True}),
        ("import torch\ntorch.minimum(*pair)\nimport os.path\nos.path.add(a, b, c)", {WRITTEN: False}),
        ("from tools import torch\ntorch.minimum(*pair)", {WRITTEN: True}),
        ("import tools\ntools.xp.minimum(*pair)", {WRITTEN: True}),
        ("import numpy as np\nnp.asarray(x)\nimport torch\ntorch.asarray(x)", {"asarray_of_modules": False}),
        ("convert = lib.asarray", {"asarray_of_modules": True}),
        ("getattr(lib, 'asarray')(x)", {"asarray_of_modules": True}),
        ("import numpy as np, random\nnp.random.shuffle(x)\nrandom.shuffle(x)", {"shuffled_by_modules": False}),
        ("rng = lib.random\nrng.shuffle(x)", {"shuffled_by_modules": True, "parts_of_modules": True}),
        ("import numpy as np\nnp.linalg.norm(x) + np.add.reduce(x)", {"parts_of_modules": False}),
        ("import functools\nfunctools.reduce(f, x)", {"reduce_of_modules": False}),
        ("lib.add.reduce(x)\nadd = lib.add\nadd.at(x, i, 1)", {"reduce_of_modules": True, "at_of_modules": True}),
    ],
)
def test_what_is_no_array_module_says_nothing_of_one(program: str, said: dict[str, bool]) -> None:
    found = words(program)
    assert {word: word in found for word in said} == said


LONG_OPTIMIZERS = {
    "": set(),
    "optimizer.loss_scaling()": {"_check_nan", "_adapt_loss_scale"},
    "optimizer.use_auto_new_epoch = True": {"invalid new_epoch call"},
    "compat.save_npz(path, optimizer)": {"class StateReader", "def serialize(self"},
    "optimizer.serialize(serializer)": {"def serialize(self"},
}


@pytest.mark.parametrize("program", LONG_OPTIMIZERS)
def test_long_optimizers_have_what_a_program_asks_of_them(program):
    """Scales that find their own size, Chainer's files, epochs that are checked; each steps as the whole does."""
    names = {"Adam", *(["save_npz"] if "save_npz" in program else [])}
    used = "optimizer = compat.Adam(0.1).setup(model)\noptimizer.update(loss, x)\noptimizer.new_epoch()\n"
    text = compat_file.build(names, style="faithful", said=words(used + program))
    parts = set().union(*LONG_OPTIMIZERS.values())
    assert {part for part in parts if part in text} >= LONG_OPTIMIZERS[program]
    assert program or not {part for part in parts if part in text}, text
    results = []
    for source in (text, compat_file.build(names, style="faithful", said=None)):
        module = types.ModuleType("chainer_compat")
        exec(compile(source, "<chainer_compat>", "exec"), module.__dict__)
        torch.manual_seed(0)
        layer = torch.nn.Linear(3, 2)
        optimizer = module.Adam(0.1).setup(layer)
        for i in range(4):
            optimizer.update(lambda x, layer=layer: (layer(x) ** 2).sum(), torch.full((1, 3), float(i + 1)))
            optimizer.new_epoch()
        results.append((optimizer.t, optimizer.epoch, layer.weight.detach().clone()))
    assert results[0][:2] == results[1][:2] == (4, 4)
    torch.testing.assert_close(results[0][2], results[1][2], rtol=0, atol=0)


@pytest.mark.parametrize(
    ("block", "kept"),
    [
        ("with open('a') as f:", False),
        ("with torch.no_grad(), compat.eval_mode(model):", False),
        ("with it:", True),
        ("with open('a') as f, self.iterator:", True),
        ("with make(data) as it:", True),
        ("with compat.Batches(loader) as it:", True),
        ("with contextlib.ExitStack() as stack:", True),
        ("if stack.enter_context(it):", True),
    ],
)
def test_an_iterator_is_entered_where_a_block_may_be_its_own(block, kept):
    text = f"{block}\n    pass\n"
    helpers = compat_file.build(["Batches"], style="native", said=words(text) | {"next"})
    assert ("__enter__" in helpers) is kept
