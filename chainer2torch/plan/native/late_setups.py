"""Optimizers that are made before their model is known: the place makes a partial, which gets the parameters at setup.

    def make(name, rate):                            def make(name, rate):
        if name == 'sgd':                                if name == 'sgd':
            return optimizers.SGD(rate)                      return functools.partial(torch.optim.SGD, lr=rate)
        return optimizers.AdaGrad(rate)                  return functools.partial(torch.optim.Adagrad, lr=rate)

    optimizer = make(args.optimizer, 0.1)            optimizer = make(args.optimizer, 0.1)
    optimizer.setup(model)                           optimizer = optimizer(model.parameters())

This needs that nobody holds the partial any more when it has been called: all that happens to it in front of ``setup``
is that functions return it and that the variable gets it on which ``setup`` is called.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Func, Inst, options
from chainer2torch.plan.context import Context
from chainer2torch.plan.native import flows, places
from chainer2torch.plan.native.objects import Objects, Use


def is_late(objects: Objects, inst: Inst, maker: ast.Call, use: Use, setup: ast.Call) -> bool:
    """Whether ``setup`` can call what the place makes that made an optimizer, under the same name."""
    context, receiver = use.context, use.node
    if not places.is_alone(context, context.source.statement(setup)) or not _is_variable(context, receiver, setup):
        return False
    return _Way(objects, maker, use, setup).is_clear(objects.uses_of(inst))


def _is_variable(context: Context, receiver: ast.expr, setup: ast.Call) -> bool:
    """Whether the statement may bind the receiver anew: a variable of this very function, or ``self.name``."""
    if isinstance(receiver, ast.Attribute):
        named = isinstance(receiver.value, ast.Name) and receiver.value.id == "self"
        return named and _runs_once(context, setup)
    inside = places.function_of(context, setup) or context.source.tree
    return isinstance(receiver, ast.Name) and context.scope(receiver, receiver.id) is inside


def _runs_once(context: Context, node: ast.AST) -> bool:
    """Whether the method in which a node stands is called at one place, and not in a loop, as far as one can see."""
    if context.source.enclosing(node, ast.For, ast.While) is not None:
        return False
    function = context.source.enclosing(node, ast.FunctionDef)
    info = context.analysis.functions.get(function) if function is not None else None
    if info is None:
        return False
    found = flows.references(context, info)
    modules = [context.analysis.module_of(reference) for _, reference in found]
    loops = [m.source.enclosing(r, ast.For, ast.While) for m, (_, r) in zip(modules, found) if m is not None]
    return len(found) <= 1 and not any(loops)


class _Way:
    """The way of one optimizer from the call that makes it to the variable that is set up."""

    def __init__(self, objects: Objects, maker: ast.Call, use: Use, setup: ast.Call):
        self.objects, self.maker, self.use, self.setup = objects, maker, use, setup
        self.bindings = 0

    def is_clear(self, uses: list[Use]) -> bool:
        """Whether every use but those behind ``setup`` only hands the optimizer on to the variable."""
        return all(self._is_fine(use) for use in uses) and self.bindings > 0

    def _is_fine(self, use: Use) -> bool:
        if use.node in (self.use.node, self.setup):
            return True
        if use.node is self.maker or self._is_returned(use):
            return self._goes_on(use)
        if self._is_the_variable(use):
            return self._is_behind(use)
        # another name: what was handed on behind `setup`, unless the function returns it on the way there
        return not isinstance(use.parent, ast.Return) or self._is_behind(use)

    def _is_returned(self, use: Use) -> bool:
        """Whether a use is the call of a function that returns what was not set up yet."""
        if not isinstance(use.node, ast.Call):
            return False
        functions = [k.info.node for k in options(use.context.kind(use.node.func)) if isinstance(k, Func)]
        return places.function_of(self.use.context, self.setup) not in functions

    def _goes_on(self, use: Use) -> bool:
        """Whether it is returned at once, or bound to the variable in front of ``setup``."""
        context, parent = use.context, use.parent
        if isinstance(parent, ast.Return):
            return True
        if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
            return False
        if ast.unparse(parent.targets[0]) != ast.unparse(self.use.node) or context is not self.use.context:
            return False
        self.bindings += 1
        here, there = (places.function_of(context, node) for node in (parent, self.setup))
        if isinstance(self.use.node, ast.Attribute):
            return here is not there or places.always_follows(context, parent, context.source.statement(self.setup))
        return here is there and places.always_follows(context, parent, context.source.statement(self.setup))

    def _is_the_variable(self, use: Use) -> bool:
        return use.context is self.use.context and ast.unparse(use.node) == ast.unparse(self.use.node)

    def _is_behind(self, use: Use) -> bool:
        """Whether a use of the variable comes behind ``setup``: in its function by its place, else when it runs."""
        here, there = (places.function_of(self.use.context, node) for node in (use.node, self.setup))
        if use.context is not self.use.context or here is not there:
            return True
        return use.context.source.start(use.node) > self.use.context.source.start(self.setup)


__all__ = ["is_late"]
