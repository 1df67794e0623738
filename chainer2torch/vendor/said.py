"""The names by which a text may reach a member of an object."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from chainer2torch.analysis.source import Nodes, nodes_of
from chainer2torch.vendor.docstrings import docstrings
from chainer2torch.vendor.said_in_array_modules import MODULES_COMPARED, OF_ARRAY_MODULES, ArrayModules
from chainer2torch.vendor.said_of_constructors import by_position
from chainer2torch.vendor.said_of_left_names import LEFT_AT_IMPORT, of_left_names
from chainer2torch.vendor.said_in_training import OF_TRAINING, UPDATER_SAVES, last, of_training

_WORD = re.compile(r"[^\W\d]\w*")
_NEEDS_CHAINER = re.compile(r"^[ \t]*(import|from)[ \t]+chainer(mn)?\b", re.MULTILINE)
_OWNED = re.compile(r"([\w.]+)\.([^\W\d]\w*)")
_BEHIND_DOT = re.compile(r"\.([^\W\d]\w*)")
_SENTENCE = re.compile(r"[^\W\d]\s+[^\W\d]")  # two words with nothing but a blank between them
_BY_NAME = ("getattr", "setattr", "hasattr", "delattr", "attrgetter", "vars")
_DYNAMIC = {"attrgetter": ("getattr",), "__getattribute__": ("getattr",)}  # they get names as values
_OBJECT_FIRST = ("getattr", "setattr", "hasattr", "delattr")
LOSS_GIVEN = "update_gets_a_loss"  # said where an optimizer's ``update`` may get a function, not only called
EXAMPLES_PADDED = "examples_padded"  # said where a converter of batches may get a ``padding``
_OWNERS = ("chainer.optimizers.", "chainer.GradientMethod", "chainer.Optimizer", "chainer.UpdateRule")
_OPTIMIZERS = ("opt", "rule", "adam", "sgd", "hyperparam")  # what stands in the names of optimizers and their rules
_LIBRARIES = ("chainer", "compat", "torch")
_NO_OPTIMIZERS = frozenset(
    {"arg", "args", "arguments", "config", "flags", "layer", "link", "model", "namespace", "parser"}
)
OWN = frozenset({"Bilinear", "_state", "apply", "beta1", "beta2"})  # `own.apply`: said by a text of the program
_CLASSES = frozenset(
    {"AdaBound", "AdaDelta", "AdaGrad", "Adadelta", "Adagrad", "MSVAG", "MomentumSGD", "NesterovAG", "RMSprop"}
    | {"CorrectedMomentumSGD", "RMSpropGraves", "SMORMS3"}
)  # of optimizers whose names tell it less
_OF_NUMPY = (
    "copy",
    "cumprod",
    "cumsum",
    "dot",
    "fill",
    "flatten",
    "get",
    "max",
    "mean",
    "min",
    "nonzero",
    "repeat",
    "round",
    "sort",
    "std",
    "take",
    "var",
)  # wrapped
OWN_ERRORS = "own_errors"  # said where a class stands on one of errors
_ERRORS = ("Error", "Exception", "Iteration")
WITH = "with"  # said where the block of what may be an iterator is entered
# modules whose objects are none
_OF_OTHER_BLOCKS = frozenset("codecs gzip h5py io np numpy tarfile tempfile tf torch warnings zipfile".split())
# what a text that is no Python may say
_UNREADABLE = {WITH, OWN_ERRORS, EXAMPLES_PADDED, LEFT_AT_IMPORT, *OF_ARRAY_MODULES, *OF_TRAINING}
_LITERALS = (
    ast.Constant,
    ast.JoinedStr,
    ast.Dict,
    ast.DictComp,
    ast.List,
    ast.ListComp,
    ast.Set,
    ast.SetComp,
    ast.Tuple,
)
_OWN_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def words(text: str) -> set[str]:
    """The members that a source text may name; all its words where it is no Python.

    One that imports Chainer and is no Python is migrated when somebody has mended it, which writes the helpers again.
    """
    try:
        return said_in(ast.parse(text), own=True)
    except (SyntaxError, ValueError):
        if _NEEDS_CHAINER.search(text) and "chainer_compat" not in text:
            return set()
        found = set(_WORD.findall(text))
        members = {f"{prefix}.{word}" for prefix in ("", "opt", "set", "own", "of_numpy") for word in found}
        saves = {UPDATER_SAVES} if "serialize" in found else set()
        return found | members | {f"{word}=" for word in found} | _UNREADABLE | saves


def said_in(tree: ast.AST, own: bool = False) -> set[str]:
    """What the nodes of a tree say: see ``said_by``."""
    return said_by(Nodes(nodes_of(tree)), own)


def said_by(nodes: Nodes, own: bool = False) -> set[str]:
    """Attributes, imported names, keywords, what a class says in its body, and the words of strings.

    An attribute is also said with its dot, and so is the name that ``getattr`` is given: these are members for certain.
    One of what is named as optimizers are is also said as ``opt.name``, one that is set as ``set.name``, unless
    ``self`` has it. A keyword, and the key of a dict that may be spread into a call, is also said with ``=`` behind it.
    ``getattr`` is said where only the run tells the name: of any object in a program, of an optimizer in a helper. A
    variable of a function reaches no member, and neither does a docstring or a comment. ``own``: also the names of its
    functions, which may be methods in the place of a helper's.
    """
    documented = {id(docstring) for docstring in docstrings(nodes.of(*_OWN_SCOPE))}
    modules = ArrayModules(nodes, own)
    made = _names_of_optimizers(nodes) if own else frozenset()
    aliases = nodes.of(ast.alias)
    imported = {(alias.asname or alias.name).split(".")[0] for alias in aliases}
    found = {part for alias in aliases for part in alias.name.split(".")}
    wrapped = 0
    for call in nodes.of(ast.Call):
        wrapped += last(call.func).endswith("numpy_methods")
        if isinstance(call.func, ast.Attribute):
            found.update(modules.said_by_call(call, call.func))
        elif isinstance(call.func, ast.Name) and call.func.id in _BY_NAME:
            found |= _by_name(call, call.func.id, own, imported)
        if own and _may_pad_examples(call):
            found.add(EXAMPLES_PADDED)
    for name in _OF_NUMPY if wrapped else ():
        asked = [node for node in nodes.attributes.get(name, ()) if _wraps(node.value)]
        found.update([f"of_numpy.{name}"] if asked else [])
        wrapped -= len(asked)
    found.update(f"of_numpy.{name}" for name in _OF_NUMPY if wrapped)  # one has a name, or goes elsewhere
    for name, attributes in nodes.attributes.items():
        found.update((name, f".{name}", *_DYNAMIC.get(name, ())))
        found.update(_of_optimizer(name, attributes, made))
    for keyword in nodes.keywords:
        if keyword:
            found.update((keyword, f"{keyword}="))
    for display in nodes.of(ast.Dict):
        found.update(f"{key.value!s}=" for key in display.keys if isinstance(key, ast.Constant))
    if any(map(modules.compares, nodes.of(ast.Compare))):
        found.add(MODULES_COMPARED)
    for cls in nodes.of(ast.ClassDef):
        found |= _in_body(cls)
        found.update([OWN_ERRORS] if any(last(base).endswith(_ERRORS) for base in cls.bases) else [])
    texts = {c.value for c in nodes.of(ast.Constant) if isinstance(c.value, str) and id(c) not in documented}
    found.update(*map(_in_text, texts), modules.said_by_members(nodes, texts))
    if own:
        found.update(node.name for node in nodes.of(ast.FunctionDef, ast.AsyncFunctionDef))
        entered = [item.context_expr for block in nodes.of(ast.With, ast.AsyncWith) for item in block.items]
        found.update([WITH] if "enter_context" in found or any(map(_may_be_iterator, entered)) else [])
        found.update(of_training(nodes), of_left_names(nodes), by_position(nodes))
        found.update(f"own.{word}" for word in OWN & found)
    return found | ({LOSS_GIVEN} if "update" in found and _gives_loss(nodes, own) else set())


def said_of_optimizers(symbols: Iterable[str], said: Collection[str]) -> frozenset[str]:
    """What is asked of optimizers whose names do not tell: ``for o in (a, b): o.t``. The analysis has found them out.

    ``symbols``: the names of Chainer's that a file referred to; ``said``: what its output says.
    """
    asked = (symbol.rpartition(".") for symbol in symbols)
    return frozenset(f"opt.{name}" for owner, _, name in asked if owner.startswith(_OWNERS) and f".{name}" in said)


def _of_optimizer(name: str, nodes: Sequence[ast.Attribute], made: Collection[str]) -> Iterator[str]:
    """What the nodes of a member say of an optimizer: of another object it is not asked, or the error says so."""
    if any(_is_named_as_optimizer(node.value) or last(node.value) in made for node in nodes):
        yield f"opt.{name}"
    stored = (node.value for node in nodes if node.ctx.__class__ is not ast.Load)
    if any(not isinstance(value, ast.Name) or value.id != "self" for value in stored):
        yield f"set.{name}"


def _names_of_optimizers(nodes: Nodes) -> frozenset[str]:
    """Names that get an optimizer in this text: ``og = compat.LateAdam(0.1).setup(generator)``, ``for o in (og, od)``,
    ``for m, o in zip(models, optimizers)``.
    """
    found: set[str] = set()
    for node in nodes.of(ast.Assign):
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        if not any(isinstance(v, ast.Call) and any(map(_makes_optimizer, _chain(v))) for v in values):
            continue
        for target in node.targets:
            found.update(last(part) for part in (target.elts if isinstance(target, ast.Tuple) else [target]))
    for loop in nodes.of(ast.For, ast.comprehension):
        walked = [part for part in ast.walk(loop.iter) if isinstance(part, (ast.Name, ast.Attribute))]
        if any(_is_named_as_optimizer(part) or last(part) in found for part in walked):
            found.update(part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name))
    return frozenset(found - {""})


def _makes_optimizer(name: str) -> bool:
    return _is_of_optimizer(name) or name.removeprefix("Late").removeprefix("faithful_") in _CLASSES


def _is_named_as_optimizer(node: ast.expr) -> bool:
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        if isinstance(node, ast.Attribute) and _is_of_optimizer(node.attr):
            return True
        node = node.func if isinstance(node, ast.Call) else node.value
    return isinstance(node, ast.Name) and _is_of_optimizer(node.id)


@functools.lru_cache(maxsize=4096)
def _is_of_optimizer(name: str) -> bool:
    return any(part in name.lower().replace("option", "") for part in _OPTIMIZERS)


def _chain(node: ast.expr) -> Iterator[str]:
    """The names in ``a.b(...).c[...]``."""
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        yield last(node)
        node = node.func if isinstance(node, ast.Call) else node.value
    yield last(node)


def _may_be_iterator(entered: ast.expr) -> bool:
    """Whether ``with`` may enter an iterator: not by ``open(path)``, ``torch.no_grad()`` or ``compat.eval_mode(m)``."""
    if not isinstance(entered, ast.Call):
        return True
    root, *rest = ast.unparse(entered.func).split(".")
    if root in _OF_OTHER_BLOCKS or not rest:
        return not rest and root != "open"
    return root != "compat" or not rest[-1][0].islower() or "iter" in rest[-1]


def _wraps(node: ast.expr) -> bool:
    """``compat.numpy_methods(x)``, of which one method is asked."""
    return isinstance(node, ast.Call) and last(node.func).endswith("numpy_methods")


def _may_pad_examples(call: ast.Call) -> bool:
    """Whether a call may hand ``padding`` to a converter: not that of a convolution or a pooling."""
    converts, others = _may_convert(last(call.func))
    if not converts:
        return not others and any(keyword.arg == "padding" for keyword in call.keywords)
    named = {keyword.arg for keyword in call.keywords}
    by_place = len(call.args) > 2 and last(call.func) != "partial"  # that would bind the examples as well
    return "padding" in named or None in named or by_place or any(isinstance(a, ast.Starred) for a in call.args)


@functools.lru_cache(maxsize=4096)
def _may_convert(name: str) -> tuple[bool, bool]:
    """Whether what has this name may be given a converter, or may pad something else."""
    name = name.lower()
    return (
        any(part in name for part in ("concat", "convert", "collate", "partial")),
        any(part in name for part in ("conv", "pool", "pad", "fold")),
    )


def _by_name(call: ast.Call, function: str, own: bool, imported: Collection[str]) -> set[str]:
    """What a call of ``getattr`` and the like may reach."""
    name = call.args[function in _OBJECT_FIRST :][:1]
    if function != "vars" and name and isinstance(name[0], ast.Constant):
        return {f"{prefix}.{part}" for part in str(name[0].value).split(".") for prefix in ("", "opt", "set")}
    if function == "vars" and own and [*map(last, call.args)] and last(call.args[0]).lower() in _NO_OPTIMIZERS:
        return {function}
    if own and function in _OBJECT_FIRST:
        return {function, "getattr"} if _may_reach(call, function, imported) else {function} - {"getattr"}
    return {function, "getattr"} if own or "optimizer" in ast.unparse(call) else {function} - {"getattr"}


def _may_reach(call: ast.Call, function: str, imported: Collection[str]) -> bool:
    """Whether a call by a name of the run may find that an optimizer lacks a setting, and go on.

    ``getattr`` of two arguments raises then; a module, or an object that asks itself, is no optimizer.
    """
    if not call.args or last(call.args[0]).lower() in _NO_OPTIMIZERS:
        return not call.args
    if _is_named_as_optimizer(call.args[0]):
        return [*_chain(call.args[0])][-1] not in _LIBRARIES  # `compat.OptimizersByName` is a table of classes
    itself = isinstance(call.args[0], ast.Name) and call.args[0].id in ("self", "cls", *imported)
    return not itself and (function != "getattr" or len(call.args) != 2)


def _gives_loss(nodes: Nodes, own: bool) -> bool:
    """Whether something named ``update`` gets what may be a function, or goes elsewhere as a value.

    Only of what is named or made as optimizers are, or gets more than a dictionary takes: another one that gets a loss
    says that it takes none.
    """
    made = _names_of_optimizers(nodes) if own else frozenset()
    several = {id(call.func) for call in nodes.of(ast.Call) if own and len(call.args) > 1}
    plain = {
        id(function)
        for call in nodes.of(ast.Call)
        if (not call.args or isinstance(call.args[0], _LITERALS))
        and not call.keywords  # Chainer's own optimizers pass over those of another one
        for function in ((call.func.body, call.func.orelse) if isinstance(call.func, ast.IfExp) else (call.func,))
    }
    asked = {id(n) for call in nodes.of(ast.Call) if last(call.func) == "hasattr" for n in call.args}
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == "update"
        and id(node) not in plain
        and (_may_be_optimizer(node, made, several) if own else "optimizer" in ast.unparse(node.value))
        or isinstance(node, ast.Constant)
        and node.value == "update"
        and id(node) not in asked
        for node in nodes.of(ast.Attribute, ast.Constant)
    )


def _may_be_optimizer(update: ast.Attribute, made: Collection[str], several: Collection[int]) -> bool:
    return id(update) in several or last(update.value) in made or _is_named_as_optimizer(update.value)


@functools.lru_cache(maxsize=4096)
def _in_text(text: str) -> frozenset[str]:
    """The words of a string that may be a name, a path or code; of a sentence only what stands behind a dot."""
    members = _BEHIND_DOT.findall(text)
    reached = {f".{word}" for word in members}
    reached |= {f"opt.{name}" for owner, name in _OWNED.findall(text) if _is_of_optimizer(owner)}
    return frozenset(reached).union(members if _SENTENCE.search(text) else _WORD.findall(text))


def _in_body(cls: ast.ClassDef) -> set[str]:
    """The names that the body of a class uses itself: ``next = __next__``, ``@epoch.setter``."""
    parts: list[ast.AST] = [part for child in cls.body for part in getattr(child, "decorator_list", [])]
    parts += [child for child in cls.body if not isinstance(child, _OWN_SCOPE)]
    return {node.id for part in parts for node in nodes_of(part) if isinstance(node, ast.Name)}
