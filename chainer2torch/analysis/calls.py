"""Calls: which function, class or object is called, and how arguments feed the project's own functions."""

from __future__ import annotations

import ast

from chainer2torch.analysis.announced import given_by, overriding
from chainer2torch.analysis.library_calls import LibraryCalls
from chainer2torch.analysis.models import assigned, data, field_classes, iteration, named_tuples, partials
from chainer2torch.analysis.models import link_lists, sent, sequences
from chainer2torch.analysis.narrowing import of_rank, with_rank
from chainer2torch.analysis.models.demands import keeps_rank, rank_demanded
from chainer2torch.analysis.models.callbacks import fed_functions
from chainer2torch.analysis.models.filled import by_callee
from chainer2torch.analysis.models.chosen_returns import chosen_return
from chainer2torch.analysis.models.class_methods import class_of, made_by, subclasses
from chainer2torch.analysis.models.parameters import COUNTED
from chainer2torch.analysis.models.link_calls import can_only_be_link_method, is_item
from chainer2torch.analysis.models.keyword_parameters import ANY_KEYWORD, keywords_among, keywords_taken, spread
from chainer2torch.analysis.models.link_children import CLASSIFIER, NAMESPACE, hold_predictor, register
from chainer2torch.analysis.kinds import (
    BOTTOM,
    UNKNOWN,
    Class,
    Const,
    Dct,
    Func,
    HostArray,
    Inst,
    Kind,
    Lst,
    Method,
    NamedTuple,
    Partial,
    Perhaps,
    Ref,
    Scalar,
    Tensor,
    Tup,
    Union,
    Unknown,
    options,
)
from chainer2torch.analysis.lattice import called_of, element_of, generalized, join, join_all, lacks_element, says_more
from chainer2torch.analysis.kind_specs import parse_spec
from chainer2torch.analysis.libraries import adapted
from chainer2torch.analysis.models import array_kinds, decorated, possible, starred_arguments
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo

# methods that only links have: what they give is known whatever they are called on
_WITH_KEY = frozenset({"builtins.max", "builtins.min", "builtins.sorted"})
_TAKE_SHAPES = frozenset({"broadcast_to", "empty", "full", "ones", "reshape", "sum_to", "zeros"})
_PLAIN = ("chainer", "builtins.", "numpy.", "copy.")
# functions of Python's that call nothing of what they get, nor give it on
_LOOKING = frozenset(f"builtins.{name}" for name in "bool hash id isinstance len print repr str type".split())
_NEVER_CALLED = frozenset({Const, Scalar, Tensor, HostArray, Ref, Unknown, Perhaps})  # what ``escape`` passes over
_CALL_FOR_ITEMS = _WITH_KEY | {"builtins.filter", "builtins.map", "functools.reduce", "itertools.starmap"}
_HOLDS_NONE = frozenset(
    {Const, Scalar, Tensor, Ref, Unknown, Perhaps, Inst, Func, Class}
)  # no array of the host is in these


