"""Calls of what is outside the project: Chainer's classes and functions, NumPy's, methods of arrays and containers."""

from __future__ import annotations

import ast

from chainer2torch.analysis.bound import bind_kinds
from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kind_specs import parse_spec
from chainer2torch.analysis.kinds import (
    BOTTOM,
    UNKNOWN,
    Const,
    Dct,
    Func,
    HostArray,
    Inst,
    Kind,
    Lst,
    Method,
    NamedTuple,
    Ref,
    Scalar,
    Stream,
    Tensor,
    Tup,
    options,
)
from chainer2torch.analysis.lattice import element_of, join
from chainer2torch.analysis.libraries import STAND_IN, adapted
from chainer2torch.analysis.models import (
    array_kinds,
    data,
    field_classes,
    host_libraries,
    iteration,
    link_lists,
    named_tuples,
    operator_module,
    python_builtins,
    sequences,
    standard_library,
)
from chainer2torch.analysis.models.callbacks import constructed
from chainer2torch.analysis.models.link_calls import call_function_object, call_link, is_function
from chainer2torch.analysis.models.pools import POOLS
from chainer2torch.analysis.models.link_children import NAMESPACE, hold, of_blocks, parameter_of
from chainer2torch.analysis.models.methods import knows_callbacks
from chainer2torch.analysis.models.methods import method as method_model
from chainer2torch.analysis.models.loaded_files import loaded
from chainer2torch.analysis.models.network_dtypes import of_network
from chainer2torch.analysis.models.numpy_functions import GENERATORS, numpy_call
from chainer2torch.analysis.models.shape_functions import shape_function
from chainer2torch.analysis.models.xp_modules import MODULE_OF, row_kind
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.rules.table import Row

# losses and metrics are of some floating type, whichever the input has
_FLOATING = frozenset({"functions/loss.toml", "functions/evaluation.toml"})
# these give what the network computes with, and refuse whole numbers
_OF_NETWORKS = frozenset(
    f"functions/{name}.toml" for name in "activation connection noise normalization pooling rnn".split()
)
_CACHING = frozenset({"functools.cache", "functools.lru_cache"})
_QUEUES = frozenset(
    f"{module}.{name}"
    for module in ("queue", "six.moves.queue", "multiprocessing")
    for name in ("LifoQueue", "Queue", "SimpleQueue")
)
# what moves an array to a device
_SENDS = frozenset({"chainer.backend.Device.send", "chainer.dataset.to_device", "chainer.backends.cuda.to_gpu"})
# methods of strings that give lists of strings
_STR_LISTS = frozenset({"split", "rsplit", "splitlines"})


