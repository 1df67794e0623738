"""``save_npz(path, model)`` becomes ``torch.save(model.state_dict(), path)``: the difference ``weight-files``.

``load_npz`` becomes ``load_state_dict(torch.load(path, map_location="cpu"))``: Chainer, too, reads into host memory
first, and a file that Chainer wrote raises.
"""

from __future__ import annotations

import ast
import re

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.kinds import NONE, UNKNOWN, Inst, Kind, Method, Ref, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand, ReplaceStatement
from chainer2torch.plan.native.concerns import is_native, native_objects
from chainer2torch.plan.native.objects import Objects
from chainer2torch.plan.native.optimizers import SAVED
from chainer2torch.plan.native.places import function_of
from chainer2torch.plan.project_rules import has_short_optimizers, reads_its_archives
from chainer2torch.plan.parts.npz_paths import Named, named
from chainer2torch.rules.signature import BindError, Bound

_SAVE = "torch.save(obj.state_dict(), file)"
_SAVE_MANAGER = "torch.save(native.manager_state(obj), file)"
_LOAD = "obj.load_state_dict(torch.load(file, map_location='cpu'))"
_LOAD_SOME = "obj.load_state_dict(torch.load(file, map_location='cpu'), strict=strict)"
_LOAD_PART = "obj.load_state_dict(native.state_part(file, path))"
_SAVE_OWN = "native.save_object(file, obj)"
_LOAD_OWN = "native.load_object(file, obj)"
_LOAD_EXCEPT = "native.load_except(file, obj, ignore_names)"
_FILE = ("file", "filename")  # what the functions call the first parameter
_TRAINER = "chainer.training.Trainer"
_UPDATER = "chainer.training.updaters.Updater"
_STATES = ("chainer.Optimizer", _TRAINER)
_PARTS = ("chainer.dataset.Iterator", "chainer.training.Extension", "chainer.training.Updater")
_SEEN = frozenset({"builtins", "chainer", "chainermn", "object"})  # libraries whose classes the rules know
_ONLY = frozenset({"file", "filename", "obj", "compression", "strict", "path", "ignore_names"})


def run(context: Context) -> Decisions:
    """The decisions for all files of weights of a file."""
    decisions = Decisions(context)
    if context.choices.style != "native":
        _mark_trainers(context, decisions)
    elif is_native(context):
        objects = native_objects(context)
        for call in context.source.of(ast.Call):
            name = context.reference(call.func)
            if name is not None and name in SAVED and context.kind(call.func) == Ref(name):
                _file(context, decisions, objects, call, name)
        _values(context, decisions, objects)
    return decisions


def _mark_trainers(context: Context, decisions: Decisions) -> None:
    """``save_npz(path, trainer)`` in the other style: what is trained with is saved in Chainer's layout, no trainer."""
    for call in context.source.of(ast.Call):
        name = context.reference(call.func) or ""
        if name not in SAVED or ".save_" not in name or context.kind(call.func) != Ref(name) or len(call.args) < 2:
            continue
        if _may_be(context, call.args[1], _TRAINER) or _may_be(context, call.args[1], _UPDATER):
            message = "it has no state in Chainer's layout: use torch.save(trainer.state_dict(), file)"
            decisions.mark(call.func, context.rules.rows[name], name, "manual", message)


def _values(context: Context, decisions: Decisions, objects: Objects) -> None:
    """``load = serializers.load_npz``: a function of a file and an object, as long as all that is saved has a state.

    An extension saves trainers: a manager hands its models to those that say that they need them. Files of two kinds
    would not fit each other.
    """
    if reads_its_archives(context.analysis, context.module) or context.analysis.once(_hidden_protocols):
        return
    if objects.once(_some_call_keeps_its_form):
        return
    needing: set[ast.Assign] = set()
    for node in context.source.of(ast.Name, ast.Attribute):
        assert isinstance(node, (ast.Name, ast.Attribute))
        name = context.reference(node)
        if name not in SAVED or not isinstance(node.ctx, ast.Load) or context.kind(node) != Ref(name):
            continue
        extension = _extension_around(context, node)
        setting = _setting_in(extension) if extension is not None else None
        if _is_called(context, node) or extension is not None and setting is None:
            continue
        if setting is not None and setting not in needing:
            needing.add(setting)
            operands = {"name": context.operand(setting.targets[0]), "value": context.operand(setting.value)}
            start = context.source.start(setting)
            decisions.edit(setting, ReplaceStatement(start, "needs_model_state = True\nname = value", operands))
        what = "object" if context.analysis.once(_own_protocols) else "state"
        decisions.replace(node, f"native.{'save' if '.save_' in name else 'load'}_{what}", {})
        decisions.use(node)
        decisions.mark(node, context.rules.rows[name], name, "exact", difference="weight-files")


