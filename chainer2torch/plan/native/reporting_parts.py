"""Parts of a model that report values by themselves: pytorch-pfn-extras writes their names otherwise.

Chainer's key is ``main/predictor/fc/loss``, that of pytorch-pfn-extras ``mainpredictor.fc/loss``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Dct, Inst, Kind, Lst, Ref, Tup, options
from chainer2torch.analysis.module_index import ClassInfo, ModuleInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.native import imports

REPORTS = frozenset({"chainer.report", "chainer.reporter.report"})
_CLASSIFIER = "chainer.links.Classifier"


def reports_in_parts(analysis: Analysis, model: Kind, module: ModuleInfo) -> bool:
    """Whether something inside a model, and not the model itself, reports under its own name.

    A part of which nothing is known may be any that the files around ``module`` have.
    """
    reporters = analysis.once(_reporters)
    near = analysis.once(_files)
    models = [kind for kind in options(model) if isinstance(kind, Inst)]
    own = {cls for kind in models for cls in _own(analysis, kind)}
    if any(_reports_for(analysis, cls) for cls in own):
        return True
    others = any(near[cls.module] == near[module] for cls in reporters - own) or any(
        near.get(found) == near[module]
        for site, found in analysis.once(_classifiers)
        if site not in {k.site for k in models}
    )
    if others and any(UNKNOWN in options(value) for cls in own for value in cls.attrs.values()):
        return True
    seen: set[Kind] = set()
    pending = [part for kind in options(model) for part in _parts(analysis, kind)]
    while pending:
        kind = pending.pop()
        if kind in seen:
            continue
        seen.add(kind)
        if isinstance(kind, Inst) and (kind.cls == _CLASSIFIER or reporters.intersection(_own(analysis, kind))):
            return True
        pending += _parts(analysis, kind)
    return False


def _reports_for(analysis: Analysis, cls: ClassInfo) -> bool:
    """Whether a class reports values of something else than itself, as of one of its parts."""
    return any(
        isinstance(node, ast.Call)
        and any(isinstance(kind, Ref) and kind.name in REPORTS for kind in options(analysis.kind(node.func)))
        and any(ast.unparse(observer) != "self" for observer in (*node.args[1:], *(k.value for k in node.keywords)))
        for node in nodes_of(cls.node)
    )


def _files(analysis: Analysis) -> dict[ModuleInfo, int]:
    return imports.groups(analysis.project)


def _classifiers(analysis: Analysis) -> list[tuple[int, ModuleInfo]]:
    """Where the program makes an L.Classifier."""
    return [
        (kind.site, module)
        for module in analysis.project.modules.values()
        for call in module.source.of(ast.Call)
        for kind in options(analysis.kind(call))
        if isinstance(kind, Inst) and kind.cls == _CLASSIFIER
    ]


def _own(analysis: Analysis, kind: Inst) -> list[ClassInfo]:
    return [cls for cls in analysis.mro(kind.cls) if isinstance(cls, ClassInfo)]


def _parts(analysis: Analysis, kind: Kind) -> Iterator[Kind]:
    """What an object or a container holds."""
    held: list[Kind] = []
    if isinstance(kind, Inst):
        held = [*analysis.objects.get(kind.site, {}).values()]
        held += [value for cls in _own(analysis, kind) for value in cls.attrs.values()]
    elif isinstance(kind, Tup):
        held = list(kind.items)
    elif isinstance(kind, (Lst, Dct)):
        held = [kind.element]
    for value in held:
        yield from (part for part in options(value) if isinstance(part, (Inst, Tup, Lst, Dct)))


def _reporters(analysis: Analysis) -> frozenset[ClassInfo]:
    """The links of the project whose methods report with themselves as the observer."""
    return frozenset(
        info
        for info in analysis.classes.values()
        if analysis.derives(info, "chainer.Link")
        for node in nodes_of(info.node)
        if isinstance(node, ast.Call) and len(node.args) + len(node.keywords) > 1
        for kind in options(analysis.kind(node.func))
        if isinstance(kind, Ref) and kind.name in REPORTS
    )


__all__ = ["REPORTS", "reports_in_parts"]
