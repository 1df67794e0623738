"""Classes of the project on DatasetMixin become plain Datasets: ``get_example`` is their ``__getitem__``.

DatasetMixin takes slices and lists as an index, too. A class stays on its helper where the project asks it for those,
and so do the classes that are related to it.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Class, Func, HostArray, Inst, Kind, Lst, Ref, Tensor, Tup, options
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Rename
from chainer2torch.plan.native.concerns import is_native
from chainer2torch.plan.parts.host_arrays import runs_backwards
from chainer2torch.plan.parts.host_values import wrap
from chainer2torch.plan.options import Options
from chainer2torch.plan.questions.overridden_methods import is_super

_MIXIN = "chainer.dataset.DatasetMixin"
_ROW = f"{_MIXIN}.get_example"
_GET = "get_example"
_TRANSFORMED = "chainer.datasets.TransformDataset"
_NATIVE = Options(style="native")


def run(context: Context) -> Decisions:
    """The decisions for all data sets that the file defines."""
    decisions = Decisions(context)
    if not is_native(context):
        return decisions
    plain = context.analysis.once(plain_datasets)
    for cls in plain:
        if cls.module is context.module:
            _class(context, decisions, cls)
    for node in context.source.of(ast.Attribute):
        if node.attr == _GET and isinstance(node.value, ast.Call) and is_super(node.value):
            _super(context, decisions, node, plain)
        elif node.attr == _GET:
            _example(context, decisions, node, plain)
    for function in context.analysis.once(_making_examples):
        if function.module is context.module:
            _forwards(context, decisions, function)
    return decisions


def _making_examples(analysis: Analysis) -> dict[FuncInfo, None]:
    """The functions of the project that make an example of a data set: methods, and what a TransformDataset gets."""
    found = [cls.methods[_GET] for cls in analysis.classes.values() if _GET in cls.methods]
    for module in analysis.project.modules.values():
        context = Context(analysis, module, _NATIVE)
        for call in module.source.of(ast.Call):
            if context.kind(call.func) == Ref(_TRANSFORMED):
                given = (*call.args[1:], *(keyword.value for keyword in call.keywords))
                for kind in (kind for node in given for kind in options(context.kind(node))):
                    if isinstance(kind, Inst) and isinstance(kind.cls, ClassInfo):
                        kind = analysis.class_attribute(kind.cls, "__call__", kind)
                    found += [kind.info] if isinstance(kind, Func) else []
    return dict.fromkeys(found)


def _forwards(context: Context, decisions: Decisions, function: FuncInfo) -> None:
    """What an example has of arrays that run backwards (``image[:, :, ::-1]``) is copied: PyTorch makes no tensor of
    such a view. A text, a tuple or a list that is turned round is none."""
    for node in nodes_of(function.node):
        if isinstance(node, ast.Return) and node.value is not None:
            parts = node.value.elts if isinstance(node.value, (ast.Tuple, ast.List)) else [node.value]
            for part in parts:
                if runs_backwards(context, part, function=function.node) and _may_be_array(context, part):
                    wrap(context, decisions, part, "value.copy()")


def _may_be_array(context: Context, part: ast.expr) -> bool:
    """Whether a part of an example is an array, as far as is known."""
    whole = part.value if isinstance(part, ast.Subscript) else part  # of a part of a text nothing is known
    kinds = (*options(context.kind(part)), *options(context.kind(whole)))
    return all(kind == UNKNOWN or isinstance(kind, HostArray) for kind in kinds)


def _class(context: Context, decisions: Decisions, cls: ClassInfo) -> None:
    row = context.rules.rows[_MIXIN]
    for base in cls.node.bases:
        if context.reference(base) == _MIXIN:
            decisions.replace(base, "torch.utils.data.Dataset", {})
            decisions.use(base)
            decisions.mark(base, row, row.name, row.state)
    method = cls.methods.get(_GET)
    if method is not None and isinstance(method.node, ast.FunctionDef):
        decisions.edit(method.node, Rename(context.source.start(method.node), "__getitem__"))


def _super(context: Context, decisions: Decisions, node: ast.Attribute, plain: dict[ClassInfo, None]) -> None:
    """``super().get_example(i)``, which cannot be written as an index."""
    row = context.rules.rows[_ROW]
    if context.enclosing_class(node) in plain:
        decisions.replace(node, "self.__getitem__", {"self": context.operand(node.value)})
    decisions.mark(node, row, row.name, row.state)


def _example(context: Context, decisions: Decisions, node: ast.Attribute, plain: dict[ClassInfo, None]) -> None:
    """``dataset.get_example(i)``, of one that becomes plain or of any that nobody knows, is ``dataset[i]``."""
    kinds, call = options(context.kind(node.value)), context.source.parents.get(node)
    known = all(k == UNKNOWN or isinstance(k, Inst) and k.cls in plain for k in kinds)
    if not known or not plain or not isinstance(call, ast.Call) or call.func is not node:
        return
    if len(call.args) == 1 and not call.keywords and not isinstance(call.args[0], ast.Starred):
        row = context.rules.rows[_ROW]
        operands = {"self": context.operand(node.value), "i": context.operand(call.args[0])}
        decisions.replace(call, "self[i]", operands)
        decisions.mark(node, row, row.name, row.state)


def plain_datasets(analysis: Analysis) -> dict[ClassInfo, None]:
    """The classes that become plain, in the order of the project."""
    found = [cls for cls in analysis.classes.values() if analysis.derives(cls, _MIXIN)]
    refused = {cls for cls in found if not _is_plain(analysis, cls)}
    for module in analysis.project.modules.values():
        context = Context(analysis, module, _NATIVE)
        for node in module.source.of(ast.Subscript, ast.Attribute):
            refused |= _asked_for_more(context, node)
    spread = True
    while spread:  # classes that are related go together
        related = {c for c in found if c not in refused and any(_related(analysis, c, other) for other in refused)}
        spread = bool(related)
        refused |= related
    return dict.fromkeys(cls for cls in found if cls not in refused)


def _related(analysis: Analysis, one: ClassInfo, other: ClassInfo) -> bool:
    return one in analysis.mro(other) or other in analysis.mro(one)


def _is_plain(analysis: Analysis, cls: ClassInfo) -> bool:
    """Whether a class is on DatasetMixin itself, says what an example is, and nothing else about indices."""
    outside = [c for c in analysis.mro(cls) if isinstance(c, str)]
    methods = {name for c in analysis.mro(cls) if isinstance(c, ClassInfo) for name in c.methods}
    own = cls.methods.get(_GET)
    place = cls.node.bases
    skipped = Context(analysis, cls.module, _NATIVE).skipped
    return (
        all(name in (_MIXIN, "builtins.object", "object") for name in outside)
        and _GET in methods
        and "__getitem__" not in methods
        and (own is None or isinstance(own.node, ast.FunctionDef) and not own.node.decorator_list)
        and not cls.node.decorator_list
        and not any(skipped.node(node) for node in (*place, *([own.node] if own is not None else [])))
        and all(_is_base(b) for b in cls.bases)
    )


def _is_base(kind: Kind) -> bool:
    return all(isinstance(k, (Class, Ref)) for k in options(kind))


def _asked_for_more(context: Context, node: ast.AST) -> set[ClassInfo]:
    """The classes whose objects are asked for a slice or a list here, or for ``get_example`` as a value."""
    if isinstance(node, ast.Subscript):
        index = context.kind(node.slice)
        several = isinstance(node.slice, ast.Slice) or any(
            isinstance(k, (Lst, Tup, HostArray, Tensor)) for k in options(index)
        )
        return _classes(context.kind(node.value)) if several else set()
    if isinstance(node, ast.Attribute) and node.attr == _GET:
        parent = context.source.parents.get(node)
        if not (isinstance(parent, ast.Call) and parent.func is node):
            return _classes(context.kind(node.value))
    return set()


def _classes(kind: Kind) -> set[ClassInfo]:
    return {k.cls for k in options(kind) if isinstance(k, Inst) and isinstance(k.cls, ClassInfo)}


__all__ = ["plain_datasets", "run"]
