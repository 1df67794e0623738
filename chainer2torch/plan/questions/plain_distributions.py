"""Distributions of Chainer's that can be torch's own: nothing asks them for more than these have, in the same words.

torch's ``sample`` has no gradient, so ``rsample`` takes its place: every receiver of such a name has to be known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Inst, Kind, Lst, Ref, Tup, options, scalar_type
from chainer2torch.analysis.source import Source, nodes_of
from chainer2torch.plan.context import Context

NORMAL, BERNOULLI = "chainer.distributions.Normal", "chainer.distributions.Bernoulli"
INDEPENDENT = "chainer.distributions.Independent"
_PLAIN = frozenset({NORMAL, BERNOULLI, INDEPENDENT})
# what takes any distribution, or is one of them by its base
_TAKING = frozenset({"chainer.Distribution", "chainer.cross_entropy", "chainer.register_kl"})
_WRAPPING = "chainer.distributions.TransformedDistribution"
KL_DIVERGENCE = "chainer.kl_divergence"
# members that torch's have under another name, or with another meaning
_OTHER = frozenset(
    "cdf entropy icdf log_cdf log_scale log_survival_function perplexity prob sample sample_n support".split()
)
_SAME = frozenset({"batch_shape", "event_shape", "mean", "stddev", "variance"})
_MEMBERS = {
    NORMAL: _SAME | {"entropy", "loc", "log_prob", "prob", "sample", "sample_n", "scale"},
    BERNOULLI: _SAME | {"entropy", "log_prob"},
    INDEPENDENT: _SAME - {"stddev"} | {"log_prob", "sample", "sample_n"},
}
_HOLDING = (ast.Tuple, ast.List, ast.Dict)
_EITHER = (True, False, None)
# of which Independent a member is known: torch draws nothing with a gradient from a Bernoulli
_WRAPPED = {"log_prob": (True, False), "sample": (False,), "sample_n": (False,)}
_CALLED = frozenset({"log_prob", "prob", "sample", "sample_n"})
_ASKING = frozenset(f"builtins.{name}" for name in ("delattr", "getattr", "hasattr", "setattr", "vars"))


def plain_distributions(context: Context) -> frozenset[str]:
    """The classes whose objects become torch's own in the whole project, by their names in Chainer."""
    if context.choices.style != "native" or context.migrated:
        return frozenset()
    return context.analysis.once(_plain)


def plain_class(context: Context, node: ast.expr) -> str | None:
    """The one such class that a value is of."""
    classes = {k.cls if isinstance(k, Inst) else None for k in options(context.kind(node))}
    found = classes.pop() if len(classes) == 1 else None
    return found if isinstance(found, str) and found in plain_distributions(context) else None


def wraps_bernoulli(analysis: Analysis, kind: Kind) -> bool | None:
    """Whether an Independent is one of Bernoulli; None: it may be, or not."""
    wrapped = analysis.once(_wrapped)
    sites = kind.sites if isinstance(kind, Inst) else ()
    found = {wrapped.get(site) == BERNOULLI for site in sites or wrapped}
    return found.pop() if len(found) == 1 else None


def axes_of(analysis: Analysis, call: ast.Call) -> int | None:
    """How many axes ``Independent(Normal(loc, scale))`` takes into the draws, which says nothing of it."""
    inner = call.args[0]
    if not isinstance(inner, ast.Call):
        return None
    given = [*inner.args[:1], *(k.value for k in inner.keywords if k.arg in ("loc", "logit"))]
    ranks = {getattr(k, "rank", None) for value in given[:1] for k in options(analysis.kind(value))}
    rank = ranks.pop() if len(ranks) == 1 else None
    return max(rank - 1, 0) if rank is not None else None


def _wrapped(analysis: Analysis) -> dict[int, str | None]:
    """The class of what each call of Independent is given."""
    found: dict[int, str | None] = {}
    for site, call in analysis.makers.items():
        if analysis.kind(call.func) == Ref(INDEPENDENT) and call.args:
            classes = {k.cls if isinstance(k, Inst) else None for k in options(analysis.kind(call.args[0]))}
            cls = classes.pop() if len(classes) == 1 else None
            found[site] = cls if isinstance(cls, str) else None
    return found


