"""``L.Classifier`` as a class of the program's own: where one file makes it, it has what this file asks of it.

A model that returns the loss of a batch and reports it with the accuracy is a dozen lines. They stand in the file that
makes the classifier; where several files do, or look into it, one helper serves them all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.components import components
from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Const, Func, Inst, Ref, options
from chainer2torch.analysis.module_index import ClassInfo, ModuleInfo
from chainer2torch.analysis.values import dataclass
from chainer2torch.plan.context import Context
from chainer2torch.rules.signature import BindError

DOTTED = "native.Classifier"
_CLASSIFIER = "chainer.links.Classifier"
_NAME = "Classifier"
_KEPT = ("y", "loss", "accuracy")  # what a classifier keeps of its last batch
_LOOKED_INTO = frozenset({"accfun", "lossfun", "label_key"})
_LOSS = (
    "torch.nn.functional.cross_entropy(y, t.long(), ignore_index=-1, reduction='sum') / (t != -1).sum().clamp(min=1)"
)
_ACCURACY = "(y.argmax(dim=1) == t).to(y.dtype).mean()"


@dataclass(frozen=True)
class _Own:
    """The file that gets the class, and its text."""

    module: ModuleInfo
    text: str


def definition(context: Context) -> tuple[str, str] | None:
    """The name of the class in this file, and its text; None: the helper stands in its place."""
    own = None if context.choices.only else context.analysis.once(_owns).get(context.module)
    return (_NAME, own) if own is not None else None


def _owns(analysis: Analysis) -> dict[ModuleInfo, str]:
    """The texts of the classes, by the files that get them: one for files that can meet in one run."""
    groups = dict.fromkeys(analysis.once(components).values())
    found = (_own(analysis, [m for m in analysis.project.modules.values() if m in group]) for group in groups)
    return {own.module: own.text for own in found if own is not None}


def _own(analysis: Analysis, modules: list[ModuleInfo]) -> _Own | None:
    named = [(module, node) for module in modules for node in _names(analysis, module)]
    if not named or any(module is not named[0][0] for module, _ in named):
        return None
    module = named[0][0]
    given = [_given(analysis, module, node) for _, node in named]
    single = all(_takes_one(analysis, module.source.parents[node]) for _, node in named)
    asked = {name for other in modules for name in other.source.attributes}
    functions = {names for names in given if names is not None}
    if None in given or len(functions) > 1 or _LOOKED_INTO & asked or _is_taken(module, modules):
        return None
    if any(_is_pickled(analysis, call) for other in modules for call in other.source.of(ast.Call)):
        return None
    return _Own(module, _text(next(iter(functions)), asked, single))


def _is_pickled(analysis: Analysis, call: ast.Call) -> bool:
    """``pickle.dump(model, f)``: another program that reads it finds the class in a file that all can import."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    kinds = options(analysis.kind(call.args[0])) if name in ("dump", "dumps") and call.args else ()
    return any(isinstance(kind, Inst) and kind.cls == _CLASSIFIER for kind in kinds)


def _is_taken(module: ModuleInfo, modules: list[ModuleInfo]) -> bool:
    """Whether the name may mean something else in the file, also by ``from net import *`` of some file or library."""
    if any(_NAME in other.source.assigned for other in modules):
        return True
    files = {part for other in modules for part in other.path.removesuffix(".py").split("/")}
    for statement in module.source.of(ast.Import, ast.ImportFrom):
        names = {alias.asname or alias.name for alias in statement.names}
        source = getattr(statement, "module", None) or ""
        own = bool(getattr(statement, "level", 0)) or source.split(".")[-1] in files
        if _NAME in names or "*" in names and not own and source.split(".")[0] != "chainer":
            return True
    return False


def _names(analysis: Analysis, module: ModuleInfo) -> Iterator[ast.expr]:
    """Where a file names Chainer's class."""
    for node, names in analysis.references_in(module.source):
        if _CLASSIFIER in names:
            yield node


