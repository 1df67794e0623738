"""What is asked of a project again and again: the answer of a look at everything, without that look."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from chainer2torch.analysis import interpreter
from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Ref
from chainer2torch.analysis.module_index import ClassInfo, Project
from chainer2torch.analysis.source import Source
from chainer2torch.plan.context import Context
from chainer2torch.plan.options import Options
from chainer2torch.rules.table import Rules

CLASSES = """
import chainer

class Mixin:
    pass

class Net(chainer.Chain):
    pass

class Deep(Mixin, Net):
    pass

class Deeper(Deep):
    pass

class Other(Mixin):
    pass
"""


def _analysis(text: str, rules: Rules) -> Analysis:
    return Analysis(Project({"net.py": Source(text, ast.parse(text))}), rules).run()


def test_the_names_of_a_module_are_looked_at_again_only_when_one_has_changed(
    rules: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    analysis = _analysis("import numpy, os\nx = numpy.zeros(3)\n", rules)
    analysis.module = analysis.project.modules["net.py"]
    looks: list[object] = []
    look = interpreter._is_of_chainer
    monkeypatch.setattr(interpreter, "_is_of_chainer", lambda kind: looks.append(kind) or look(kind))
    analysis.module.env["y"] = UNKNOWN
    assert not any(analysis.imports_chainer() for _ in range(5))
    assert len(looks) == len(analysis.module.env)
    analysis.module.env["F"] = Ref("chainer.functions")
    assert analysis.imports_chainer()
    analysis.module.env["F"] = Ref("torch.nn.functional")
    assert not analysis.imports_chainer()


def test_heirs_are_the_classes_in_whose_order_of_bases_a_class_stands(
    rules: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    analysis = _analysis(CLASSES, rules)
    classes = list(analysis.classes.values())
    looked = {cls: [other for other in classes if other is not cls and cls in analysis.mro(other)] for cls in classes}
    assert [cls.name for cls in looked[classes[0]]] == ["Deep", "Deeper", "Other"]
    analysis.forget_hierarchy()
    asked: list[object] = []
    mro = analysis.mro

    def noted(cls: str | ClassInfo) -> list[str | ClassInfo]:
        asked.append(cls)
        return mro(cls)

    monkeypatch.setattr(analysis, "mro", noted)
    assert {cls: analysis.heirs(cls) for cls in classes} == looked
    assert len(asked) == len(classes)


def _whole(context: Context, node: ast.stmt) -> Iterator[str]:
    """The comments above a statement, found by a look at all lines above it."""
    text = context.source.text
    for line in reversed(text[: context.source.line_starts[node.lineno - 1]].splitlines()[-20:]):
        if not line.lstrip().startswith("#"):
            return
        yield line


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_comments_above_a_statement_are_those_of_a_look_at_all_lines(rules: Rules, end: str) -> None:
    many = "".join(f"# comment {i}\n" for i in range(40))
    text = f"# 1\nimport chainer\n# 2\x0c# 3\n    # 4\nx = 1\n\n# 5\ny = 2\n{many}z = 3\n# \x1c# 6\nw = 4\n"
    text = text.replace("\n", end)
    source = Source(text, ast.parse(text))
    analysis = Analysis(Project({"net.py": source}), rules).run()
    context = Context(analysis, analysis.project.modules["net.py"], Options())
    found = {node.lineno: list(context.comments_above(node)) for node in source.tree.body}
    assert found == {node.lineno: list(_whole(context, node)) for node in source.tree.body}
    behind_many = found[source.tree.body[3].lineno]
    assert len(behind_many) == 20 and behind_many[-1] == "# comment 20"
