"""How functions that belong to no module learn whether they run in train mode, in the native style.

Chainer's switch is one for the whole thread; in PyTorch ``model.eval()`` sets a flag at each module. A free function
that drops units gets the flag of the module that calls it, as an argument ``training``, handed on through the functions
in between: else ``model.eval()`` would not reach it.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Mapping

from chainer2torch.analysis.components import components
from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import Func, Ref, Union, options
from chainer2torch.analysis.module_index import FuncInfo, ModuleInfo
from chainer2torch.analysis.source import Source, nodes_of
from chainer2torch.plan.native.block_modes import block_value, read_again
from chainer2torch.plan.native.late_lambdas import late_lambda

NAME = "training"
ASKED = "compat.is_training()"  # what says the mode where nothing else does
_FLAG = "chainer.config.train"
_COPYING = frozenset({"copy.copy", "copy.deepcopy"})
_NAMED = frozenset({Func, Ref, Union})  # what may be a function, or a name that asks for the mode
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclasses.dataclass(frozen=True)
class TrainFlags:
    """What becomes of the functions of a project that ask for the mode, themselves or through others.

    ``handed`` take an argument ``training``. ``constant`` never run in another mode than train mode. ``unclear`` have
    uses that cannot hand them the flag, with the reason. In ``switched`` files, and in those that meet them, the mode
    is set for good, and code that belongs to no module asks for it: whoever is called later has another one. Where only
    modules ask, files that set it to the same mode everywhere are ``settled``. In ``unreached`` files something asks
    that has no module and takes no argument: a function passed as a value, or a lambda. ``unsure`` are those of
    ``handed`` that are called where nothing tells the mode, too, with the reason: what is called there asks the thread.
    """

    handed: frozenset[FuncInfo] = frozenset()
    constant: frozenset[FuncInfo] = frozenset()
    unclear: Mapping[FuncInfo, str] = dataclasses.field(default_factory=dict)
    unsure: Mapping[FuncInfo, str] = dataclasses.field(default_factory=dict)
    switched: frozenset[ModuleInfo] = frozenset()
    settled: frozenset[ModuleInfo] = frozenset()
    unreached: frozenset[ModuleInfo] = frozenset()

    def in_switched(self, source: Source) -> bool:
        """Whether a file is among those in which the mode is set for good."""
        return any(module.source is source for module in self.switched)


def module_flag(analysis: Facts, source: Source, node: ast.AST) -> str | FuncInfo | None:
    """Where the code at a node learns its mode: ``self.training`` of a module, or the function it stands in.

    None: at the top of a file, or in a class.
    """
    inner: FuncInfo | None = None
    child = node
    for ancestor in source.ancestors(node):
        outside = isinstance(child, ast.arguments) or child in getattr(ancestor, "decorator_list", ())
        child = ancestor
        if outside:  # a default, or a decorator: it is made where the function is
            continue
        if not isinstance(ancestor, _Function):
            continue
        info = analysis.functions.get(ancestor)
        if info is None or info.cls is None:
            inner = inner or info
            continue
        plain = not info.is_static and not info.is_classmethod and bool(ancestor.args.args)
        if plain and analysis.derives(info.cls, "chainer.Link"):
            return f"{ancestor.args.args[0].arg}.{NAME}"
        return inner or info
    return inner


def asks_the_first(analysis: Facts, source: Source, node: ast.AST) -> bool:
    """Whether a function that a constructor makes asks for the mode, in a project that copies modules.

    It goes along when the module is copied, and still asks the first one.
    """
    inner = False
    for ancestor in source.ancestors(node):
        if isinstance(ancestor, _Function) and ancestor.name == "__init__":
            return inner and analysis.once(_copies_modules)
        inner = inner or isinstance(ancestor, (ast.Lambda, *_FUNCTIONS))
    return False


def _copies_modules(analysis: Facts) -> bool:
    """Whether something in the project copies objects that may be modules."""
    for module in analysis.project.modules.values():
        if any(not _COPYING.isdisjoint(names) for _, names in analysis.references_in(module.source)):
            return True
        for node in (node for name in ("copy", "repeat") for node in module.source.attributes.get(name, ())):
            if any(map(analysis.is_link, options(analysis.kind(node.value)))):
                return True
    return False


def train_flags(analysis: Facts) -> TrainFlags:
    """The functions of a project that ask for the mode; see ``TrainFlags``. Ask it with ``analysis.once``."""
    together = analysis.once(components)
    calls = _Calls(analysis)
    asking = _closure(set(calls.asking()), calls)
    needing = _needing(asking, calls)
    switches = dict(_switching(analysis))
    by_others = {info.module for info in asking if calls.asks_outside(info)} | calls.asking_outside
    settled = {
        module
        for module in switches
        if not together[module] & by_others
        and len({value for other in together[module] for value in switches.get(other, ())} | {None}) == 2
    }
    switched = frozenset(other for module in switches if module not in settled for other in together[module])
    asking, needing = ({info for info in found if info.module not in switched} for found in (asking, needing))
    unclear: dict[FuncInfo, str] = {}
    for info in needing:
        reason = calls.reason(info)
        if reason:
            unclear[info] = reason
    handed = frozenset(needing - unclear.keys())
    unreached = frozenset(calls.unreached - switched)
    unsure = _unsure(handed, unclear, calls)
    return TrainFlags(handed, frozenset(asking - needing), unclear, unsure, switched, frozenset(settled), unreached)


def asks_the_thread(analysis: Facts, module: ModuleInfo) -> bool:
    """Whether something that meets a file in one run belongs to no module and is told the mode by nobody."""
    flags = analysis.once(train_flags)
    together = analysis.once(components)[module]
    return not together.isdisjoint({info.module for info in flags.unclear} | flags.unreached)


def flag_at(analysis: Facts, source: Source, node: ast.AST) -> str | None:
    """The text that says at a node whether it is train mode; None where nothing says it."""
    flags = analysis.once(train_flags)
    around = block_value(analysis, source, node)
    if around is not None:  # before the module's mode: the block may not name that module
        return read_again(source, around)
    place = module_flag(analysis, source, node)
    if isinstance(place, str):
        return place
    if late_lambda(analysis, source, node) is not None:
        return None
    if place is None and source.enclosing(node, ast.Lambda) is not None:
        return None
    if place is None or place in flags.constant:
        known = flags.handed or flags.constant or flags.unclear
        return "True" if known and not flags.in_switched(source) else None
    return NAME if place in flags.handed else None


def asks(analysis: Facts, name: str) -> bool:
    """Whether a name of Chainer's depends on the mode."""
    if name == _FLAG:
        return True
    row = analysis.rules.rows.get(name) if name.startswith("chainer.functions.") else None
    return row is not None and any("TRAINING" in template for template in row.templates)


