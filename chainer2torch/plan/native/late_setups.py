"""Optimizers that are made before their model is known: the place makes a partial, which gets the parameters at setup.

    def make(name, rate):                            def make(name, rate):
        if name == 'sgd':                                if name == 'sgd':
            return optimizers.SGD(rate)                      return functools.partial(torch.optim.SGD, lr=rate)
        return optimizers.AdaGrad(rate)                  return functools.partial(torch.optim.Adagrad, lr=rate)

    optimizer = make(args.optimizer, 0.1)            optimizer = make(args.optimizer, 0.1)
    optimizer.setup(model)                           optimizer = optimizer(model.parameters())

The function that makes it may be called for several of them, and branches may set it up with different models.
This needs that nobody holds the partial any more when it has been called: all that happens to it in front of ``setup``
is that functions return it and that the variable gets it on which ``setup`` is called.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Func, Inst, options
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.plan.context import Context
from chainer2torch.plan.native import flows, places
from chainer2torch.plan.native.objects import Objects, Use

_REPEATED = (ast.For, ast.While, ast.comprehension, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def is_late(objects: Objects, inst: Inst, maker: ast.Call, setups: list[Use]) -> bool:
    """Whether each ``setup`` can call what the place makes that made an optimizer, under the same name."""
    for use in setups:
        context, setup = use.context, use.call
        if setup is None:
            return False
        if not _is_variable(context, use.node, setup) or len(setups) > 1 and not isinstance(use.node, ast.Name):
            return False
    if not all(_are_apart(one, other) for i, one in enumerate(setups) for other in setups[:i]):
        return False
    return _Way(objects, maker, setups).is_clear(objects.uses_of(inst))


def _are_apart(one: Use, other: Use) -> bool:
    """Whether a run that comes to one ``setup`` does not come to another one with the same optimizer."""
    context = one.context
    if other.context is not context or places.function_of(context, one.node) is not places.function_of(
        context, other.node
    ):
        return True
    return places.are_branches(context, one.node, other.node) or _are_two(one, other)


def _are_two(one: Use, other: Use) -> bool:
    """Whether two ``setup`` of a function are those of two variables, each bound once, by a call of its own."""
    names = [use.node for use in (one, other) if isinstance(use.node, ast.Name)]
    return len({name.id for name in names}) == 2 and all(is_made_for(one.context, name) for name in names)


def is_made_for(context: Context, variable: ast.Name) -> bool:
    """Whether a variable is bound once, to what a call gives."""
    scope = context.scope(variable, variable.id)
    stores = [name for name in context.source.named.get(variable.id, ()) if not isinstance(name.ctx, ast.Load)]
    bound = [name for name in stores if context.scope(name, name.id) is scope]
    statement = context.source.parents[bound[0]] if len(bound) == 1 else None
    return isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call) and len(statement.targets) == 1


def _is_in_branch(context: Context, first: ast.stmt, second: ast.stmt) -> bool:
    """Whether a statement stands behind another one in branches only, not in a loop of its own."""
    around: list[ast.AST] = [first, *context.source.ancestors(first)]
    behind = context.source.start(first) < context.source.start(second)
    while not any(statement in around for statement in places.suite_of(context, second)):
        outer = context.source.parents[second]
        if not isinstance(outer, (ast.If, ast.With)):
            return False
        second = outer
    return behind


def _is_variable(context: Context, receiver: ast.expr, setup: ast.Call) -> bool:
    """Whether the statement may bind the receiver anew: a variable of this very function, or ``self.name``."""
    if isinstance(receiver, ast.Attribute):
        named = isinstance(receiver.value, ast.Name) and receiver.value.id == "self"
        return named and runs_once(context, setup)
    inside = places.function_of(context, setup) or context.source.tree
    return isinstance(receiver, ast.Name) and context.scope(receiver, receiver.id) is inside


def runs_once(context: Context, node: ast.AST) -> bool:
    """Whether the method in which a node stands is called at one place, and not in a loop, as far as one can see.

    Or at one place for each object of its class: behind the call that has made the object.
    """
    if context.source.enclosing(node, ast.For, ast.While) is not None:
        return False
    function = context.source.enclosing(node, ast.FunctionDef)
    info = context.analysis.functions.get(function) if function is not None else None
    if info is None:
        return False
    found = flows.references(context, info)
    modules = [context.analysis.module_of(reference) for _, reference in found]
    loops = [m.source.enclosing(r, ast.For, ast.While) for m, (_, r) in zip(modules, found) if m is not None]
    if len(found) <= 1:
        return not any(loops)
    makers = [_maker_of_receiver(context, parent, reference) for parent, reference in found]
    return len({*makers} - {None}) == len(makers)


def _maker_of_receiver(context: Context, call: ast.AST | None, method: ast.AST) -> ast.Call | None:
    """What has made the object of ``name.method()``, if it makes one for each of these calls; None: it may not."""
    analysis = context.analysis
    if not isinstance(method, ast.Attribute) or not isinstance(call, ast.Call) or call.func is not method:
        return None
    kinds = options(analysis.kind(method.value))
    inst = kinds[0] if len(kinds) == 1 else None
    maker = analysis.makers.get(inst.site) if isinstance(inst, Inst) and not inst.among else None
    module = analysis.module_of(method)
    if maker is None or module is None or maker not in module.source.parents:
        return None
    around = [*module.source.ancestors(maker)]
    between = [node for node in module.source.ancestors(call) if isinstance(node, _REPEATED) and node not in around]
    behind = module.source.start(maker) < module.source.start(call)
    return maker if behind and not between and _scope(module, maker) is _scope(module, call) else None


def _scope(module: ModuleInfo, node: ast.AST) -> ast.AST | None:
    return module.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class _Way:
    """The way of one optimizer from the call that makes it to the variables that are set up."""

    def __init__(self, objects: Objects, maker: ast.Call, setups: list[Use]):
        self.objects, self.maker, self.setups = objects, maker, setups
        self.calls = [use.call for use in setups if use.call is not None]
        self.bound: set[Use] = set()  # the setups whose variable gets the partial
        self.certain: set[Use] = set(setups)  # those that are reached wherever the variable gets it

    def is_clear(self, uses: list[Use]) -> bool:
        """Whether every use but those behind a ``setup`` only hands the optimizer on to its variable."""
        ways = [u for u in uses if u.node not in self.calls and (u.node is self.maker or self._is_returned(u))]
        if not all(self._goes_on(use) for use in ways) or self.bound != set(self.setups):
            return False
        return all(self._is_fine(use) for use in uses if use not in ways)

    def _is_fine(self, use: Use) -> bool:
        if use.node in self.calls or any(use.node is setup.node for setup in self.setups):
            return True
        own = self._setups_of(use.context, use.node, places.function_of(use.context, use.node))
        if own:
            return any(self._is_behind(use, setup) for setup in own)
        # another name: what was handed on behind a `setup`, or what a function returns on the way there
        return True

    def _is_returned(self, use: Use) -> bool:
        """Whether a use is the call of a function that returns what was not set up yet."""
        if not isinstance(use.node, ast.Call):
            return False
        functions = [k.info.node for k in options(use.context.kind(use.node.func)) if isinstance(k, Func)]
        return not any(self._function(setup) in functions for setup in self.setups)

    def _goes_on(self, use: Use) -> bool:
        """Whether it is returned at once, or bound to a variable in front of its ``setup``."""
        context, parent = use.context, use.parent
        if isinstance(parent, ast.Return):
            return True
        if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
            return False
        here = places.function_of(context, parent)
        own = self._setups_of(context, parent.targets[0], here)
        if not own:
            return _is_only_returned(context, parent.targets[0], here)
        self.bound.update(own)
        for setup in own:
            statement = context.source.statement(setup.node)
            if self._function(setup) is here and not places.always_follows(context, parent, statement):
                if not _is_in_branch(context, parent, statement):
                    return False
                self.certain.discard(setup)
        return True

    def _setups_of(self, context: Context, node: ast.AST, function: ast.AST | None) -> list[Use]:
        """The setups of the variable that an expression is; an attribute is one in all methods."""
        return [
            setup
            for setup in self.setups
            if setup.context is context
            and ast.unparse(setup.node) == ast.unparse(node)
            and (isinstance(setup.node, ast.Attribute) or self._function(setup) is function)
        ]

    def _function(self, setup: Use) -> ast.AST | None:
        return places.function_of(setup.context, setup.node)

    def _is_behind(self, use: Use, setup: Use) -> bool:
        """Whether a use of the variable comes behind a ``setup``: in its function by its place, else when it runs."""
        context = use.context
        if places.function_of(context, use.node) is not self._function(setup):
            return True
        if context.source.start(use.node) < context.source.start(setup.node):
            return False
        return setup in self.certain or places.is_reached_through(
            context, use.node, context.source.statement(setup.node)
        )


def _is_only_returned(context: Context, target: ast.expr, function: ast.AST | None) -> bool:
    """Whether all that is done with a variable of a function is that the function returns it."""
    if not isinstance(target, ast.Name) or not isinstance(function, ast.FunctionDef):
        return False
    loads = [n for n in context.source.named.get(target.id, ()) if isinstance(n.ctx, ast.Load)]
    own = [n for n in loads if context.scope(n, n.id) is function]
    return context.scope(target, target.id) is function and all(
        isinstance(context.source.parents[n], ast.Return) for n in own
    )


__all__ = ["is_late", "is_made_for", "runs_once"]
