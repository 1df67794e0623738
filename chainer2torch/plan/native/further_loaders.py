"""Updaters that draw of several iterators: whether loaders can give the batches of those that count no epochs.

``self.next_batch('target')`` walks over a loader again and again, and nobody saves how far it has come. So every
iterator that an updater may get has to repeat, and no training goes on where another one stopped.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Class, Inst, Ref, options
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.plan.native.batches_drawn import names_one_twice

_ITERATORS = "chainer.iterators."
_EVALUATOR = "chainer.training.extensions.Evaluator"
_LOADERS = frozenset({"load_npz", "load_hdf5", "load_state_dict"})
_LOADED_ALONE = ("chainer.Link", "chainer.Optimizer")
_RESUMES = frozenset({"autoload"})
_NEXT = frozenset({"next", "__next__"})
_REPEAT = 2  # its place among the arguments of an iterator


def allows(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether nothing in a file is an iterator that ends, or takes up a training."""
    if any(_NEXT.intersection(cls.methods) for cls in analysis.classes.values() if cls.module is module):
        return False
    if analysis.once(names_one_twice):
        return False
    return not resumes(analysis, module) and not any(_ends(analysis, module, c) for c in module.source.of(ast.Call))


def _resumes(analysis: Analysis, call: ast.Call) -> bool:
    """Whether a call may load more than a model or an optimizer."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name not in _LOADERS:
        return False
    alone = [
        all(isinstance(k, Inst) and any(analysis.derives(k.cls, base) for base in _LOADED_ALONE) for k in options(kind))
        for kind in map(analysis.kind, call.args)
    ]
    return not any(alone)


def _ends(analysis: Analysis, module: ModuleInfo, call: ast.Call) -> bool:
    """Whether a call makes an iterator that may not repeat, and that others than evaluators and loops may get."""
    kind = analysis.kind(call.func)
    if not isinstance(kind, Ref) or not kind.name.startswith(_ITERATORS):
        return False
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return True
    given = [*call.args[_REPEAT:][:1], *(k.value for k in call.keywords if k.arg == "repeat")]
    if all(isinstance(value, ast.Constant) and value.value for value in given):
        return False
    parent = module.source.parents[call]
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1 or not isinstance(parent.targets[0], ast.Name):
        return not _only_walked(analysis, module, call)
    name = parent.targets[0].id
    loads = (n for n in module.source.named.get(name, ()) if isinstance(n.ctx, ast.Load))
    return not all(_only_walked(analysis, module, load) for load in loads)


def _only_walked(analysis: Analysis, module: ModuleInfo, node: ast.expr) -> bool:
    """Whether an iterator stands where a loop walks over it, an evaluator gets it, or it is asked for something."""
    parent = module.source.parents[node]
    if isinstance(parent, ast.keyword):
        parent = module.source.parents[parent]
    if isinstance(parent, (ast.For, ast.comprehension)):
        return parent.iter is node
    if isinstance(parent, ast.Attribute):
        return True
    return isinstance(parent, ast.Call) and parent.func is not node and _is_evaluator(analysis, parent.func)


def _is_evaluator(analysis: Analysis, function: ast.expr) -> bool:
    kinds = [*options(analysis.kind(function))]
    names = [k.info if isinstance(k, Class) else getattr(k, "name", None) for k in kinds]
    return bool(names) and all(name is not None and analysis.derives(name, _EVALUATOR) for name in names)


def resumes(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether something in a file may take up a training."""
    if _RESUMES.intersection(str(node.arg) for node in module.source.of(ast.keyword)):
        return True
    return any(_resumes(analysis, call) for call in module.source.of(ast.Call))


def keeps_order(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether an iterator that a file makes may give its examples again and again in their order."""
    for call in module.source.of(ast.Call):
        kind = analysis.kind(call.func)
        if isinstance(kind, Ref) and kind.name.startswith(_ITERATORS) and _is_ordered(call):
            return True
    return False


def _is_ordered(call: ast.Call) -> bool:
    """Whether a call does not leave it to Chainer to shuffle, unless its iterator ends."""
    given = {k.arg: k.value for k in call.keywords} | dict(zip(("", "", "repeat", "shuffle"), call.args))
    if None in given or any(isinstance(a, ast.Starred) for a in call.args):
        return True
    repeat, shuffle = given.get("repeat"), given.get("shuffle")
    if isinstance(repeat, ast.Constant) and not repeat.value:
        return False
    return "order_sampler" in given or not (
        shuffle is None or isinstance(shuffle, ast.Constant) and bool(shuffle.value)
    )


__all__ = ["allows", "keeps_order", "resumes"]