def _plain(analysis: Analysis) -> frozenset[str]:
    sources = [module.source for module in analysis.project.modules.values()]
    plain, named = set(_PLAIN), set()
    for source in sources:
        for node in source.of(ast.Name, ast.Attribute):
            kind = analysis.kind(node)
            if isinstance(kind, Ref) and kind.name.startswith("chainer."):
                named.add(kind.name)
                plain -= _refused_by_name(analysis, source, node, kind.name)
            if isinstance(node, ast.Attribute) and plain:
                plain -= _refused_by_member(analysis, source, node)
        for call in source.of(ast.Call):
            plain -= _refused_by_call(analysis, call)
        if not plain:
            break
    if INDEPENDENT in named and not named & _PLAIN <= plain:
        return frozenset()  # what is wrapped, and what wraps it, are of one library
    return frozenset(plain)


def _refused_by_name(analysis: Analysis, source: Source, node: ast.expr, name: str) -> frozenset[str]:
    """The classes that a name of Chainer's keeps: another function takes them, or one is no more than called."""
    parent = source.parents.get(node)
    if name in _TAKING or name.startswith(_WRAPPING):
        return _PLAIN
    if name == "chainer.distributions":
        named = isinstance(parent, ast.Attribute) or isinstance(parent, (ast.Import, ast.ImportFrom))
        return frozenset() if named else _PLAIN
    if name not in _PLAIN:
        return frozenset()
    if isinstance(parent, ast.Call) and parent.func is node:
        plain = _is_wrapped_plainly(analysis, parent) if name == INDEPENDENT else _is_made_plainly(parent, name)
        return frozenset() if plain and _goes_where_it_is_seen(analysis, source, parent) else frozenset({name})
    call = source.parents.get(parent) if isinstance(parent, ast.Tuple) else parent
    tested = isinstance(call, ast.Call) and analysis.kind(call.func) == Ref("builtins.isinstance")
    return frozenset() if tested else frozenset({name})


def _is_made_plainly(call: ast.Call, name: str) -> bool:
    """Whether a call names each parameter that it gives, or gives them in order; Bernoulli by its logits alone."""
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return False
    named = {keyword.arg for keyword in call.keywords}
    if name == NORMAL:
        given = {*("loc", "scale")[: len(call.args)], *named}
        return len(call.args) <= 2 and given in ({"loc", "scale"}, {"loc", "log_scale"})
    return not call.args and named in ({"logit"}, {"logit", "binary_check"})


