"""What a pass may ask: the facts about one file, and answers that follow from them. Nothing here changes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, TypeVar

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Inst, Kind, Ref
from chainer2torch.analysis.module_index import ClassInfo, ModuleInfo
from chainer2torch.plan.edits import Operand
from chainer2torch.plan.file_names import FileNames
from chainer2torch.plan.match import UNDECIDED, Undecided
from chainer2torch.plan.native.train_flags import flag_at
from chainer2torch.plan.options import Options
from chainer2torch.plan.project_rules import rules_for
from chainer2torch.plan.skips import Skipped
from chainer2torch.plan.stages import MODELS, Stages

N = TypeVar("N", bound=ast.AST)
T = TypeVar("T")


class Context(FileNames):
    """The facts about one file: analysis, rules, options, and questions that several passes ask."""

    def __init__(self, analysis: Analysis, module: ModuleInfo, choices: Options):
        self.analysis = analysis
        self.rules = rules_for(analysis, module)
        self.module = module
        self.source = module.source
        self.choices = choices
        self.skipped = Skipped.of(module.source)  # what the user keeps as it is
        self.stages = Stages.of(analysis, choices.only)
        self.with_models = MODELS in self.stages.chosen  # tensors, functions and links change in this run
        self._answers: dict[tuple[Any, ast.AST], Any] = {}
        self._kind = analysis.kind
        # what the analysis knows of a node's value: asked so often that it is the question itself, until a node is made
        self.kind: Callable[[ast.AST], Kind] = analysis.kind
        self._stand_ins: dict[ast.AST, tuple[ast.AST, str]] = {}

    def ask(self, question: Callable[[Context, N], T], node: N) -> T:
        """The answer to a question about a node; each is worked out once."""
        key = (question, node)
        if key not in self._answers:
            self._answers[key] = question(self, node)
        answer: T = self._answers[key]
        return answer

    def forget(self) -> None:
        """Takes leave of the answers when nobody asks any more: some hold the context, which is not freed then."""
        self._answers.clear()

    def stand_for(self, node: ast.AST, value: ast.AST, code: str) -> None:
        """A node of which the source has none: it has the value of another one, and is written as ``code``."""
        self._stand_ins[node] = value, code
        self.kind = self._kind_of_value

    def _kind_of_value(self, node: ast.AST) -> Kind:
        return self._kind(self._stand_ins[node][0] if node in self._stand_ins else node)

    def training(self, node: ast.AST) -> str:
        """How code at this place learns whether it is training.

        A function that a constructor makes goes along when the module is copied, and would still ask the first one.
        """
        if self.choices.style == "native":
            return flag_at(self.analysis, self.source, node) or "compat.is_training()"
        inner = False
        for ancestor in self.source.ancestors(node):
            inner = inner or isinstance(ancestor, ast.Lambda)
            if isinstance(ancestor, (ast.FunctionDef, ast.AsyncFunctionDef)):
                info = self.analysis.functions.get(ancestor)
                if info is None or info.cls is None:
                    inner = True
                else:
                    if inner and ancestor.name == "__init__":
                        break
                    if (
                        not info.is_static
                        and not info.is_classmethod
                        and ancestor.args.args
                        and self.analysis.derives(info.cls, "chainer.Link")
                    ):
                        return f"{ancestor.args.args[0].arg}.training"
                    break
        return "compat.is_training()"

    def enclosing_class(self, node: ast.AST) -> ClassInfo | None:
        """The class of the project in whose body the node stands."""
        found = self.source.enclosing(node, ast.ClassDef)
        return self.analysis.classes.get(found) if isinstance(found, ast.ClassDef) else None

    def is_instance(self, kind: Kind, base: str) -> bool | Undecided:
        """Three-valued ``isinstance`` for guards."""
        if isinstance(kind, Inst):
            return self.analysis.derives(kind.cls, base)
        return UNDECIDED if kind == UNKNOWN else False

    def reference(self, node: ast.AST, kind: Kind | None = None) -> str | None:
        """The dotted Chainer name that a Name or Attribute is, when no larger expression around it is one."""
        if kind is None:
            kind = self._kind(node)
        if kind.__class__ is not Ref or not isinstance(node, (ast.Name, ast.Attribute)):
            return None
        assert isinstance(kind, Ref)
        if kind.name not in self.analysis.libraries:
            return None
        if isinstance(node.ctx, ast.Store):
            return (
                kind.name
                if isinstance(node, ast.Attribute) and isinstance(self.analysis.kind(node.value), Ref)
                else None
            )
        parent = self.source.parents.get(node)
        if isinstance(parent, ast.Attribute) and parent.value is node:
            outer = self.analysis.kind(parent)
            if isinstance(outer, Ref) and outer.name in self.analysis.libraries:
                return None
        return kind.name if self.names_library(node) else None

    def is_called(self, node: ast.AST) -> bool:
        """Whether a node is what a call calls."""
        parent = self.source.parents.get(node)
        return isinstance(parent, ast.Call) and parent.func is node

    def needs_parentheses(self, node: ast.AST) -> bool:
        """Whether an operator that takes the place of a node needs parentheses there."""
        parent = self.source.parents.get(node)
        if isinstance(parent, ast.Call):
            return parent.func is node
        return not isinstance(parent, (ast.stmt, ast.keyword, ast.Tuple, ast.List, ast.Dict, ast.Starred))

    def operand(self, node: ast.AST) -> Operand:
        """A node of the source as an operand of a template."""
        if node in self._stand_ins:
            return Operand(code=self._stand_ins[node][1])
        return Operand(self.source.span(node))