def _some_call_keeps_its_form(objects: Objects) -> bool:
    """Whether a call of the project reads or writes Chainer's files, or asks a function that has a name for more."""
    for module in objects.analysis.project.modules.values():
        context = objects.context(module)
        for call in context.source.of(ast.Call):
            kind = context.kind(call.func)
            if not isinstance(kind, Ref) or kind.name not in SAVED:
                continue
            if context.reference(call.func) == kind.name:
                if _arguments(context, objects, call, kind.name) is None:
                    return True
            elif len(call.args) != 2 or call.keywords:
                return True
    return False


def _is_called(context: Context, node: ast.expr) -> bool:
    """Whether a function is called here, handed to Chainer (``savefun=``), or given arguments that only its own has."""
    parent = context.source.parents.get(node)
    if isinstance(parent, ast.keyword):
        return True
    return isinstance(parent, ast.Call) and (
        parent.func is node or bool(parent.keywords) or context.reference(parent.func) is not None
    )


def _extension_around(context: Context, node: ast.AST) -> ast.ClassDef | None:
    """The class of an extension in which a node stands."""
    while (parent := context.source.parents.get(node)) is not None:
        info = context.analysis.classes.get(parent) if isinstance(parent, ast.ClassDef) else None
        if info is not None and context.analysis.derives(info, "chainer.training.Extension"):
            return info.node
        node = parent
    return None


def _setting_in(cls: ast.ClassDef) -> ast.Assign | None:
    """A setting in the body of a class, such as ``priority = -100``, beside which another one can stand."""
    found = (node for node in cls.body if isinstance(node, ast.Assign) and len(node.targets) == 1)
    return next((node for node in found if isinstance(node.targets[0], ast.Name)), None)


def _file(context: Context, decisions: Decisions, objects: Objects, call: ast.Call, name: str) -> None:
    bound, row = _arguments(context, objects, call, name), context.rules.rows[name]
    if bound is None:
        if len(call.args) > 1 and _may_be(context, call.args[1], _UPDATER):
            message = "an updater has no file of its own: save and load the trainer"
            decisions.mark(call.func, row, name, "manual", message)
        return
    path = next(bound.given[n] for n in _FILE if n in bound.given)
    operands = {"obj": context.operand(bound.given["obj"]), "file": context.operand(path)}
    others = ("strict", "path", "ignore_names")
    operands |= {key: context.operand(bound.given[key]) for key in others if key in bound.given}
    template = _template(context, name, bound)
    if template == _SAVE and _is_saved_by_extension(context, objects, bound.given["obj"]):
        template = _SAVE_MANAGER
    if template == _LOAD and _is_tried(context, call) and not objects.of(context.kind(bound.given["obj"])):
        template, operands["ignore_names"] = _LOAD_EXCEPT, Operand(code="()")
    if name.endswith("save_npz"):
        template = _as_numpy_names(context, decisions, path, template)
    decisions.replace(call, template, operands)
    decisions.use(call.func)
    settings = template == _LOAD and any(_may_be(context, bound.given["obj"], one) for one in _STATES)
    decisions.mark(call.func, row, row.name, "exact", difference="loaded-settings" if settings else "weight-files")


def _as_numpy_names(context: Context, decisions: Decisions, path: ast.expr, template: str) -> str:
    """The template for a file of the name that NumPy gives it: ``.npz`` stands behind a path."""
    how, literal = named(context, path)
    if how is Named.WITHOUT and literal is not None and isinstance(literal.value, str):
        decisions.replace(literal, repr(literal.value + ".npz"), {})
    elif how is not Named.AS_GIVEN:
        return re.sub(r"\bfile\b", "native.npz_path(file)", template)
    return template


