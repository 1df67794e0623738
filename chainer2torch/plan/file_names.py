"""What the names of a file are: imported, assigned, or spelled out as a library's."""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Class, Func, Kind, Ref, options
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.analysis.scopes import Scope, bindings
from chainer2torch.analysis.source import Source
from chainer2torch.plan.options import Options
from chainer2torch.plan.skips import Skipped
from chainer2torch.plan.stages import GO_WITH_OTHERS, MODELS, stage_of
from chainer2torch.rules.table import Rules
from chainer2torch.vendor.compat_file import MODULE_NAME

_MARKER = "# TODO(chainer2torch "
_OF_UNKNOWN = re.compile(r" \?\.(\w+):")
_MARKERS = 20  # the most lines of comments that are looked at above a statement
_LAST_VERSION = 7
_OF_TENSORS = (
    "chainer.functions",
    "chainer.links",
    "chainer.Variable",
    "chainer.as_variable",
    "chainer.Parameter",
    "chainer.Link",
    "chainer.Chain",
    "chainer.Sequential",
    "chainer.Function",
    "chainer.grad",
    "chainer.backend",
)


_MODULES = frozenset(
    """
    chainer.functions chainer.links chainer.optimizers chainer.optimizer chainer.optimizer_hooks chainer.serializers
    chainer.datasets chainer.dataset chainer.iterators chainer.initializers chainer.distributions chainer.reporter
    chainer.training chainer.training.extensions chainer.training.triggers chainer.training.updaters chainer.utils
    chainer.cuda chainer.backends.cuda chainer.backend chainer.variable chainer.function chainer.link chainer.testing
    chainer.gradient_check chainer.computational_graph chainer.function_hooks chainermn
    """.split()
)