class LibraryCalls(Interpreter):
    """The part of the interpreter that evaluates calls of values outside the project."""

    def call_instance(
        self,
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
            own = is_function(self, callee.cls)  # calls `forward` in its own way
            for method in ("__call__",) if own else ("__call__", "forward"):
                found = self.class_attribute(callee.cls, method, callee)
                if isinstance(found, Func):
                    return self.call_function(found.info, callee, args, keywords, node, rest)
        if rest is not None:
            args = [*args, rest]
        for kind in (*args, *keywords.values()):
            self.escape(kind)
        if self.is_link(callee):
            return call_link(self, callee, args, keywords, node)
        if self.derives(callee.cls, "chainer.training.extensions.Evaluator"):
            return self.method_result(callee, "evaluate", [], None)
        taken = operator_module.called(self, callee, args)
        return taken or host_libraries.called(str(callee.cls)) or call_function_object(self, callee)

    def _registers(self, receiver: Kind, name: str, args: list[Kind]) -> bool:
        """Whether a method makes children of links, which are taken out and called where the source says so."""
        if not isinstance(receiver, Inst):
            return False
        if name == "add_link" and len(args) == 2:
            return self.is_link(receiver)
        if self.derives(receiver.cls, "chainer.ChainList") and not sequences.is_sequential(self, receiver):
            return name in ("__init__", "add_link", "append", "insert")
        return name == "__init__" and receiver.cls == "chainer.Chain"

    def call_method(self, method: Method, args: list[Kind], keywords: dict[str, Kind], node: ast.Call | None) -> Kind:
        receiver, name = method.receiver, method.name
        if (
            not isinstance(receiver, (Lst, Dct))
            and not self._registers(receiver, name, args)
            and not (isinstance(receiver, Inst) and knows_callbacks(self, receiver, name, node))
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
        if isinstance(receiver, NamedTuple) or isinstance(receiver, Tup) and receiver.names:
            return named_tuples.method_result(receiver, name, args, keywords)
        if isinstance(receiver, Dct):
            return self.dict_method(receiver, name, args, keywords, node)
        if isinstance(receiver, Lst):
            if name == "sort" and isinstance(keywords.get("key"), Func):
                self.call(keywords["key"], [receiver.element], {}, None)
            return self.list_method(receiver, name, args, node)
        if name in _STR_LISTS:
            return Lst(Scalar("str"))
        return Scalar("str") if name in ("format", "join", "strip", "lower", "upper", "replace") else UNKNOWN

    def method_result(
        self,
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
        if receiver.cls in GENERATORS:
            return numpy_call(f"random.{name}", args, keywords or {})
        special = method_model(self, receiver, name, args, node)
        if special is not None:
            return special
        for owner in self.mro(receiver.cls):
            if isinstance(owner, str):
                row = self.rules.member(owner, name)
                if row is not None:
                    return self.row_result(row, args, keywords or {}, receiver)
        if name == "forward" and isinstance(receiver.cls, str) and self.is_link(receiver):  # `super().forward(x)`
            return call_link(self, receiver, args, keywords or {}, None)
        return host_libraries.method(str(receiver.cls), name) or UNKNOWN

    def call_reference(
        self, name: str, args: list[Kind], keywords: dict[str, Kind], node: ast.Call, starred: bool
    ) -> Kind:
        if name.startswith("builtins."):
            return python_builtins.result(self, name[9:], args, node)
        if name in GENERATORS:
            return Inst(name)
        if name == "numpy.load":
            return loaded(self.module.source, node, args)
        if name.startswith("numpy."):
            return numpy_call(name[6:], args, keywords)
        if name == "argparse.ArgumentParser":
            return Inst(name, self.site(node))
        if name in python_builtins.TABLES and (table := python_builtins.table(self, name, args, node)) is not None:
            return table
        if name == named_tuples.FACTORY:
            return named_tuples.made(node)
        if (fields := field_classes.result(self, name, args, keywords)) is not None:
            return fields
        if name == "chainer.report_scope" and node.args:
            self.observed(node)
        if (made := self._made_by_python(name, args, keywords, node)) is not None:
            return made
        if name in ("copy.copy", "copy.deepcopy") and args:
            return args[0]
        if args and adapted(name):
            return args[0]
        if args and name.endswith(STAND_IN) and isinstance(args[0], Const):  # a guard of an earlier run
            return Ref(self.rules.canonical(str(args[0].value)))
        row = self.rules.rows.get(name)
        if name in MODULE_OF:  # of all items of `*inputs`, and of `inputs`, which the program meant
            many = (Tup, Lst)
            args = [
                element_of(k) if isinstance(a, ast.Starred) or all(isinstance(o, many) for o in options(k)) else k
                for a, k in zip(node.args, args)
            ]
        if name.startswith(("chainer", "cupy")) and name.rsplit(".", 1)[-1][:1].isupper():
            if row is not None and row.returns != "unknown":
                return self.row_result(row, args, keywords, None)
            made = Inst(name, self.site(node))
            self.record_arguments(made, name, [] if starred else args, keywords)
            if self.rules.is_subclass(name, "chainer.ChainList"):
                in_order = sequences.is_sequential(self, made)
                link_lists.made(self, made.site, args, node, in_order)
                if in_order:
                    sequences.made(self, made.site, args, node)
            return made
        if row is not None:
            return self.row_result(row, args, keywords, None)
        found = iteration.result(self, name, args, node) or operator_module.result(self, name, args, node)
        return found or standard_library.result(name, args) or host_libraries.result(name, args, keywords)

    def _made_by_python(self, name: str, args: list[Kind], keywords: dict[str, Kind], node: ast.Call) -> Kind | None:
        """Objects of the standard library that hold what a program puts there."""
        if name in _QUEUES:
            return Stream(BOTTOM)
        if name == NAMESPACE:
            return self._namespace(node, keywords)
        if name in POOLS:
            return Inst(name, self.site(node))
        if name == "concurrent.futures.as_completed" and args:
            return Lst(self.iterated(args[0]))
        if name in _CACHING:  # `lru_cache(maxsize=9)` is asked again with the function
            return args[0] if args and isinstance(args[0], Func) else Ref(name)
        if name == "collections.deque":
            return Stream(self.iterated(args[0]) if args else BOTTOM)
        return None

    def _namespace(self, node: ast.Call, keywords: dict[str, Kind]) -> Kind:
        """``types.SimpleNamespace(loss=y)``: an object of no class of its own."""
        made = Inst(NAMESPACE, self.site(node))
        for name, kind in keywords.items():
            hold(self, made, name, kind)
        return made

    def record_arguments(self, made: Inst, cls: str, args: list[Kind], keywords: dict[str, Kind]) -> None:
        row = self.rules.rows.get(cls)
        bound = bind_kinds(row, args, keywords, None) if row is not None else dict(keywords)
        if cls == "chainer.Chain":  # its keywords are its children
            bound = dict(keywords)
        elif cls == "chainer.Link":  # its keywords are the shapes of its parameters
            bound = {name: parameter_of(kind) for name, kind in keywords.items()}
        bound |= of_blocks(cls)
        old = self.objects.setdefault(made.site, {})
        for key, kind in bound.items():
            old[key] = join(old.get(key), kind)
        constructed(self, cls, old)

    def row_result(self, row: Row, args: list[Kind], keywords: dict[str, Kind], receiver: Kind | None) -> Kind:
        """What a rule says of the result."""
        kind = self._row_result(row, args, keywords, receiver)
        return of_network(kind) if row.home in _OF_NETWORKS else kind

    def _row_result(self, row: Row, args: list[Kind], keywords: dict[str, Kind], receiver: Kind | None) -> Kind:
        found = row_kind(row.name, args, keywords, receiver)
        if found is not None:
            return found
        bound = bind_kinds(row, args, keywords, receiver)
        name = row.name.rsplit(".", 1)
        if name[0] == "chainer.functions" or name[0] == "chainer.Variable":
            if name[0] == "chainer.Variable" and receiver is not None:
                bound.setdefault("x", receiver)
            shaped = shape_function(name[1], bound)
            if shaped is not None:
                return shaped
        elif name[0] == "chainer.datasets":
            loaded = data.loaded(name[1], bound)
            if loaded is not None:
                return loaded
        elif row.name == "chainermn.scatter_dataset" and (shared := data.share(bound)) is not None:
            return shared
        elif row.name in _SENDS and isinstance(bound.get("x", bound.get("array", bound.get("arrays"))), HostArray):
            sent = bound.get("x", bound.get("array", bound.get("arrays")))
            return Tensor(sent.rank, sent.dtype, array=True)  # type: ignore[union-attr]
        elif row.name == "chainer.dataset.concat_examples":
            return data.batched(element_of(bound.get("batch", UNKNOWN)))
        kind = parse_spec(row.returns, bound)
        if row.home in _FLOATING and isinstance(kind, Tensor) and kind.dtype is None:
            return Tensor(kind.rank, "floating")
        return kind