def tells_mode(source: Source, node: ast.expr) -> bool:
    """Whether a call of a function of Chainer's says the mode, as in version 1: ``F.dropout(x, train=train)``.

    ``F.dropout(x, ratio, train)`` says it, too: no later version takes three of its arguments by their place.
    """
    call = source.parents.get(node)
    if not isinstance(call, ast.Call) or call.func is not node:
        return False
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    by_place = name == "dropout" and len(call.args) == 3 and not any(isinstance(a, ast.Starred) for a in call.args)
    return by_place or any(k.arg == "train" for k in call.keywords)


def _is_variable(analysis: Facts, source: Source, node: ast.expr) -> bool:
    """Whether a name of the program holds a function, rather than spelling it."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return not isinstance(node, ast.Name) or node.id in analysis.once_a_file(_assigned, source)


def _assigned(source: Source) -> frozenset[str]:
    """The names that a file assigns, or takes as parameters, and does not import."""
    stored = {n.id for n in source.of(ast.Name) if isinstance(n.ctx, ast.Store)}
    stored |= {n.arg for n in source.of(ast.arg)}
    return frozenset(stored - {a.asname or a.name.partition(".")[0] for a in source.of(ast.alias)})


def is_value(analysis: Facts, source: Source, node: ast.AST) -> bool:
    """Whether a function that asks for the mode is not called where it is named, but passed on."""
    parent = source.parents.get(node)
    called = isinstance(parent, ast.Call) and parent.func is node
    return not called and all(k != Ref(_FLAG) for k in options(analysis.kind(node)))


def is_unreached(analysis: Facts, source: Source, node: ast.AST, place: str | FuncInfo | None) -> bool:
    """Whether neither a module nor an argument can tell the mode to what asks for it; ``place`` is its module_flag."""
    value = is_value(analysis, source, node)
    if isinstance(place, str):
        return value and analysis.once(are_compared)
    return value or late_lambda(analysis, source, node) is not None


def are_compared(analysis: Facts) -> bool:
    """Whether the project asks somewhere which of these functions a value is: each bound one is a new object."""
    return any(
        isinstance(kind, Ref) and asks(analysis, kind.name)
        for module in analysis.project.modules.values()
        for compared in module.source.of(ast.Compare)
        for part in (compared.left, *compared.comparators)
        for kind in options(analysis.kind(part))
    )


def _switching(analysis: Facts) -> Iterator[tuple[ModuleInfo, list[bool | None]]]:
    """The files that set the flag for good, with the modes that they set; None: an expression."""
    for module in analysis.project.modules.values():
        found: list[bool | None] = []
        for node in module.source.of(ast.Attribute):
            if node.attr == "train" and isinstance(node.ctx, ast.Store):
                if any(isinstance(k, Ref) and k.name.endswith("config") for k in options(analysis.kind(node.value))):
                    found.append(_constant(module.source.parents.get(node)))
        if found:
            yield module, found


def _constant(statement: ast.AST | None) -> bool | None:
    value = statement.value if isinstance(statement, ast.Assign) else None
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, bool) else None


class _Calls:
    """Who asks for the mode, and who calls whom."""

    def __init__(self, analysis: Facts):
        self.analysis = analysis
        self._asking: set[FuncInfo] = set()
        self._names: dict[str, bool] = {}  # names of Chainer's, and whether what they stand for asks
        # uses of each function: the module, the node that names it, and the call (None: it is not called there)
        self.uses: dict[FuncInfo, list[tuple[ModuleInfo, ast.expr, ast.Call | None]]] = {}
        self.asking_outside: set[ModuleInfo] = set()  # the files that ask outside of a function
        self.unreached: set[ModuleInfo] = set()  # the files in which nothing can tell it to what asks
        self.mixed: set[FuncInfo] = set()  # named where something else may be meant, too
        for module in analysis.project.modules.values():
            for node in module.source.of(ast.Name, ast.Attribute):
                if analysis.kind(node).__class__ in _NAMED:
                    self._look(module, node)

    def asking(self) -> set[FuncInfo]:
        """The functions in which the mode is asked for."""
        return self._asking

    def _look(self, module: ModuleInfo, node: ast.Name | ast.Attribute) -> None:
        kinds = options(self.analysis.kind(node))
        functions = [kind.info for kind in kinds if isinstance(kind, Func)]
        asking = any(isinstance(kind, Ref) and self._asks(kind.name) for kind in kinds)
        if not functions and not asking:
            return
        parent = module.source.parents.get(node)
        call = parent if isinstance(parent, ast.Call) and parent.func is node else None
        for info in functions:
            self.uses.setdefault(info, []).append((module, node, call))
            if len(kinds) > 1:
                self.mixed.add(info)
        if not asking or not isinstance(node.ctx, ast.Load):
            return  # the mode is set there
        if _is_variable(self.analysis, module.source, node) or tells_mode(module.source, node):
            return  # what a variable holds was named elsewhere
        place = module_flag(self.analysis, module.source, node)
        around = block_value(self.analysis, module.source, node)
        unread = around is not None and read_again(module.source, around) is None
        if unread or is_unreached(self.analysis, module.source, node, place):  # also in a block: it is called anywhere
            self.unreached.add(module)
        elif isinstance(place, str) or around is not None:
            return
        elif place is None:
            self.asking_outside.add(module)
        else:
            self._asking.add(place)

    def _asks(self, name: str) -> bool:
        if name not in self._names:
            self._names[name] = asks(self.analysis, name)
        return self._names[name]

    def callers(self, info: FuncInfo) -> Iterator[str | FuncInfo | None]:
        """Where each call of a function learns its mode; a text for a module's flag or the mode of a block."""
        for module, node, call in self.uses.get(info, ()):
            if call is not None:
                yield self._caller(module, node)

    def _caller(self, module: ModuleInfo, node: ast.expr) -> str | FuncInfo | None:
        around = block_value(self.analysis, module.source, node)
        said = around and read_again(module.source, around)
        if said:
            return said
        place = module_flag(self.analysis, module.source, node)
        late = not isinstance(place, str) and late_lambda(self.analysis, module.source, node) is not None
        if around is not None or late:
            self.unreached.add(module)
            return ASKED
        return place

    def asks_outside(self, info: FuncInfo) -> bool:
        """Whether something else than a module, a block with a mode or such a function may call it."""
        callers = list(self.callers(info))
        return not callers or not {None, ASKED}.isdisjoint(callers) or bool(self.reason(info))

    def reason(self, info: FuncInfo) -> str:
        """Why a function cannot be handed the flag; empty where it can."""
        node = info.node
        if isinstance(node, ast.Lambda) or info.is_changed or info.is_property:
            return "what a lambda or a decorated function is called with is not changed"
        if info in self.mixed or any(call is None for _, _, call in self.uses.get(info, ())):
            return "it is passed as a value: its callers hand it no mode"
        if info.cls is not None and (
            node.name.startswith("__") or any(isinstance(base, str) for base in self.analysis.mro(info.cls)[1:])
        ):
            return "it is called by a library"
        if any(isinstance(n, ast.Name) and n.id == NAME for n in nodes_of(node)) or any(
            isinstance(n, ast.arg) and n.arg == NAME for n in nodes_of(node)
        ):
            return f"it has a name `{NAME}` of its own"
        return ""