def _arguments(context: Context, objects: Objects, call: ast.Call, name: str) -> Bound | None:
    """The arguments of a call that becomes torch.save or load_state_dict; None: it keeps its form."""
    row = context.rules.rows[name]
    assert row.signature is not None
    try:
        bound = row.signature.bind(call.args, call.keywords)
    except BindError:
        return None
    given = bound.given
    path = next((given[n] for n in _FILE if n in given), None)
    if path is None or "obj" not in given or not given.keys() <= _ONLY or {"strict", "path"} <= given.keys():
        return None
    if _ignores(context, bound) and {"strict", "path"} & given.keys():
        return None
    if _may_say_itself(context, given["obj"]) and given.keys() & {"strict", "path", "ignore_names"}:
        return None
    return bound if is_native_file(context, objects, given["obj"], path) else None


def _may_be(context: Context, obj: ast.expr, base: str) -> bool:
    """Whether an object is a trainer, or an updater: one that an earlier run has migrated is known by names only."""
    kinds, word = options(context.kind(obj)), base.rpartition(".")[2]
    if any(_derives(context, k, base) or _is_migrated(k, word) for k in kinds):
        return True
    unseen = any(k == UNKNOWN or isinstance(k, Method) for k in kinds)  # what a helper's object has under that name
    return unseen and ast.unparse(obj).rpartition(".")[2].lower().endswith(word.lower())


def _is_migrated(kind: Kind, word: str) -> bool:
    name = (kind.cls if isinstance(kind.cls, str) else kind.cls.name) if isinstance(kind, Inst) else ""
    return name.startswith("chainer_compat.") and name.endswith(word)


def _derives(context: Context, kind: Kind, base: str) -> bool:
    return isinstance(kind, Inst) and context.analysis.derives(kind.cls, base)


def _is_saved_by_extension(context: Context, objects: Objects, obj: ast.expr) -> bool:
    """Whether a trainer is saved elsewhere than where it was made: extensions may not ask a manager for its models."""
    trainers = [k for k in options(context.kind(obj)) if isinstance(k, Inst) and _derives(context, k, _TRAINER)]
    if not trainers:
        return context.kind(obj) == UNKNOWN and ast.unparse(obj).rpartition(".")[2].lower().endswith("trainer")
    makers = [objects.analysis.makers.get(kind.site) for kind in trainers]
    scope, known = function_of(context, obj), context.source.parents
    return not all(m is not None and m in known and function_of(context, m) is scope for m in makers)


def _is_tried(context: Context, call: ast.Call) -> bool:
    """Whether a key that is missing is expected: ``load_state_dict`` raises another error than KeyError."""
    tried = context.source.enclosing(call, ast.Try, ast.FunctionDef)
    if not isinstance(tried, ast.Try) or not any(call in set(nodes_of(line)) for line in tried.body):
        return False
    caught = [node for handler in tried.handlers if handler.type is not None for node in nodes_of(handler.type)]
    return any(isinstance(node, ast.Name) and node.id in ("KeyError", "LookupError") for node in caught)


def _ignores(context: Context, bound: Bound) -> bool:
    return "ignore_names" in bound.given and context.kind(bound.given["ignore_names"]) != NONE


def _template(context: Context, name: str, bound: Bound) -> str:
    own = _may_say_itself(context, bound.given["obj"])
    if ".save_" in name:
        return _SAVE_OWN if own else _SAVE
    if own:
        return _LOAD_OWN
    if _ignores(context, bound):
        return _LOAD_EXCEPT
    if "path" in bound.given:
        return _LOAD_PART
    return _LOAD_SOME if "strict" in bound.given else _LOAD


def is_native_file(context: Context, objects: Objects, obj: ast.expr, path: ast.expr) -> bool:
    """Whether an object has a ``state_dict`` that is all that Chainer saves of it."""
    if _is_buffer(context, path) or reads_its_archives(context.analysis, context.module):
        return False
    kind = context.kind(obj)
    if objects.is_native(kind):
        return True
    if not objects.of(kind) and _may_be(context, obj, _UPDATER):
        return False
    training = [k for k in options(kind) if objects.of(k)]
    if not all(objects.is_native(k) or _has_state(context, k) for k in training):
        return False
    others = [k for k in options(kind) if k not in training]
    known = (_is_link, _has_unseen_base, _says_itself)
    if not all(k == UNKNOWN or any(is_known(context, k) for is_known in known) for k in others):
        return False
    links_only = all(_is_link(context, k) for k in others)
    return not others or not context.analysis.once(_links_with_protocol if links_only else _hidden_protocols)


