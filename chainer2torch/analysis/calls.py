"""Kinds of call results, and how arguments feed the parameters of the project's own functions."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from chainer2torch.analysis.models import array_kinds, data, link_lists, protocols
from chainer2torch.analysis.bound import bind_kinds
from chainer2torch.analysis.kinds import (
    BOTTOM,
    UNKNOWN,
    Batch,
    Class,
    Const,
    Dct,
    Func,
    HostArray,
    Inst,
    Kind,
    Lst,
    Method,
    Ref,
    Scalar,
    Tensor,
    Tup,
    Union,
    element_of,
    generalized,
    join,
    join_all,
    options,
    parse_spec,
)
from chainer2torch.analysis.libraries import adapted
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.rules.table import Row
from chainer2torch.rules.signature import BindError

if TYPE_CHECKING:
    from chainer2torch.analysis.flow import Analysis

_TYPES = {
    "int": "int",
    "float": "float",
    "str": "str",
    "bool": "bool",
    "len": "int",
    "round": "int",
    "id": "int",
    "repr": "str",
    "isinstance": "bool",
    "hasattr": "bool",
    "callable": "bool",
    "any": "bool",
    "all": "bool",
}
# losses and metrics are of some floating type, whichever the input has
_FLOATING = frozenset({"functions/loss.toml", "functions/evaluation.toml"})
# methods that only links have: what they give is known whatever they are called on
_WITH_KEY = frozenset({"builtins.max", "builtins.min", "builtins.sorted"})
_CALL_FOR_ITEMS = _WITH_KEY | {"builtins.filter", "builtins.map"}
# what moves an array to a device
_SENDS = frozenset({"chainer.backend.Device.send", "chainer.dataset.to_device", "chainer.backends.cuda.to_gpu"})
_STR_LISTS = frozenset({"split", "rsplit", "splitlines"})


class Calls:
    """The part of the analysis that evaluates calls (mixed into Analysis)."""

    def _expr_Call(self: Analysis, node: ast.Call) -> Kind:  # type: ignore[misc]
        callee = self.expr(node.func)
        args = [self.expr(a) for a in node.args]
        keywords: dict[str, Kind] = {}
        starred = pending = False
        for keyword in node.keywords:
            kind = self.expr(keyword.value)
            if keyword.arg is None:
                starred = True
            else:
                keywords[keyword.arg] = kind
                pending = pending or kind is BOTTOM
        for a, kind in zip(node.args, args):
            starred = starred or a.__class__ is ast.Starred
            pending = pending or kind is BOTTOM
        if callee is BOTTOM or pending:
            protocols.awaited(self, callee, args, node)
            return BOTTOM
        given, rest = _spread(node, args) if starred else (args, None)
        results: list[Kind] = []
        for option in callee.ordered if isinstance(callee, Union) else (callee,):
            if isinstance(option, (Class, Func, Inst)):
                results.append(self.call(option, given, keywords, node, rest))
            else:
                results.append(self.call(option, args, keywords, node, UNKNOWN if starred else None))
        return join_all(results)

    def call(  # type: ignore[misc]
        self: Analysis,
        callee: Kind,
        args: list[Kind],
        keywords: dict[str, Kind],
        node: ast.Call | None,
        rest: Kind | None = None,
    ) -> Kind:
        """The result of calling a value; ``rest`` is what more arguments may follow (``*batch``, ``**options``)."""
        if isinstance(callee, Func):
            return self.call_function(callee.info, callee.receiver, args, keywords, node, rest)
        if isinstance(callee, Class):
            return self._construct(callee.info, args, keywords, node, rest)
        if isinstance(callee, Inst):
            return self._call_instance(callee, args, keywords, node, rest)
        if isinstance(callee, Method):
            return self._call_method(callee, args, keywords, node)
        # Chainer's functions and Python's own call functions that they get, but no models.
        calls_models = not (
            isinstance(callee, Ref)
            and callee.name.startswith(("chainer", "builtins.", "numpy.", "copy."))
            or isinstance(callee, Ref)
            and adapted(callee.name)
        )
        fed = protocols.fed_functions(self, callee, args, keywords) if isinstance(callee, Ref) else []
        if isinstance(callee, Ref) and callee.name in _CALL_FOR_ITEMS:
            fed = [self._call_for_items(callee.name, args, keywords)]
        for kind in (*args, *keywords.values()):
            if (calls_models or not isinstance(kind, Inst)) and not any(kind is one for one in fed):
                self.escape(kind)
        if isinstance(callee, Ref) and node is not None:
            return self._call_ref(callee.name, args, keywords, node, rest is not None)
        if callee == UNKNOWN and node is not None and protocols.walks_link(self, node):
            return parse_spec(self.rules.rows[f"?.{node.func.attr}"].returns)  # type: ignore[attr-defined]
        return UNKNOWN

    def _call_for_items(  # type: ignore[misc]
        self: Analysis, name: str, args: list[Kind], keywords: dict[str, Kind]
    ) -> Kind | None:
        """``map(function, items)``, ``sorted(items, key=function)``: gives the function if it is of the project."""
        function = keywords.get("key") if name in _WITH_KEY else args[0] if len(args) > 1 else None
        items = args[:1] if name in _WITH_KEY else args[1:]
        if not isinstance(function, Func) or not items or name in _WITH_KEY and len(args) > 1:
            return None
        self.call(function, [self.iterated(kind) for kind in items], {}, None)
        return function

    # -- functions and classes of the project ----------------------------------------------------------------------

    def call_function(  # type: ignore[misc]
        self: Analysis,
        func: FuncInfo,
        receiver: Kind | None,
        args: list[Kind],
        keywords: dict[str, Kind],
        node: ast.Call | None,
        rest: Kind | None = None,
    ) -> Kind:
        """Feeds the parameters and gives what is known of the return value."""
        if func.is_changed:
            self.escape(Func(func))
            for kind in (*args, *keywords.values()):
                self.escape(kind)
            return UNKNOWN
        a = func.node.args
        names = [p.arg for p in (*a.posonlyargs, *a.args)]
        if func.cls is not None and not func.is_static and names and receiver is not None:
            names = names[1:]
        fed = dict(zip(names, args))
        fed.update({k: v for k, v in keywords.items() if k in names or k in {p.arg for p in a.kwonlyargs}})
        filled: set[str] = set()
        if rest is not None:
            others = [p.arg for p in a.kwonlyargs] if rest == UNKNOWN else []
            filled = {n for n in (*names, *others) if n not in fed}
            fed.update((n, rest) for n in (*names, *others) if n in filled)
        func.called = True
        for name, kind in fed.items():
            self.feed(func, name, kind)
        for name, default in zip([*names[::-1], *(p.arg for p in a.kwonlyargs)], [*a.defaults[::-1], *a.kw_defaults]):
            if default is not None and (name not in fed or name in filled and rest != UNKNOWN):
                self.feed(func, name, generalized(self.facts.get(default, UNKNOWN)))
        for kind in args[len(names) :]:
            self.escape(kind)
        self.reads(func, "return")
        return func.returns if func.returns is not None else UNKNOWN if self.widened(func) else BOTTOM

    def feed(self: Analysis, func: FuncInfo, name: str, kind: Kind) -> None:  # type: ignore[misc]
        """Joins an argument into a parameter."""
        if kind is BOTTOM:
            return
        if isinstance(kind, HostArray):
            func.host_fed.add(name)
        old = func.params.get(name)
        new = UNKNOWN if self.widened(func) and old not in (None, kind) else join(old, kind)
        if new != old:
            func.params[name] = new
            self.enqueue(func)

    def _construct(  # type: ignore[misc]
        self: Analysis,
        cls: ClassInfo,
        args: list[Kind],
        keywords: dict[str, Kind],
        node: ast.Call | None,
        rest: Kind | None,
    ) -> Kind:
        made = Inst(cls, self.site(node) if node is not None else 0)
        init = self.class_attribute(cls, "__init__", made)
        if isinstance(init, Func):
            self.call_function(init.info, made, args, keywords, node, rest)
        else:
            for base in self.mro(cls):
                if isinstance(base, str):
                    self._record(made, base, args, keywords)
                    if base == protocols.CLASSIFIER:
                        protocols.hold_predictor(self, cls, args, keywords)
                    data.hold_targets(self, cls, args, keywords)
                    break
        return made

    def escape(self: Analysis, kind: Kind) -> None:  # type: ignore[misc]
        """A value goes where its uses cannot be seen: its parameters may then be anything."""
        for option in options(kind):
            if isinstance(option, Func):
                names = [p.arg for p in option.info.node.args.args]
                for name in names[1:] if option.info.cls is not None and not option.info.is_static else names:
                    self.feed(option.info, name, UNKNOWN)
            elif isinstance(option, (Lst, Dct)):
                if isinstance(option.element, (Func, Inst)):
                    self.escape(option.element)
            elif isinstance(option, Inst) and isinstance(option.cls, str) and option.site in self.layer_inputs:
                self.layer_inputs[option.site] = join(self.layer_inputs[option.site], Tensor())
            elif isinstance(option, Inst) and isinstance(option.cls, ClassInfo) and self.is_link(option):
                for method in ("forward", "__call__"):
                    found = self.class_attribute(option.cls, method, option)
                    if isinstance(found, Func):
                        for p in found.info.node.args.args[1:]:
                            self.feed(found.info, p.arg, UNKNOWN)

    # -- values outside the project --------------------------------------------------------------------------------

    def _call_instance(  # type: ignore[misc]
        self: Analysis,
        callee: Inst,
        args: list[Kind],
        keywords: dict[str, Kind],
        node: ast.Call | None,
        rest: Kind | None = None,
    ) -> Kind:
        if self.is_link(callee):
            if rest == UNKNOWN:
                # one is something; what follows is tensors, as in any call that is not seen
                stars = node is not None and any(isinstance(a, ast.Starred) for a in node.args)
                args, rest = [*args, UNKNOWN] if stars else args, None
            args = [array_kinds.entering(a) for a in args]
            rest = rest and array_kinds.entering(rest)
            keywords = {k: array_kinds.entering(v) for k, v in keywords.items()}
        if isinstance(callee.cls, ClassInfo):
            own = self.derives(callee.cls, "chainer.Function")  # calls `forward` in its own way
            for method in ("__call__",) if own else ("__call__", "forward"):
                found = self.class_attribute(callee.cls, method, callee)
                if isinstance(found, Func):
                    return self.call_function(found.info, callee, args, keywords, node, rest)
        if rest is not None:
            args = [*args, rest]
        for kind in (*args, *keywords.values()):
            self.escape(kind)
        if self.is_link(callee):
            return protocols.call_link(self, callee, args, keywords, node)
        return protocols.call_own_function(self, callee)

    def _call_method(  # type: ignore[misc]
        self: Analysis, method: Method, args: list[Kind], keywords: dict[str, Kind], node: ast.Call | None
    ) -> Kind:
        receiver, name = method.receiver, method.name
        registers = (
            name == "__init__"
            and isinstance(receiver, Inst)
            and receiver.cls == "chainer.Chain"
            or name == "add_link"
            and args
            and isinstance(args[0], Const)
        )
        if (
            not isinstance(receiver, (Lst, Dct))
            and not registers
            and not (isinstance(receiver, Inst) and protocols.hands_on(self, receiver, name, node))
        ):
            for kind in (*args, *keywords.values()):
                self.escape(kind)
        if isinstance(receiver, Inst):
            return self.method_result(receiver, name, args, node, keywords)
        if isinstance(receiver, Tensor) and not receiver.array:
            row = self.rules.member("chainer.Variable", name)
            if row is not None:
                return self.row_result(row, args, keywords, receiver)
            return array_kinds.array_method(receiver, name, args, keywords)
        if isinstance(receiver, (Tensor, HostArray)):
            return array_kinds.array_method(receiver, name, args, keywords)
        if isinstance(receiver, Dct):
            return self.dict_method(receiver, name, args, keywords, node)
        if isinstance(receiver, Lst):
            if name == "sort" and isinstance(keywords.get("key"), Func):
                self.call(keywords["key"], [receiver.element], {}, None)
            return self.list_method(receiver, name, args, node)
        if name in _STR_LISTS:
            return Lst(Scalar("str"))
        return Scalar("str") if name in ("format", "join", "strip", "lower", "upper", "replace") else UNKNOWN

    def method_result(  # type: ignore[misc]
        self: Analysis,
        receiver: Inst,
        name: str,
        args: list[Kind],
        node: ast.AST | None,
        keywords: dict[str, Kind] | None = None,
    ) -> Kind:
        """The result of a method of an object outside the project (or inherited from outside)."""
        if isinstance(receiver.cls, ClassInfo):
            found = self.class_attribute(receiver.cls, name, receiver)
            if isinstance(found, Func):
                return self.call_function(found.info, receiver, args, keywords or {}, None)
        if receiver.cls in array_kinds.GENERATORS:
            return array_kinds.numpy_call(f"random.{name}", args, keywords or {})
        special = protocols.method(self, receiver, name, args, node)
        if special is not None:
            return special
        for owner in self.mro(receiver.cls):
            if isinstance(owner, str):
                row = self.rules.member(owner, name)
                if row is not None:
                    return self.row_result(row, args, keywords or {}, receiver)
        return UNKNOWN

    def _call_ref(  # type: ignore[misc]
        self: Analysis, name: str, args: list[Kind], keywords: dict[str, Kind], node: ast.Call, starred: bool
    ) -> Kind:
        if name.startswith("builtins."):
            return self._call_builtin(name[9:], args, node)
        if name in array_kinds.GENERATORS:
            return Inst(name)
        if name.startswith("numpy."):
            return array_kinds.numpy_call(name[6:], args, keywords)
        if name == "argparse.ArgumentParser":
            return Inst(name, self.site(node))
        if name in ("collections.OrderedDict", "collections.defaultdict") and (not args or name.endswith("tdict")):
            return Dct(BOTTOM)
        if name in ("copy.copy", "copy.deepcopy") and args:
            return args[0]
        if args and adapted(name):
            return args[0]
        row = self.rules.rows.get(name)
        if name.startswith(("chainer", "cupy")) and name.rsplit(".", 1)[-1][:1].isupper():
            if row is not None and row.returns != "unknown":
                return self.row_result(row, args, keywords, None)
            made = Inst(name, self.site(node))
            self._record(made, name, [] if starred else args, keywords)
            if self.rules.is_subclass(name, "chainer.ChainList"):
                link_lists.made(self, made.site, args, node)
            return made
        if row is not None:
            return self.row_result(row, args, keywords, None)
        return UNKNOWN

    def _record(  # type: ignore[misc]
        self: Analysis, made: Inst, cls: str, args: list[Kind], keywords: dict[str, Kind]
    ) -> None:
        row = self.rules.rows.get(cls)
        bound = bind_kinds(row, args, keywords, None) if row is not None else dict(keywords)
        if cls == "chainer.Chain":  # its keywords are its children
            bound = dict(keywords)
        elif cls == "chainer.Link":  # its keywords are the shapes of its parameters
            bound = {name: protocols.parameter_of(kind) for name, kind in keywords.items()}
        old = self.objects.setdefault(made.site, {})
        for key, kind in bound.items():
            old[key] = join(old.get(key), kind)
        protocols.constructed(self, cls, old)

    def row_result(  # type: ignore[misc]
        self: Analysis, row: Row, args: list[Kind], keywords: dict[str, Kind], receiver: Kind | None
    ) -> Kind:
        """What a rule says of the result."""
        found = array_kinds.row_kind(row.name, args, keywords, receiver)
        if found is not None:
            return found
        bound = bind_kinds(row, args, keywords, receiver)
        name = row.name.rsplit(".", 1)
        if name[0] == "chainer.functions" or name[0] == "chainer.Variable":
            if name[0] == "chainer.Variable" and receiver is not None:
                bound.setdefault("x", receiver)
            shaped = array_kinds.shape_function(name[1], bound)
            if shaped is not None:
                return shaped
        elif name[0] == "chainer.datasets":
            loaded = data.loaded(name[1], bound)
            if loaded is not None:
                return loaded
        elif row.name in _SENDS and isinstance(bound.get("x", bound.get("array", bound.get("arrays"))), HostArray):
            sent = bound.get("x", bound.get("array", bound.get("arrays")))
            return Tensor(sent.rank, sent.dtype, array=True)  # type: ignore[union-attr]
        elif row.name == "chainer.dataset.concat_examples":
            return data.batched(element_of(bound.get("batch", UNKNOWN)))
        kind = parse_spec(row.returns, bound)
        if row.table in _FLOATING and isinstance(kind, Tensor) and kind.dtype is None:
            return Tensor(kind.rank, "floating")
        return kind

    def _call_builtin(self: Analysis, name: str, args: list[Kind], node: ast.Call) -> Kind:  # type: ignore[misc]
        if name == "super":
            return self._super()
        if name in _TYPES:
            return Scalar(_TYPES[name])
        first = args[0] if args else UNKNOWN
        if name == "range":
            return Lst(Scalar("int"))
        if name in ("list", "tuple", "sorted", "reversed", "iter", "set"):
            return Lst(self.iterated(first)) if args else Lst(UNKNOWN)
        if name == "filter" and len(args) > 1:
            return Lst(self.iterated(args[1]))
        if name in ("max", "min") and len(args) == 1 and isinstance(first, Lst):
            return first.element
        if name == "next":
            return self.method_result(first, "next", [], node) if isinstance(first, Inst) else element_of(first)
        if name == "enumerate":
            return Lst(Tup((Scalar("int"), self.iterated(first))))
        if name == "zip":
            return data.zipped(self, args, node)
        if name == "dict":
            values = {k.arg: self.facts.get(k.value, UNKNOWN) for k in node.keywords if k.arg}
            if not args and not node.keywords:
                return Dct(BOTTOM)
            return Dct(join_all(list(values.values())), tuple(values.items()))
        if name in ("abs", "sum", "max", "min") and isinstance(first, (Tensor, Scalar, Const)):
            return first if name == "abs" else UNKNOWN
        if name == "sum" and isinstance(first, (Lst, Tup)):
            return join(element_of(first), None)
        if name == "getattr" and len(args) > 1 and isinstance(args[1], Const) and isinstance(args[1].value, str):
            return self.attribute(first, args[1].value)
        if name == "open":
            return UNKNOWN
        return UNKNOWN

    def _super(self: Analysis) -> Kind:  # type: ignore[misc]
        cls = self.func.cls if self.func is not None else None
        if cls is None:
            return UNKNOWN
        parents = []
        for base in cls.bases:
            for option in options(base):
                if isinstance(option, Class):
                    parents.append(Inst(option.info))
                elif isinstance(option, Ref):
                    parents.append(Inst(option.name))
        return parents[0] if parents else UNKNOWN


__all__ = ["Batch", "BindError", "Calls"]


def _spread(node: ast.Call, args: list[Kind]) -> tuple[list[Kind], Kind | None]:
    """The arguments of a call with stars, one by one as far as they can be counted, and what may follow."""
    given: list[Kind] = []
    for argument, kind in zip(node.args, args):
        if not isinstance(argument, ast.Starred):
            given.append(kind)
        elif isinstance(kind, Tup):
            given += kind.items
        else:
            return given, element_of(kind) if isinstance(kind, (Batch, Lst)) else UNKNOWN
    return given, UNKNOWN if any(keyword.arg is None for keyword in node.keywords) else None
