"""What a text says about updaters, evaluators, their converters and devices: the parts of helpers that it needs."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from chainer2torch.analysis.source import Nodes, nodes_of

OPTIONS_GIVEN = "options_by_position"  # said where updaters or evaluators may get options without their names
OWN_CONVERTERS = "own_converters"  # said where they may get another converter than ``collate``
DEVICE_NUMBERS = "device_numbers"  # said where a device may be a number, or a name, instead of a torch.device
DEVICE_NAMES = "device_names"  # said where it may be a name or a number in a text: '@numpy', 'cuda:0', '-1'
OBJECTS_COPIED = "objects_copied"  # said where ``copy.copy`` or ``copy.deepcopy`` is called or imported
TRAINING_SAVED = "training_saved"  # said where the state of a whole training may be saved or loaded
UPDATER_SAVES = "updater_saves"  # said where a class of updaters may say itself what is saved of it
OWN_STEPS = "own_steps"  # said where an optimizer of a class of its own may compute the loss in its ``update``
EVALUATES = "evaluates"  # said where an evaluator may run the `evaluate` of its base
OF_TRAINING = frozenset(
    {OPTIONS_GIVEN, OWN_CONVERTERS, DEVICE_NUMBERS, DEVICE_NAMES, OBJECTS_COPIED, TRAINING_SAVED, EVALUATES, OWN_STEPS}
)
_LOSSES = frozenset({"lossfun", "loss_func", "lossfunc", "loss_fun"})
_OPTIMIZERS = ("opt", "grad", "method", "adam", "sgd", "prop", "ada")  # what stands in the names of their classes
_NO_UPDATERS = ("Extension", "Iterator", "Trigger", "UpdaterBase", "object", "Module", "ModuleList", "LogReport")
_LAYERS = ("Chain", "ChainList", "Link", "Module", "Linear", "Conv2d", "Convolution2D", "Dataset", "BatchNorm")
_DEVICES = frozenset({"device", "devices", "input_device"})
_MAKE_DEVICES = frozenset({"torch.device", "compat.get_device", "compat.device_of", "compat.find_device"})
_COPYING = frozenset({"copy", "deepcopy"})
_STATES = frozenset({"state_dict", "load_state_dict"})
_OF_TRAINING = ("train", "updat", "manager", "iter")  # what stands in the names of its objects
_BEFORE_CONVERTER = 2  # arguments of an updater or evaluator
_NAMES_OF_CONVERTERS = ("conv", "collat", "concat", "batch", "pad", "lambda")
_OF_LIBRARY = frozenset({"StandardUpdater", "ParallelUpdater", "MultiprocessParallelUpdater", "Evaluator", "Updater"})
_CONVERTING = ("collate", "concat_examples", "convert")
_DIGITS = 3  # the number of a GPU has fewer
_NAME_OF_DEVICE = re.compile(r"(@(numpy|cupy|intel64)|native)(:|$)|(cuda|gpu):\d|-\d+$")
_NAMES_OF_DEVICES = ("device", "gpu", "cuda")


def of_training(nodes: Nodes) -> Iterator[str]:
    """The words of this module that the nodes of a tree say."""
    classes = _classes(nodes)
    calls = nodes.of(ast.Call)
    if any(_gives(call, 4, classes) for call in calls):
        yield OPTIONS_GIVEN
    texts = {node.value for node in nodes.of(ast.Constant) if node.value.__class__ is str}
    if any(_gives(call, _BEFORE_CONVERTER, classes) for call in calls) or _names_converter(nodes, texts):
        yield OWN_CONVERTERS
    if _copies(nodes):
        yield OBJECTS_COPIED
    if any(map(_saves, _members(nodes, _STATES))):
        yield TRAINING_SAVED
    if any(map(_may_step_itself, nodes.of(ast.ClassDef))):
        yield OWN_STEPS
    if any(map(_may_be_updater_that_saves, nodes.of(ast.ClassDef))):
        yield UPDATER_SAVES
    if _names_device(nodes, texts):
        yield DEVICE_NAMES
    if "Evaluator" in texts or _evaluates(nodes):
        yield EVALUATES
    devices = _Devices(nodes, classes)
    if any(
        not devices.is_device(value)
        for node in nodes.of(ast.Call, ast.Dict, ast.Assign)
        for value in devices.given(node)
    ):
        yield DEVICE_NUMBERS


def _evaluates(nodes: Nodes) -> bool:
    """Whether an evaluator is made, or derived without an ``evaluate`` of its own, or one asks for that of its base."""
    names = [node for node in nodes.of(ast.Name) if node.id == "Evaluator"]
    members = [node for node in _members(nodes, ("Evaluator",)) if last(node.value) != "extensions"]
    asked = [node.value for node in _members(nodes, ("evaluate",))]
    classes = nodes.of(ast.ClassDef) if names or members else []
    bases = {id(base) for cls in classes if _says_evaluation(cls) for base in cls.bases}
    return any(id(node) not in bases for node in (*names, *members)) or any(
        isinstance(value, ast.Call) and last(value.func) == "super" or last(value).endswith("Evaluator")
        for value in asked
    )


def _says_evaluation(cls: ast.ClassDef) -> bool:
    """Whether a class says itself what an evaluator does: ``evaluate``, or all of ``__call__``, which runs that."""
    methods = {child.name for child in cls.body if isinstance(child, ast.FunctionDef)}
    if "__call__" not in methods or "evaluate" in methods:
        return "evaluate" in methods
    return not any(isinstance(node, ast.Attribute) and node.attr == "__call__" for node in nodes_of(cls))


def _may_step_itself(cls: ast.ClassDef) -> bool:
    """Whether a class may be one of optimizers with an ``update(lossfun, *args)`` of its own."""
    named = any(part in last(base).lower() for base in cls.bases for part in _OPTIMIZERS)
    methods = (child for child in cls.body if isinstance(child, ast.FunctionDef) and child.name == "update")
    return any(
        not _LOSSES.isdisjoint(a.arg for a in nodes_of(method.args) if isinstance(a, ast.arg))
        or named
        and (method.args.vararg is not None or len(method.args.args) > 1)
        for method in methods
    )


def _may_be_updater_that_saves(cls: ast.ClassDef) -> bool:
    saves = any(isinstance(child, ast.FunctionDef) and child.name == "serialize" for child in cls.body)
    return saves and bool(cls.bases) and not all(last(base).endswith(_NO_UPDATERS) for base in cls.bases)


class _Classes:
    """The classes of a text: the names of its updaters and evaluators, and what stands in its layers and data sets."""

    def __init__(self) -> None:
        self.training: set[str] = set()
        self.in_training: set[int] = set()
        self.in_layers: set[int] = set()

    def is_of_training(self, name: str) -> bool:
        """Whether a call of this name makes an updater or an evaluator."""
        return name in self.training or is_of_training(name)


def _classes(nodes: Nodes) -> _Classes:
    found, layers = _Classes(), set()
    for cls in nodes.of(ast.ClassDef):
        if any(map(found.is_of_training, map(last, cls.bases))):
            found.training.add(cls.name)
            found.in_training.update(map(id, nodes_of(cls)))
        if cls.bases and all(last(base).endswith(_LAYERS) or last(base) in layers for base in cls.bases):
            layers.add(cls.name)  # their ``__init__`` is no updater's
            found.in_layers.update(map(id, nodes_of(cls)))
    return found


def _gives(call: ast.Call, number: int, classes: _Classes) -> bool:
    """Whether an updater or an evaluator gets more than ``number`` arguments by position, or what is in a list."""
    name, is_long = last(call.func), len(call.args) > number
    if is_long and name == "__init__" and id(call) not in classes.in_layers:
        return True
    if not classes.is_of_training(name):
        return False
    if is_long and number == _BEFORE_CONVERTER and _is_own(call, name):
        is_long = any(part in ast.unparse(call.args[number]).lower() for part in _NAMES_OF_CONVERTERS)
    return is_long or any(isinstance(item, ast.Starred) for item in call.args)


def _is_own(call: ast.Call, name: str) -> bool:
    """Whether a class of the program's own is made, most of which have parameters of their own."""
    return name not in _OF_LIBRARY and not ast.unparse(call.func).startswith("compat.")