def _may_say_itself(context: Context, obj: ast.expr) -> bool:
    """Whether an object may be one of a plain class of the project that says what is saved of it."""
    unknown = context.analysis.once(_own_protocols)
    return any(_says_itself(context, k) or k == UNKNOWN and unknown for k in options(context.kind(obj)))


def _says_itself(context: Context, kind: Kind) -> bool:
    return isinstance(kind, Inst) and isinstance(kind.cls, ClassInfo) and _is_plain(context.analysis, kind.cls)


def _is_plain(analysis: Analysis, cls: ClassInfo) -> bool:
    """Whether a class has a method ``serialize``, and no base but the project's own."""
    owners = [owner for owner in analysis.mro(cls) if owner != "builtins.object"]
    own = all(isinstance(owner, ClassInfo) for owner in owners)
    return own and any(isinstance(owner, ClassInfo) and "serialize" in owner.methods for owner in owners)


def _has_state(context: Context, kind: Kind) -> bool:
    """Whether an object that keeps Chainer's form has a ``state_dict`` in this style."""
    if not isinstance(kind, Inst) or not any(context.analysis.derives(kind.cls, base) for base in _STATES):
        return False
    if context.analysis.derives(kind.cls, "chainer.Optimizer"):
        return has_short_optimizers(context.analysis, context.module)
    return not context.analysis.once(_links_with_protocol)


def _is_link(context: Context, kind: Kind) -> bool:
    return isinstance(kind, Inst) and context.analysis.is_link(kind)


def _has_unseen_base(context: Context, kind: Kind) -> bool:
    """Whether a class is one of another library, or of one that stays, or derives from it: a model, as it is saved."""
    if not isinstance(kind, Inst):
        return False
    owners = [owner for owner in context.analysis.mro(kind.cls) if isinstance(owner, str)]
    return any(owner.partition(".")[0] not in _SEEN or _stays(context, owner) for owner in owners)


def _stays(context: Context, owner: str) -> bool:
    """Whether a class of Chainer's has no counterpart: where it is made, the program ends."""
    row = context.rules.rows.get(owner)
    return owner.startswith("chainer.links.") and (row is None or row.state == "manual")


def _links_with_protocol(analysis: Analysis) -> bool:
    """Whether a link of the project says itself what is saved of it."""
    own = (cls for cls in analysis.classes.values() if "serialize" in cls.methods)
    return any(analysis.derives(cls, "chainer.Link") for cls in own)


def _own_protocols(analysis: Analysis) -> bool:
    """The same of any object that may be saved by itself; extensions and iterators are saved as parts of a trainer."""
    own = (cls for cls in analysis.classes.values() if "serialize" in cls.methods)
    return any(not any(analysis.derives(cls, base) for base in _PARTS) for cls in own)


def _hidden_protocols(analysis: Analysis) -> bool:
    """The same where it is no plain class of the project: a link, for which ``state_dict`` would be asked."""
    own = (cls for cls in analysis.classes.values() if "serialize" in cls.methods)
    others = (cls for cls in own if not any(analysis.derives(cls, base) for base in _PARTS))
    return any(not _is_plain(analysis, cls) for cls in others)


def _is_buffer(context: Context, path: ast.expr) -> bool:
    """Whether what is written stays in memory, where the program itself may look at it."""
    if not isinstance(path, ast.Name):
        return isinstance(path, ast.Call) and ast.unparse(path.func).endswith("BytesIO")
    return any(
        isinstance(value := node.value, ast.Call)
        and ast.unparse(value.func).rpartition(".")[2] == "BytesIO"
        and any(isinstance(target, ast.Name) and target.id == path.id for target in node.targets)
        for node in context.source.of(ast.Assign)
    )


__all__ = ["is_native_file", "run"]
