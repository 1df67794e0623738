"""What remains of Chainer raises where it is used, with the name of what is missing, and never at import."""

import itertools
import subprocess
from pathlib import Path

import pytest

from chainer2torch.engine import Options, migrate_sources
from chainer2torch.vendor.compat_file import build
from chainer2torch.vendor.said import words
from tests.support import forked

HEAD = "import chainer\nimport chainer.functions as F\nfrom chainer import functions, made_up\nimport numpy as np\n\n\n"
# by name: what a module holds, and what of it raises when it is used
PLACES = {
    "a base class": ("class A(chainer.MadeUp):\n    def f(self):\n        return 1\n", "module.A()"),
    "one of two base classes": ("class A(chainer.Chain, made_up.Base):\n    pass\n", "module.A()"),
    "a base class that is made": ("class A(made_up.base(3)):\n    pass\n", "module.A()"),
    "a decorator": ("@made_up.cached\ndef f(x):\n    return x\n", "module.f(1)"),
    "a decorator with arguments": ("@chainer.made_up(size=3)\ndef f(x):\n    return x\n", "module.f(1)"),
    "a decorator of a method": (
        "class A:\n    @made_up\n    def f(self):\n        return 1\n",
        "module.A.f(module.A())",
    ),
    "a default value": ("def f(x, act=F.made_up):\n    return act(x)\n", "module.f(1)"),
    "a default of a method": ("class A:\n    def f(self, g=made_up()):\n        return g(1)\n", "module.A().f()"),
    "a table": ("TABLE = {'a': F.made_up, 'b': F.relu}\n", "module.TABLE['a'](1)"),
    "keys of a table": ("TABLE = {F.made_up: 1, made_up.B: 2}\n", "next(iter(module.TABLE))(1)"),
    "a constant": ("SIZE = chainer.made_up.size(3)\n", "module.SIZE(1)"),
    "an attribute of a class": ("class A:\n    act = functions.made_up\n", "module.A.act(2)"),
    "an annotation": ("def f(x: made_up.Array) -> chainer.MadeUp:\n    return made_up(x)\n", "module.f(1)"),
    "a name that is exported": ("__all__ = ['made_up']\n", "module.made_up(1)"),
    "a class that is asked for": ("KINDS = (made_up.A,)\ndef f(x):\n    return isinstance(x, KINDS)\n", "module.f(1)"),
    "a loop": ("THINGS = made_up.things()\ndef f():\n    return list(THINGS)\n", "module.f()"),
    "a condition": ("FLAG = made_up.flag\ndef f():\n    return 1 if FLAG else 2\n", "module.f()"),
}


def written(folder: Path, sources: dict[str, str]) -> dict[str, str]:
    """Migrates the sources into a folder, with the helpers that they use."""
    results = migrate_sources(sources)
    assert not any(result.error for result in results.values())
    for path, result in results.items():
        (folder / path).write_text(result.code)
    helpers = frozenset(itertools.chain(*(result.helpers for result in results.values())))
    if helpers:
        (folder / "chainer_compat.py").write_text(build(helpers))
    # Chainer is there, and does not run: the usual state beside today's NumPy
    (folder / "chainer.py").write_text("raise AttributeError('np.sctypes was removed')\n")
    return {path: result.code for path, result in results.items()}