def _members(nodes: Nodes, names: Iterable[str]) -> Iterator[ast.Attribute]:
    return (node for name in names for node in nodes.attributes.get(name, ()))


def _names_converter(nodes: Nodes, texts: Collection[object]) -> bool:
    stored = (not isinstance(node.ctx, (ast.Load, ast.Del)) for node in _members(nodes, ("converter",)))
    return "converter" in nodes.keywords or "converter" in texts or any(stored)


def _copies(nodes: Nodes) -> bool:
    if any(node.module == "copy" for node in nodes.of(ast.ImportFrom)):
        return True
    owners = (node.value for node in _members(nodes, _COPYING))
    return any(isinstance(owner, ast.Name) and owner.id == "copy" for owner in owners)


def _names_device(nodes: Nodes, texts: Collection[Any]) -> bool:
    """Whether a text may be the name of a device, or what is not known is asked for its device."""
    if "get_device" in nodes.attributes or any(map(_NAME_OF_DEVICE.match, texts)):
        return True
    defaults = (node.value for node in nodes.keywords.get("default", ()))  # of an option: '0', ['0', '1']
    parts = (part.value for value in defaults for part in nodes_of(value) if isinstance(part, ast.Constant))
    return any(isinstance(text, str) and text.isdecimal() and len(text) < _DIGITS for text in parts)