class FileNames:
    """The part of the context that knows the names of its file."""

    analysis: Analysis
    module: ModuleInfo
    source: Source
    choices: Options
    rules: Rules
    skipped: Skipped

    def chainer_names(self, kind: Kind) -> list[str]:
        """The Chainer names among the options of a kind, sorted."""
        return sorted(k.name for k in options(kind) if isinstance(k, Ref) and k.name in self.analysis.libraries)

    def names_library(self, node: ast.expr) -> bool:
        """Whether the expression itself spells a Chainer name, rather than a variable that happens to hold one."""
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Call):  # e.g. something computed: its own sites are reported where they stand
            return False
        return not (isinstance(root, ast.Name) and self._is_variable(root))

    def _is_variable(self, root: ast.Name) -> bool:
        name = root.id
        if name in self.variables:
            return True
        if name not in self.analysis.once_a_file(_parameters, self.source):
            return False
        for env in (a for a in self.source.ancestors(root) if isinstance(a, (ast.FunctionDef, ast.AsyncFunctionDef))):
            if any(p.arg == name for p in (*env.args.args, *env.args.kwonlyargs, *env.args.posonlyargs)):
                return True
        return False

    @functools.cached_property
    def scopes(self) -> dict[ast.AST, Scope]:
        """Where each name of the file lives."""
        return self.analysis.once_a_file(_scopes, self.source)

    def scope(self, node: ast.AST, name: str) -> Scope:
        """Where the name of a node lives, without a look at all scopes when only imports of the module bind it."""
        return (
            self.source.tree if name in self.analysis.once_a_file(_everywhere, self.source) else self.scopes.get(node)
        )

    @functools.cached_property
    def era(self) -> int | None:
        """1 for a file of Chainer's version 1, 2 for a later one, None when nothing tells."""
        if self.choices.chainer_version is not None:
            return min(self.choices.chainer_version, 2)
        return self.analysis.project.eras[self.module.path]

    @functools.cached_property
    def version(self) -> int:
        """The major version that the file was written for; the last one where it may be that as well."""
        return self.choices.chainer_version or (1 if self.era == 1 else _LAST_VERSION)

    @functools.cached_property
    def variables(self) -> frozenset[str]:
        """Names that the file assigns (rather than imports)."""
        stored = frozenset(n.id for n in self.source.of(ast.Name) if isinstance(n.ctx, ast.Store))
        return stored - self.imported - self.module_aliases.keys()

    @functools.cached_property
    def module_aliases(self) -> Mapping[str, ast.Assign]:
        """``F = chainer.functions`` at the top of the file: a second way to write ``import chainer.functions as F``.

        So is ``V = chainer.Variable``, if it is called and nothing else, and no other file asks for it.
        """
        found = {
            statement.targets[0].id: statement
            for statement in self.source.tree.body
            if isinstance(statement, ast.Assign)
            and len(statement.targets) == 1
            and isinstance(statement.targets[0], ast.Name)
            and isinstance(statement.value, (ast.Attribute, ast.Name))
            and isinstance(kind := self.analysis.kind(statement.value), Ref)
            and (kind.name in _MODULES or self._is_only_called(statement.targets[0].id, kind))
        }
        if found:
            stored = Counter(n.id for n in self.source.of(ast.Name) if not isinstance(n.ctx, ast.Load))
            stored.update(a.arg for a in self.source.of(ast.arg))
            stored.update(self.imported)
            stored.update(name for one in self.source.of(ast.Global) for name in one.names)
        return {name: statement for name, statement in found.items() if stored[name] == 1}

    def _is_only_called(self, name: str, kind: Ref) -> bool:
        """Whether a name stands for a function or class of Chainer's that is called by it, and nothing else."""
        row = self.rules.rows.get(kind.name) if kind.name in self.analysis.libraries else None
        if row is None or row.signature is None or name in self.analysis.once(_asked_for):
            return False
        called = {call.func for call in self.source.of(ast.Call)}
        read = [n for n in self.source.named.get(name, ()) if isinstance(n.ctx, ast.Load)]
        return bool(read) and all(n in called for n in read)

    @functools.cached_property
    def imports_chainer(self) -> bool:
        """Whether some import of the file brings a name of Chainer's."""
        if _brings_chainer(self.analysis, self.source) or self.module.stars:
            return True
        starred = any(alias.name == "*" for alias in self.source.of(ast.alias))  # of a file of the project
        return starred and any(_is_of_chainer(kind) for kind in self.module.env.values())

    @functools.cached_property
    def beside_chainer(self) -> bool:
        """Whether Chainer is near: the file imports it, or something of a file of the project that does."""
        if self.imports_chainer:
            return True
        kinds = (self.analysis.bindings.get(a) for a in self.source.of(ast.alias))
        makers = {k.info.module.path: k.info.module for k in kinds if isinstance(k, (Class, Func))}
        return any(_brings_chainer(self.analysis, module.source) for module in makers.values())

    @functools.cached_property
    def holds_tensors(self) -> bool:
        """Whether the file has to do with tensors: it names something of Chainer's that takes or makes them."""
        return any(name.startswith(_OF_TENSORS) for _, name in self.analysis.names_in(self.source))

    @functools.cached_property
    def migrated(self) -> bool:
        """Whether an earlier run rewrote the models of the file, and no such run is to come.

        It imports the helpers, or torch where a marker says what was left.
        """
        names = {a.name for a in self.source.of(ast.alias)}
        helpers = any(name.rpartition(".")[2] == MODULE_NAME for name in names)
        tops = {name.partition(".")[0] for name in names}
        tops |= {(s.module or "").partition(".")[0] for s in self.source.of(ast.ImportFrom)}
        marked = "torch" in tops and _MARKER in self.source.text
        return (helpers or marked) and not self._models_are_left()

    @functools.cached_property
    def imported(self) -> frozenset[str]:
        """The names that imports of the file bind."""
        return frozenset(a.asname or a.name.split(".")[0] for a in self.source.of(ast.alias))

    def _models_are_left(self) -> bool:
        """Whether the runs before left the models of this file to another one: it names what is theirs unmarked."""
        for node in self.source.of(ast.Name, ast.Attribute):
            kind = self.analysis.kind(node) if isinstance(node.ctx, ast.Load) else None
            row = (
                self.rules.rows.get(kind.name)
                if isinstance(kind, Ref) and kind.name in self.analysis.libraries
                else None
            )
            member = self.source.parents.get(node)
            if (
                row is not None
                and not (isinstance(member, ast.Attribute) and self._is_said_of_member(member))
                and row.home not in GO_WITH_OTHERS
                and stage_of(row, row.name) == MODELS
                and not self._through_variable(node)
                and not self.skipped.node(node)
                and not any(_MARKER in line for line in self.comments_above(node))
                and not self._is_marked_where_called(node)
                and row.state != "manual"  # what has no equal stays; its marker may stand in another file
            ):
                return True
        return False

    def _is_said_of_member(self, member: ast.Attribute) -> bool:
        """Whether what is left is a name below this one, or one that the program sets in a class of Chainer's."""
        return isinstance(self.analysis.kind(member), Ref) or isinstance(member.ctx, ast.Store)

    def _is_marked_where_called(self, node: ast.AST) -> bool:
        """Whether a variable has the name of Chainer's, and the marker is where that is called."""
        while isinstance(outer := self.source.parents.get(node), ast.Attribute):
            node = outer
        statement = self.source.parents.get(node)
        targets = statement.targets if isinstance(statement, ast.Assign) and statement.value is node else []
        names = {target.id for target in (*targets, node) if isinstance(target, ast.Name)}
        return any(
            name.id in names and any(_MARKER in line for line in self.comments_above(name))
            for name in self.source.of(ast.Name)
        )

    def _through_variable(self, node: ast.expr) -> bool:
        """Whether a name of Chainer's is reached through a variable or ``self.apply``: what is said of it stands there
        where that got its value."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and (node.id in self.variables or node.id not in self.imported)

    def comments_above(self, node: ast.AST) -> Iterator[str]:
        """The lines of comments above the statement of a node, the last one first."""
        statement = self.source.line_statement(node)
        first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
        starts = self.source.line_starts
        above = self.source.text[starts[max(first - 1 - _MARKERS, 0)] : starts[first - 1]]
        for line in reversed(above.splitlines()[-_MARKERS:]):
            if not line.lstrip().startswith("#"):
                return
            yield line

    def marked_before(self, node: ast.Attribute) -> bool:
        """Whether an earlier run left a marker here because nobody knew what the attribute is asked of."""
        if node.attr not in self._asked_before:
            return False
        return any(f" ?.{node.attr}:" in line for line in self.comments_above(node))

    def left_before(self, node: ast.Attribute) -> bool:
        """Whether an earlier run knew what the attribute is asked of, and left it to a person with a marker here."""
        if not self.migrated or (said := f".{node.attr}: ") not in self._markers:
            return False
        marked = (line for line in self.comments_above(node) if _MARKER in line)
        return any(said in line and " ?." not in line for line in marked)

    @functools.cached_property
    def _asked_before(self) -> frozenset[str]:
        """The attributes of which the file says so anywhere."""
        return frozenset(_OF_UNKNOWN.findall(self.source.text))

    @functools.cached_property
    def _markers(self) -> str:
        """The lines with markers of an earlier run."""
        text = self.source.text
        return "\n".join(line for line in text.splitlines() if _MARKER in line) if _MARKER in text else ""


def _is_of_chainer(kind: Kind) -> bool:
    return isinstance(kind, Ref) and kind.name.split(".")[0] == "chainer"


def _brings_chainer(analysis: Analysis, source: Source) -> bool:
    kinds = (analysis.bindings.get(a) for a in source.of(ast.alias))
    return any(isinstance(k, Ref) and k.name in analysis.libraries for k in kinds)


def _parameters(source: Source) -> frozenset[str]:
    """The names of all parameters in a file."""
    return frozenset(parameter.arg for parameter in source.of(ast.arg))


def _scopes(source: Source) -> dict[ast.AST, Scope]:
    return bindings(source.tree)


def _everywhere(source: Source) -> frozenset[str]:
    """Names that imports outside of functions and classes bind, and nothing else: the same in all scopes."""
    inner: set[str] = set()
    outer: set[str] = set()
    for node in source.of(ast.Import, ast.ImportFrom):
        local = source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        names = outer if local is None else inner
        names.update(alias.asname or alias.name.split(".")[0] for alias in node.names)
    return frozenset(outer - inner - source.assigned)


def _asked_for(analysis: Analysis) -> frozenset[str]:
    """The names that some file of the project may take from another: imported ones, members, texts."""
    found: set[str] = set()
    for module in analysis.project.modules.values():
        source = module.source
        for statement in source.of(ast.ImportFrom):
            found |= {alias.name for alias in statement.names}
        found |= {node.attr for node in source.of(ast.Attribute)}
        found |= {node.value for node in source.of(ast.Constant) if isinstance(node.value, str)}
        if module.stars:
            found |= {node.id for node in source.of(ast.Name)}
    return frozenset(found)