def _closure(asking: set[FuncInfo], calls: _Calls) -> set[FuncInfo]:
    """The functions that ask, and those that call one of them outside of a module and of a block with a mode."""
    found, pending = set(asking), list(asking)
    while pending:
        for place in calls.callers(pending.pop()):
            if isinstance(place, FuncInfo) and place not in found:
                found.add(place)
                pending.append(place)
    return found


def _unsure(handed: frozenset[FuncInfo], unclear: Mapping[FuncInfo, str], calls: _Calls) -> dict[FuncInfo, str]:
    """The handed functions that something calls which is not handed the mode, and those that they call; with why."""
    found: dict[FuncInfo, str] = {}
    pending = sorted(handed, key=lambda info: (str(info.module.path), info.node.lineno))
    for info in pending:
        for place in calls.callers(info):
            if place == ASKED:
                found[info] = "a lambda calls it, and no module is known there"
            elif isinstance(place, FuncInfo) and place in unclear:
                found[info] = f"`{place.name}` calls it: {unclear[place]}"
    while True:
        more = {
            info: found[place]
            for info in pending
            if info not in found
            for place in calls.callers(info)
            if isinstance(place, FuncInfo) and place in found
        }
        if not more:
            return found
        found |= more


def _needing(asking: set[FuncInfo], calls: _Calls) -> set[FuncInfo]:
    """Those of them that run in more than train mode: called from a module, a block, or by nobody that is seen.

    What a package defines may be called by others.
    """
    found = {
        info
        for info in asking
        if not calls.uses.get(info)
        or calls.analysis.project.is_package(info.module.directory)
        or any(isinstance(place, str) for place in calls.callers(info))
    }
    while True:
        more = {info for info in asking - found if any(place in found for place in calls.callers(info))}
        more |= {info for info in asking - found if any(call is None for _, _, call in calls.uses[info])}
        if not more:
            return found
        found |= more