class Calls(LibraryCalls):
    """The part of the analysis that evaluates calls ."""

    def _expr_Call(self, node: ast.Call) -> Kind:
        callee = self.expr(node.func)
        if isinstance(callee, Union):  # what is called is none of the values that nobody can call
            callee = self.facts[node.func] = called_of(callee)
        args = [self.expr(a) for a in node.args]
        keywords: dict[str, Kind] = {}
        starred = pending = False
        for keyword in node.keywords:
            kind = self.expr(keyword.value)
            if keyword.arg is None:
                of_project = any(map(_takes_keywords, options(callee)))
                inside = spread(self.module.source, keyword.value, kind) if of_project else None
                known = inside if inside is not None else keywords_among(kind) if of_project else {}
                keywords.update(known)
                pending = pending or any(k is BOTTOM for k in known.values())
                starred = starred or inside is None
            else:
                keywords[keyword.arg] = kind
                pending = pending or kind is BOTTOM
        for a, kind in zip(node.args, args):
            starred = starred or a.__class__ is ast.Starred
            pending = pending or kind is BOTTOM
        if callee is BOTTOM or pending:
            self._await_arguments(callee, args, node)
            return BOTTOM
        if self._may_be_chainers(callee):  # arrays enter it as tensors, whichever it is
            args = [array_kinds.entering(kind) for kind in args]
            keywords = {name: array_kinds.entering(kind) for name, kind in keywords.items()}
        assigned.called(self, node, callee, args, keywords, starred)
        given, rest = starred_arguments.counted(self.facts, node, args) if starred else (args, None)
        results: list[Kind] = []
        for option in callee.ordered if isinstance(callee, Union) else (callee,):
            if isinstance(option, (Class, Func, Inst, NamedTuple, Partial)):
                results.append(self.call(option, given, keywords, node, rest))
            else:
                results.append(self.call(option, args, keywords, node, UNKNOWN if starred else None))
        demanded = rank_demanded(callee, node, self.makers.get) if node.args else None
        if demanded is not None:  # from here on: another would have raised
            if isinstance(node.args[0], ast.Name):
                self.scopes[0].update(of_rank(node.args[0], demanded, self.scopes[0].get))
            if keeps_rank(callee):
                results = [with_rank(kind, demanded) for kind in results]
        found = join_all(results)
        if found == UNKNOWN and is_item(node):  # `chain.__getitem__('l%d' % i)` is `chain['l%d' % i]`
            found = self.item(self.facts.get(node.func.value, UNKNOWN), node.args[0], args[0])  # type: ignore[attr-defined]
        if found == UNKNOWN and (heirs := subclasses(self, node)) is not None:
            return heirs
        if found == UNKNOWN and isinstance(callee, (Method, Ref)) and any(map(lacks_element, args)):
            return self.not_yet()  # `xp.vstack(rows)` of rows that are to come
        if not isinstance(found, Unknown):
            return found
        found = possible.called(self, node, callee, args, keywords, found)
        return decorated.called(self, node, found) if isinstance(callee, Unknown) else found

    def _may_be_chainers(self, callee: Kind) -> bool:
        """Whether it is a function or link of Chainer's or a function of the project: ``losses[name](y, t)``."""
        if not isinstance(callee, Union):
            return False
        kinds = [k.function if isinstance(k, Partial) else k for k in options(callee)]
        return any(isinstance(k, Func) for k in kinds) and any(
            isinstance(k, Ref) and k.name.startswith("chainer.functions.") or isinstance(k, Inst) and self.is_link(k)
            for k in kinds
        )

    def _await_arguments(self, callee: Kind, args: list[Kind], node: ast.Call) -> None:
        """A call with arguments that are not known yet is evaluated later; what is certain of it is noted now.

        The function that it calls has a caller, and the child that ``add_link`` makes is to come.
        """
        for option in options(callee):
            if isinstance(option, Func):
                option.info.called = True
            elif (
                isinstance(option, Method)
                and isinstance(option.receiver, Inst)
                and option.name in ("__init__", "add_link", "add_param")
                and self.is_link(option.receiver)
            ):
                register(self, option.receiver, option.name, args, node)

    def call(
        self,
        callee: Kind,
        args: list[Kind],
        keywords: dict[str, Kind],
        node: ast.Call | None,
        rest: Kind | None = None,
    ) -> Kind:
        """The result of calling a value; ``rest`` is what more arguments may follow (``*batch``, ``**options``)."""
        if isinstance(callee, Func):
            own = self.call_function(callee.info, callee.receiver, args, keywords, node, rest)
            others = overriding(self, callee, node)
            if others and any(map(_holds_host_array, (*args, *keywords.values()))):  # else it is a tensor there, too
                others_give = [self.call_function(k.info, k.receiver, args, keywords, node, rest) for k in others]
                return join_all([own, *others_give])
            return join_all([own, *given_by(self, others)])
        if isinstance(callee, Class):
            return self._construct(callee.info, args, keywords, node, rest)
        if isinstance(callee, Inst):
            return self.call_instance(callee, args, keywords, node, rest)
        if isinstance(callee, Partial):
            return partials.called(self, callee, args, keywords, rest)
        if isinstance(callee, Ref) and callee.name == partials.PARTIAL and rest is None:
            made = partials.made(args, keywords)
            if made is not None:
                return made
        if isinstance(callee, NamedTuple):
            return named_tuples.constructed(callee, args, keywords, rest)
        if node is not None and isinstance(callee, (Method, Ref)) and callee.name.rpartition(".")[2] in _TAKE_SHAPES:
            args, keywords = _with_shapes(node, args, keywords)
        if args and isinstance(named := self._named_constructor(callee, node), Method):
            callee, args = named, args[1:]
        if isinstance(callee, Method):
            return self.call_method(callee, args, keywords, node)
        # Chainer's functions and Python's own call functions that they get, but no models.
        calls_models = not (isinstance(callee, Ref) and (callee.name.startswith(_PLAIN) or adapted(callee.name)))
        fed = fed_functions(self, callee, args, keywords) if isinstance(callee, Ref) else []
        if isinstance(callee, Ref) and callee.name in _CALL_FOR_ITEMS:
            fed = [self._call_for_items(callee.name, args, keywords)]
        # `dict(a=f)`: what its items are is known
        known = isinstance(callee, Ref) and callee.name == "builtins.dict" and not args
        looks = isinstance(callee, Ref) and callee.name in _LOOKING
        for kind in (*args, *(() if known else keywords.values())):
            if kind.__class__ not in _NEVER_CALLED and (calls_models or not _are_objects(kind, looks)):
                if not any(kind is one for one in fed):
                    self.escape(kind)
        if isinstance(callee, Ref) and node is not None:
            return self.call_reference(callee.name, args, keywords, node, rest is not None)
        if callee == UNKNOWN and node is not None and can_only_be_link_method(self, node):
            return parse_spec(self.rules.rows[f"?.{node.func.attr}"].returns)  # type: ignore[attr-defined]
        return UNKNOWN

    def _named_constructor(self, callee: Kind, node: ast.Call | None) -> Kind | None:
        """What ``chainer.Chain.__init__(self, fc=...)`` calls; also ``Base.__init__`` of a base without one."""
        if isinstance(callee, Ref) and callee.name.endswith(".__init__"):
            return Method(Inst(callee.name.removesuffix(".__init__")), "__init__")
        function = node.func if node is not None else None
        if callee != UNKNOWN or not isinstance(function, ast.Attribute) or function.attr != "__init__":
            return None
        base = self.facts.get(function.value)
        return self.class_attribute(base.info, "__init__", Inst(base.info)) if isinstance(base, Class) else None

    def _call_for_items(self, name: str, args: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
        """``map(function, items)``, ``sorted(items, key=function)``: gives the function if it is of the project."""
        function = keywords.get("key") if name in _WITH_KEY else args[0] if len(args) > 1 else None
        items = args[:1] if name in _WITH_KEY else args[1:]
        if not isinstance(function, Func) or not items or name in _WITH_KEY and len(args) > 1:
            return None
        if name == "functools.reduce":
            iteration.reduced(self, args)
            return function
        if name == "itertools.starmap":
            return function if iteration.star_mapped(self, args) is not None else None
        self.call(function, [self.iterated(kind) for kind in items], {}, None)
        return function

    # -- functions and classes of the project ----------------------------------------------------------------------

    def call_function(
        self,
        func: FuncInfo,
        receiver: Kind | None,
        args: list[Kind],
        keywords: dict[str, Kind],
        node: ast.Call | None,
        rest: Kind | None = None,
    ) -> Kind:
        """Feeds the parameters and gives what is known of the return value."""
        if func.is_changed and func.wrapper is None:
            self.escape(Func(func))
            for kind in (*args, *keywords.values()):
                self.escape(kind)
            return UNKNOWN
        a, signature = func.node.args, func.signature
        names, bound = signature.positional, ""
        own = class_of(func, receiver)
        if own is not None and names:
            self.feed(func, names[0], own)
        if func.cls is not None and not func.is_static and names and receiver is not None:
            bound, names = names[0], names[1:]
        fed = dict(zip(names, args))
        fed.update({k: v for k, v in keywords.items() if k in names or k in signature.by_keyword})
        filled: set[str] = set()
        if rest is not None:
            others = signature.by_keyword if rest == UNKNOWN else []
            filled = {n for n in (*names, *others) if n not in fed}
            fed.update((n, rest) for n in (*names, *others) if n in filled)
        func.called = True
        if a.kwarg is not None:
            fed.update(keywords_taken(func, keywords, rest))
        for name, kind in fed.items():
            self.feed(func, name, kind)
        for name, default in signature.defaults:
            if name != bound and (name not in fed or name in filled and rest != UNKNOWN):
                self.feed(func, name, generalized(self.facts.get(default, UNKNOWN)))
        for kind in args[len(names) :]:
            self.escape(kind)
            if a.vararg is not None:
                self.feed(func, a.vararg.arg, kind)
        if a.vararg is not None and rest is None:
            self.feed(func, COUNTED + a.vararg.arg, Tup(tuple(map(generalized, args[len(names) :]))))
        elif a.vararg is not None and rest is not None:
            self.feed(func, a.vararg.arg, rest)
            self.feed(func, COUNTED + a.vararg.arg, UNKNOWN if rest == UNKNOWN else Lst(generalized(rest)))
        for argument, grown in by_callee(self, func, names, node) if node is not None else ():
            self.container_grown(argument, grown)
        if func.wrapper is not None:
            func = self.functions.get(func.wrapper, func)
        self.reads(func, "return")
        if func.returns is not None:
            # where objects are chosen, what becomes of each is decided for all
            told = rest is None and not self.widened(func) and not _holds_objects(func.returns)
            chosen = chosen_return(func, names, node) if told and node is not None else None
            given = func.returns if chosen is None else func.gives.get(chosen, func.returns)
            return given if own is None else made_by(self, func, given, own)
        return UNKNOWN if self.widened(func) or func.is_announced else BOTTOM

    def feed(self, func: FuncInfo, name: str, kind: Kind) -> None:
        """Joins an argument into a parameter."""
        if kind is BOTTOM:
            return
        if kind.__class__ not in _HOLDS_NONE:
            if _holds_host_array(kind):
                func.host_fed.add(name)
        for option in options(kind):
            if (option.known if option.__class__ is Perhaps else option).__class__ is Tensor:
                func.tensor_fed.add(name)
            elif option.__class__ in (Lst, Tup, Dct):
                func.list_fed.add(name)
        old = func.params.get(name)
        new = self.grown(func, old, kind)
        if says_more(new, old):
            func.params[name] = new
            self.enqueue(func)

    def _construct(
        self,
        cls: ClassInfo,
        args: list[Kind],
        keywords: dict[str, Kind],
        node: ast.Call | None,
        rest: Kind | None,
    ) -> Kind:
        made = Inst(cls, self.site(node) if node is not None else 0)
        init = self.class_attribute(cls, "__init__", made)
        if not isinstance(init, Func) or not sent.hands_on(init.info):
            sent.constructed(self, cls, args, rest)
        if isinstance(init, Func):
            self.call_function(init.info, made, args, keywords, node, rest)
        else:
            field_classes.constructed(self, cls, args, keywords, rest)
            for base in self.mro(cls):
                if isinstance(base, str):
                    self.record_arguments(made, base, args, keywords)
                    if base == CLASSIFIER:
                        hold_predictor(self, cls, args, keywords)
                    data.hold_targets(self, cls, args, keywords)
                    link_lists.constructed(self, made, args, node)
                    break
        return made

    def escape(self, kind: Kind) -> None:
        """A value goes where its uses cannot be seen: its parameters may then be anything."""
        for option in options(kind):
            given: tuple[Kind, ...] = ()
            named: dict[str, Kind] = {}
            if isinstance(option, Partial):
                for held in (*option.args, *(kind for _, kind in option.keywords)):
                    self.escape(held)
                given, named = option.args, dict(option.keywords)
                option = option.function
            if isinstance(option, Func):
                names = [p.arg for p in option.info.node.args.args]
                names = names[1:] if option.info.cls is not None and not option.info.is_static else names
                held_for = {**named, **dict(zip(names, given))}
                for name in names:
                    self.feed(option.info, name, generalized(held_for.get(name, UNKNOWN)))
                if option.info.node.args.vararg is not None:
                    self.feed(option.info, option.info.node.args.vararg.arg, UNKNOWN)
                if option.info.node.args.kwarg is not None:
                    self.feed(option.info, ANY_KEYWORD, UNKNOWN)
            elif isinstance(option, Tup):  # layers with their names: `OrderedDict([('fc', [self.fc])])`
                for held in option.items:
                    if isinstance(held, (Inst, Lst, Tup)):
                        self.escape(held)
            elif isinstance(option, (Lst, Dct)):
                if isinstance(option.element, (Func, Inst, Lst, Tup)):
                    self.escape(option.element)
            elif isinstance(option, Inst) and sequences.is_sequential(self, option):
                sequences.called(self, option, [Tensor()])
            elif isinstance(option, Inst) and isinstance(option.cls, str):
                for site in option.sites if self.is_link(option) else ():
                    self.called_inside.add(site)
                    self.layer_inputs[site] = join(self.layer_inputs.get(site), Tensor())
            elif isinstance(option, Inst) and isinstance(option.cls, ClassInfo) and self.is_link(option):
                for method in ("forward", "__call__"):
                    found = self.class_attribute(option.cls, method, option)
                    if isinstance(found, Func):
                        for p in found.info.node.args.args[1:]:
                            self.feed(found.info, p.arg, UNKNOWN)


def _takes_keywords(callee: Kind) -> bool:
    """Whether what ``**options`` holds goes to parameters or attributes of a known name."""
    return isinstance(callee, (Class, Func, NamedTuple)) or callee == Ref(NAMESPACE)


def _are_objects(kind: Kind, looks: bool) -> bool:
    """Whether a value is an object; where a function only looks at it, also one of several, or a list of such."""
    return (
        isinstance(kind, Inst)
        or looks
        and all(
            isinstance(one, Inst)
            or isinstance(one, (Lst, Dct))
            and all(isinstance(k, Inst) for k in options(one.element))
            for one in options(kind)
        )
    )


def _holds_objects(kind: Kind) -> bool:
    return any(isinstance(one, (Inst, Class, Func, Ref, Method)) for one in options(kind))


def _holds_host_array(kind: Kind) -> bool:
    """Whether a value is or holds an array of NumPy's."""
    held = [item for k in options(kind) for item in (k, element_of(k) if isinstance(k, (Lst, Tup)) else k)]
    return any(isinstance(k, HostArray) for one in held for k in options(one))


def _with_shapes(node: ast.Call, args: list[Kind], keywords: dict[str, Kind]) -> tuple[list[Kind], dict[str, Kind]]:
    """The arguments of a call, a list that is written out as a tuple: `[n, 4]` as a shape says how many axes."""

    def read(argument: ast.expr, kind: Kind) -> Kind:
        if not isinstance(argument, ast.List) or any(isinstance(item, ast.Starred) for item in argument.elts):
            return kind
        return Tup((kind.element,) * len(argument.elts)) if isinstance(kind, Lst) else kind

    if any(isinstance(argument, ast.Starred) for argument in node.args):
        return args, keywords
    named = {
        keyword.arg: read(keyword.value, keywords[keyword.arg]) for keyword in node.keywords if keyword.arg in keywords
    }
    return list(map(read, node.args, args)), keywords | named