def _given(analysis: Analysis, module: ModuleInfo, node: ast.expr) -> frozenset[str] | None:
    """Which functions a call hands to the class; None where it is no call, or one that is not understood."""
    call, row = module.source.parents.get(node), analysis.rules.rows.get(_CLASSIFIER)
    if not isinstance(call, ast.Call) or call.func is not node or row is None or row.signature is None:
        return None
    try:
        bound = row.signature.bind(call.args, call.keywords)
    except BindError:
        return None
    key = bound.given.get("label_key")
    if bound.starred or key is not None and analysis.kind(key) != Const(-1):
        return None
    functions = {name: value for name, value in bound.given.items() if name in ("lossfun", "accfun")}
    plain = all(isinstance(k, (Func, Ref)) for value in functions.values() for k in options(analysis.kind(value)))
    return frozenset(functions) if plain else None


def _takes_one(analysis: Analysis, call: ast.AST) -> bool:
    """Whether the model that a call hands over takes one argument, as far as it shows."""
    predictor = call.args[0] if isinstance(call, ast.Call) and call.args else None
    kinds = options(analysis.kind(predictor)) if predictor is not None else ()
    return bool(kinds) and all(isinstance(k, Inst) and _has_one_parameter(analysis, k) for k in kinds)


def _has_one_parameter(analysis: Analysis, model: Inst) -> bool:
    for cls in analysis.mro(model.cls):
        own = cls.methods if isinstance(cls, ClassInfo) else {}
        method = own.get("__call__") or own.get("forward")
        if method is not None:
            function, a = method.node, method.node.args
            several = a.vararg or a.kwarg or a.defaults or a.kwonlyargs or len(a.posonlyargs) + len(a.args) != 2
            return not several and not isinstance(function, ast.Lambda) and not function.decorator_list
    return False


def _text(given: frozenset[str], asked: set[str], single: bool) -> str:
    """The class, with what it is handed and what is asked of it; ``single``: its model takes one argument."""
    settles = "compute_accuracy" in asked
    functions = [name for name in ("lossfun", "accfun") if name in given]
    ignored = "" if given else ", without labels of -1"
    y, loss, accuracy = (f"self.{name}" if name in asked else name for name in _KEPT)
    lines = [
        f"class {_NAME}(torch.nn.Module):",
        f'    """A model that reports its loss and accuracy{ignored}."""',
        "",
        *(["    compute_accuracy = True", ""] if settles else []),
        f"    def __init__({', '.join(['self', 'predictor', *functions])}):",
        "        super().__init__()",
        "        self.predictor = predictor",
        *(f"        self.{name} = {name}" for name in functions),
        "",
        f"    def forward(self, {'x, t' if single else '*args'}):",
        *([] if single else ["        t = args[-1]"]),
        f"        y = self.predictor({'x' if single else '*args[:-1]'})",
        f"        loss = {'self.lossfun(y, t)' if 'lossfun' in given else _LOSS}",
    ]
    measured = [f"accuracy = {'self.accfun(y, t)' if 'accfun' in given else _ACCURACY}"]
    kept = [f"{long} = {name}" for long, name in ((y, "y"), (loss, "loss")) if long != name]
    lines += [f"        {line}" for line in kept]
    measured += [f"{accuracy} = accuracy"] if accuracy != "accuracy" else []
    report = "pytorch_pfn_extras.reporting.report"
    if settles:
        lines += [f"        {report}({{'loss': loss.detach()}}, self)", "        if self.compute_accuracy:"]
        measured += [f"{report}({{'accuracy': accuracy}}, self)"]
        lines += [f"            {line}" for line in measured]
    else:
        measured += [f"{report}({{'loss': loss.detach(), 'accuracy': accuracy}}, self)"]
        lines += [f"        {line}" for line in measured]
    return "\n".join([*lines, "        return loss"])


__all__ = ["DOTTED", "definition"]