def _goes_where_it_is_seen(analysis: Analysis, source: Source, call: ast.Call) -> bool:
    """Whether no code that is not seen gets a distribution, as far as its function tells: it may ask for samples.

    What a function returns that nobody calls here, or keeps in its object, is for others.
    """
    value: ast.AST = call
    around = source.parents.get(value)
    while isinstance(around, (*_HOLDING, ast.IfExp, ast.Starred)) or _is_independent(analysis, around):
        value, around = around, source.parents.get(around)  # type: ignore[assignment, arg-type]
    if isinstance(around, ast.Call) and around.func is not value:
        return analysis.kind(around.func) != UNKNOWN
    function = source.enclosing(call, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    info = analysis.functions.get(function) if function is not None else None
    if info is None or info.called:
        return True
    if not isinstance(around, ast.Assign):
        return not isinstance(around, (ast.Return, ast.Lambda, ast.Yield, ast.AnnAssign))
    names = {target.id if isinstance(target, ast.Name) else "" for target in around.targets}
    returned = [node for node in source.of(ast.Return) if source.enclosing(node, ast.FunctionDef) is function]
    given = {
        name.id
        for statement in returned
        for name in nodes_of(statement)
        if isinstance(name, ast.Name) and not isinstance(source.parents.get(name), (ast.Attribute, ast.Call))
    }
    return "" not in names and not names & given


def _is_independent(analysis: Analysis, node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and analysis.kind(node.func) == Ref(INDEPENDENT)


def _is_wrapped_plainly(analysis: Analysis, call: ast.Call) -> bool:
    """Whether a call of Independent says how many axes it takes, or the rank of what it is given is known."""
    if not call.args or isinstance(call.args[0], ast.Starred):
        return False
    classes = {k.cls if isinstance(k, Inst) else None for k in options(analysis.kind(call.args[0]))}
    given = [*call.args[1:], *(k.value for k in call.keywords)]
    named = all(k.arg == "reinterpreted_batch_ndims" for k in call.keywords)
    counted = all(is_number(analysis.kind(one)) for one in given) if given else axes_of(analysis, call) is not None
    return len(classes) == 1 and classes <= {NORMAL, BERNOULLI} and len(given) <= 1 and named and counted


def _refused_by_member(analysis: Analysis, source: Source, node: ast.Attribute) -> frozenset[str]:
    """The classes that ``value.name`` keeps: it may be of a distribution, and torch's has it otherwise."""
    kinds = options(analysis.kind(node.value))
    if UNKNOWN in kinds:
        return _PLAIN if node.attr in _OTHER else frozenset()
    classes = frozenset(k.cls for k in kinds if isinstance(k, Inst) and isinstance(k.cls, str)) & _PLAIN
    if not classes:
        return frozenset()
    parent = source.parents.get(node)
    called = isinstance(parent, ast.Call) and parent.func is node
    wrapped = INDEPENDENT not in classes or wraps_bernoulli(analysis, kinds[0]) in _WRAPPED.get(node.attr, _EITHER)
    fits = (
        wrapped
        and len(classes) == len(kinds) == 1
        and isinstance(node.ctx, ast.Load)
        and all(node.attr in _MEMBERS[name] for name in classes)
        and called == (node.attr in _CALLED)
        and (not isinstance(parent, ast.Call) or not called or _is_called_plainly(analysis, parent, node.attr))
    )
    return frozenset() if fits else classes


def _is_called_plainly(analysis: Analysis, call: ast.Call, name: str) -> bool:
    """Whether a method gets one argument; of samples the shape or the number of them, or nothing."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if any(isinstance(a, ast.Starred) for a in given) or any(keyword.arg is None for keyword in call.keywords):
        return False
    if name in ("log_prob", "prob"):
        return len(given) == 1
    if name == "sample_n":
        return len(given) == 1 and is_number(analysis.kind(given[0]))
    return not given or len(given) == 1 and (is_number(kind := analysis.kind(given[0])) or _is_shape(kind))


def is_number(kind: Kind) -> bool:
    return all(scalar_type(k) == "int" for k in options(kind))


def _is_shape(kind: Kind) -> bool:
    return all(isinstance(k, (Lst, Tup)) for k in options(kind))


def _refused_by_call(analysis: Analysis, call: ast.Call) -> frozenset[str]:
    """The classes that a call keeps which asks for members by name, or for a divergence of what is not known."""
    callee = analysis.kind(call.func)
    if not isinstance(callee, Ref) or callee.name not in {KL_DIVERGENCE, *_ASKING}:
        return frozenset()
    classes = frozenset(_classes(analysis, call)) & _PLAIN
    if callee.name == KL_DIVERGENCE:
        known = all(isinstance(k, Inst) for a in call.args for k in options(analysis.kind(a)))
        alike = len(classes) == 1 and len(call.args) == 2 and not call.keywords
        return frozenset() if known and alike else _PLAIN
    return classes


def _classes(analysis: Analysis, call: ast.Call) -> Iterator[str]:
    for argument in call.args:
        for kind in options(analysis.kind(argument)):
            if isinstance(kind, Inst) and isinstance(kind.cls, str):
                yield kind.cls


__all__ = [
    "BERNOULLI",
    "KL_DIVERGENCE",
    "INDEPENDENT",
    "NORMAL",
    "axes_of",
    "is_number",
    "plain_class",
    "plain_distributions",
    "wraps_bernoulli",
]