def run(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Runs a text in a folder, whose Chainer is the one that is imported."""
    return forked.code(text, cwd=folder, without=("chainer", "chainermn"))


@pytest.mark.parametrize("name", PLACES)
def test_a_module_is_imported_and_what_is_missing_raises_where_it_is_used(name: str, tmp_path: Path) -> None:
    body, use = PLACES[name]
    code = written(tmp_path, {"module.py": HEAD + body, "main.py": "import module\n"})["module.py"]
    assert "TODO(chainer2torch" in code or name == "a name that is exported"
    done = run(tmp_path, f"import module\nprint('imported')\n{use}")
    assert done.stdout == "imported\n", done.stderr
    last = done.stderr.rstrip().splitlines()[-1]
    assert last.startswith("NotImplementedError: chainer.") and "was not migrated" in last, done.stderr


@pytest.mark.parametrize("name", PLACES)
def test_a_second_run_changes_nothing(name: str) -> None:
    body, _ = PLACES[name]
    sources = {"module.py": HEAD + body, "main.py": "import module\n"}
    once = {path: result.code for path, result in migrate_sources(sources).items()}
    assert {path: result.code for path, result in migrate_sources(once).items()} == once


def test_a_program_raises_where_it_calls_what_is_missing(tmp_path: Path) -> None:
    """A stand-in for the result would let a program run on and do nothing."""
    written(
        tmp_path, {"main.py": "from chainer import made_up\n\n\nclass A(made_up.B):\n    pass\n\n\nx = made_up.C()\n"}
    )
    done = run(tmp_path, "import runpy; runpy.run_path('main.py', run_name='__main__')")
    assert "chainer.made_up.C was not migrated" in done.stderr and done.returncode


def test_another_file_takes_the_name(tmp_path: Path) -> None:
    sources = {"a.py": "from chainer import made_up\n", "b.py": "from a import made_up\n\n\ndef f():\n    made_up(1)\n"}
    written(tmp_path, sources)
    done = run(tmp_path, "import b; print(1); b.f()")
    assert done.stdout == "1\n" and "chainer.made_up was not migrated" in done.stderr


def test_a_guard_of_the_users_own_takes_what_stops_chainer_today(tmp_path: Path) -> None:
    text = "try:\n    from chainer import made_up\nexcept ImportError:\n    made_up = None\n\n\ndef f():\n    return made_up(1)\n"  # noqa: E501
    written(tmp_path, {"module.py": text})
    assert run(tmp_path, "import module; print(module.made_up)").stdout == "None\n"


BASES = {
    "a link of the project behind Chain": "class A(chainer.Chain, Model):\n    pass\n",
    "two of them": "class B(chainer.Link):\n    pass\n\n\nclass A(chainer.Chain, Model, B):\n    pass\n",
    "with a mixin": "class Mix:\n    def g(self):\n        return 2\n\n\nclass A(chainer.Chain, Model, Mix):\n    pass\n",  # noqa: E501
    "with a metaclass": "import abc\n\n\nclass P(metaclass=abc.ABCMeta):\n    pass\n\n\nclass A(chainer.Chain, Model, P):\n    pass\n",  # noqa: E501
    "in front": "class A(Model, chainer.Chain):\n    pass\n",
    "twice over": "class B(chainer.Chain, Model):\n    pass\n\n\nclass A(chainer.Link, B):\n    pass\n",
}


@pytest.mark.parametrize("name", BASES)
def test_classes_with_several_links_among_their_bases_can_be_made(name: str, tmp_path: Path) -> None:
    model = "class Model(chainer.Link):\n    def value(self):\n        return 7\n\n\n"
    written(tmp_path, {"module.py": "import chainer\n\n\n" + model + BASES[name], "main.py": "import module\n"})
    done = run(tmp_path, "import module, torch; a = module.A(); print(a.value(), isinstance(a, torch.nn.Module))")
    assert done.stdout == "7 True\n", done.stderr


def test_a_method_that_comes_from_another_base_now_is_marked() -> None:
    text = (
        "import chainer\n\n\nclass Model(chainer.Link):\n    def copy(self, mode='share'):\n        return self\n\n\n"
    )
    result = migrate_sources({"module.py": text + "class A(chainer.Chain, Model):\n    pass\n"})["module.py"]
    assert "class A(Model)" in result.code
    assert any(site.state == "review" and "`copy` of Chain came before" in site.message for site in result.sites)


def test_the_native_stand_in_says_the_text_of_the_marker(tmp_path: Path) -> None:
    source = "from chainer import made_up\n\n\nclass A(made_up.B):\n    pass\n\n\ndef f(x):\n    return made_up.C(x)\n"
    result = migrate_sources({"net.py": source}, options=Options(style="native"))["net.py"]
    (tmp_path / "net.py").write_text(result.code)
    (tmp_path / "chainer_compat.py").write_text(build(result.helpers, style="native", said=words(result.code)))
    done = run(tmp_path, "import net\nprint('imported')\nnet.f(1)")
    last = done.stderr.rstrip().splitlines()[-1]
    assert done.stdout == "imported\n" and last.startswith("NotImplementedError: chainer.made_up.C was not migrated: ")
    marker = next(line.strip() for line in result.code.splitlines() if "): chainer.made_up.C: " in line)
    assert last.endswith(f"net.py, {marker}"), last
