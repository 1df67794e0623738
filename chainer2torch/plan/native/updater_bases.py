"""The base of updaters of one's own that say all of ``update_core``: nothing of StandardUpdater's own step is needed.

Native or not, such a class asks its base for iterators, optimizers, the converter and the device only.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Class, options
from chainer2torch.analysis.module_index import ClassInfo, ModuleInfo
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.objects import Objects
from chainer2torch.plan.questions.overridden_methods import is_super

_UPDATER = "chainer.training.updaters.StandardUpdater"
_SHORT = "native.StandardUpdater"
_STEP = "update_core"
_OPTIONS = frozenset({"loss_func", "loss_scale", "auto_new_epoch", "input_device"})
_MOST = 4  # arguments of the base by position


def says_all(objects: Objects, context: Context, cls: ClassInfo) -> bool:
    """Whether a class on StandardUpdater makes its step itself, and nobody asks it for more."""
    row = context.rules.rows.get(_UPDATER)
    short = row is not None and row.value == _SHORT
    return short and _STEP in cls.methods and not objects.any_file_seen_from(context, lambda m: _asks(objects, m))


def _asks(objects: Objects, module: ModuleInfo) -> bool:
    source = module.source
    said = [*source.attributes, *map(str, source.keywords)]
    said += [node.value for node in source.of(ast.Constant) if isinstance(node.value, str)]
    return (
        not _OPTIONS.isdisjoint(said)
        or any(is_super(node.value) for node in source.attributes.get(_STEP, ()))
        or any(_is_value(objects, module, n) for n, name in objects.analysis.names_in(source) if name == _UPDATER)
        or any(_has_many(objects, call) for call in source.of(ast.Call) if len(call.args) > _MOST)
    )


def _is_value(objects: Objects, module: ModuleInfo, node: ast.AST) -> bool:
    """Whether the class of Chainer's is neither a base nor called: ``isinstance(x, StandardUpdater)``."""
    if objects.context(module).reference(node) is None:
        return False
    parent = module.source.parents[node]
    return not (isinstance(parent, ast.ClassDef) or isinstance(parent, ast.Call) and parent.func is node)


def _has_many(objects: Objects, call: ast.Call) -> bool:
    """Whether an updater, or the base of one, gets an argument by position that only StandardUpdater has."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "__init__":
        return True
    kinds = options(objects.analysis.kind(call.func))
    return any(isinstance(kind, Class) and objects.analysis.derives(kind.info, _UPDATER) for kind in kinds)


__all__ = ["says_all"]