def _saves(node: ast.Attribute) -> bool:
    return any(part in ast.unparse(node.value).lower() for part in _OF_TRAINING)


class _Devices:
    """The values of a text that updaters, evaluators and converters are given as devices."""

    def __init__(self, nodes: Nodes, classes: _Classes):
        self.classes, self._nodes = classes, nodes
        self._is_read = False
        self.assigned: dict[str, list[ast.expr]] = {}
        self.parameters: set[str] = set()
        self.handed_on: set[int] = set()  # parameters of an updater's ``__init__``: its callers have given them

    def _read(self) -> None:
        """Looks at the names of the text, when the first device is asked for: most texts give none."""
        if self._is_read:
            return
        self._is_read = True
        for node in self._nodes.of(ast.Assign, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self.assigned.setdefault(_text(target), []).append(node.value)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                own = {a.arg for a in nodes_of(node.args) if isinstance(a, ast.arg)}
                if getattr(node, "name", "") == "__init__" and id(node) in self.classes.in_training:
                    inside = (n for n in nodes_of(node) if isinstance(n, ast.Name) and n.id in own)
                    self.handed_on.update(id(name) for name in inside)
                else:
                    self.parameters |= own - self._with_devices(node)

    def _with_devices(self, function: ast.AST) -> set[str]:
        """The parameters of ``lambda *batch, device=torch.device('cpu'): ...``, which nobody gives another value."""
        if not isinstance(function, ast.Lambda):
            return set()
        pairs = zip(function.args.kwonlyargs, function.args.kw_defaults)
        found = {arg.arg: value for arg, value in pairs if value is not None and self.is_device(value)}
        for name, value in found.items():
            self.assigned.setdefault(name, []).append(value)
        return set(found)

    def given(self, node: ast.AST) -> Iterator[ast.expr]:
        """What a node gives as a device."""
        if isinstance(node, ast.Call) and last(node.func) == "dict":
            yield from (keyword.value for keyword in node.keywords if keyword.arg in _DEVICES)
        elif isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values)
            yield from (v for k, v in pairs if isinstance(k, ast.Constant) and k.value in _DEVICES)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
                    yield from (node.value for _ in range(target.slice.value in _DEVICES))
        elif isinstance(node, ast.Call):
            yield from self._given_to(node)

    def _given_to(self, call: ast.Call) -> Iterator[ast.expr]:
        name = last(call.func)
        of_training = self.classes.is_of_training(name) or name == "__init__" and id(call) not in self.classes.in_layers
        converts = any(part in name.lower() for part in _CONVERTING)
        if of_training or converts or name == "partial":
            yield from (keyword.value for keyword in call.keywords if keyword.arg in _DEVICES)
        if of_training:
            own = _is_own(call, name) and name != "__init__"
            yield from (value for value in call.args[3:4] if not own or _may_be_device(value))
            if own:  # a class of the program's own takes it where it likes
                others = (value for value in (*call.args[:3], *call.args[4:]) if not isinstance(value, ast.Constant))
                yield from filter(_may_be_device, others)
            if name != "__init__":  # what an ``__init__`` hands on, its callers have given
                spread = (keyword.value for keyword in call.keywords if keyword.arg is None)
                yield from (value for value in spread if not self._is_display(value))
        elif converts:
            yield from (value for value in call.args[1:2] if _may_be_device(value))
        elif name in ("to_device", "to_gpu") and ast.unparse(call.func).partition(".")[0] == "compat":
            yield from call.args[:1] if name == "to_device" else call.args[1:2]

    def _is_display(self, value: ast.expr, asked: frozenset[str] = frozenset()) -> bool:
        """Whether a dictionary is written down in the text, so that its keys and values are seen there."""
        self._read()
        if isinstance(value, ast.Name):
            if value.id in asked:
                return True  # ``options = options or {}``: what the others give
            values = self.assigned.get(value.id, [])
            return bool(values) and all(self._is_display(v, asked | {value.id}) for v in values)
        return isinstance(value, ast.Dict) or isinstance(value, ast.Call) and last(value.func) == "dict"

    def is_device(self, value: ast.expr, asked: frozenset[str] = frozenset()) -> bool:
        """Whether an expression is a torch.device, or None; ``asked`` are the names that lead to it."""
        self._read()
        if isinstance(value, ast.Constant):
            return value.value is None
        if isinstance(value, ast.IfExp):
            return self.is_device(value.body, asked) and self.is_device(value.orelse, asked)
        if isinstance(value, ast.Call):
            return ast.unparse(value.func) in _MAKE_DEVICES
        if id(value) in self.handed_on:
            return True
        if isinstance(value, ast.Attribute) and value.attr in _DEVICES and ast.unparse(value) not in self.assigned:
            own = last(value.value) == "self" and id(value) in self.classes.in_training
            if own or isinstance(value.value, ast.Call) or is_of_training(last(value.value)):
                return True
        if isinstance(value, (ast.Name, ast.Attribute)) and (name := ast.unparse(value)) not in self.parameters:
            if name in asked:
                return True  # ``self.device = self.device``: what the other assignments say
            values = self.assigned.get(name, [])
            return bool(values) and all(self.is_device(one, asked | {name}) for one in values)
        return False


def _may_be_device(value: ast.expr) -> bool:
    """Whether the second argument of something that converts is a device, as far as its name says."""
    if isinstance(value, (ast.Constant, ast.UnaryOp)):
        return True
    return any(part in ast.unparse(value).lower() for part in _NAMES_OF_DEVICES)


def _text(node: ast.expr) -> str:
    """The text of an expression, most of which are paths here."""
    parts: list[str] = []
    inner = node
    while isinstance(inner, ast.Attribute):
        parts.append(inner.attr)
        inner = inner.value
    return ".".join([inner.id, *reversed(parts)]) if isinstance(inner, ast.Name) else ast.unparse(node)


def last(node: ast.expr) -> str:
    """The last name of a path."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


@functools.lru_cache(maxsize=4096)
def is_of_training(name: str) -> bool:
    """Whether something of this name may be an updater or an evaluator."""
    lower = name.lower()
    return "updater" in lower or "evaluator" in lower


__all__ = ["OF_TRAINING", "TRAINING_SAVED", "is_of_training", "last", "of_training"]
