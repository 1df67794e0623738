"""What the analysis has found out about a project, and questions about it.

The abstract interpreter (``flow.py``) fills these tables while it runs. Afterwards they are read: by the passes of the
plan, by reports and by ``verify``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from chainer2torch.analysis.kinds import BOTTOM, UNKNOWN, Class, Inst, Kind, Ref, Tensor, Union, options
from chainer2torch.analysis.libraries import Libraries
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo, ModuleInfo, Project
from chainer2torch.analysis.source import Source
from chainer2torch.rules.table import Rules

Answer = TypeVar("Answer")
# what a call of a layer may ask for that torch's plain layer cannot do
MORE: Mapping[str, str] = MappingProxyType(
    {"chainer.links.BatchNormalization": "finetune", "chainer.links.Linear": "n_batch_axes"}
)


class _Kinds(dict[ast.AST, Kind]):
    """Kinds of expressions; of one that no visit has reached nothing is known."""

    def __missing__(self, node: ast.AST) -> Kind:
        return UNKNOWN


SomeFacts = TypeVar("SomeFacts", bound="Facts")


class Facts:
    """Tables of what is known about the expressions, objects, classes and functions of one project.

    An object is identified by its construction site: a number for the call that made it (``Inst.site``).
    """

    def __init__(self, project: Project, rules: Rules):
        self.project = project
        self.rules = rules
        self.libraries = Libraries.of(rules.libraries, project.whole.files)
        # the kind of every expression that was visited
        self.facts: dict[ast.AST, Kind] = _Kinds()
        # what is known about the value of an expression; UNKNOWN if no visit has reached it
        self.kind: Callable[[ast.AST], Kind] = self._kind_so_far
        # what each alias of an import statement binds
        self.bindings: dict[ast.AST, Kind] = {}
        # by construction site: the arguments of the constructor and what was put into the object later, by name
        self.objects: dict[int, dict[str, Kind]] = {}
        # by construction site: the call that makes the object
        self.makers: dict[int, ast.Call] = {}
        # by construction site of a layer: the join of all inputs that reach it, and the calls that pass them
        self.layer_inputs: dict[int, Kind] = {}
        self.layer_calls: dict[int, set[ast.Call]] = {}
        # construction sites of layers with calls that no source line shows: in a Sequential, by an updater, elsewhere
        self.called_inside: set[int] = set()
        # construction sites of layers that a list of links holds; calls of links that may once have been any
        self.listed: set[int] = set()
        self.calls_of_any: set[ast.Call] = set()
        self.classes: dict[ast.ClassDef, ClassInfo] = {}
        self.functions: dict[ast.AST, FuncInfo] = {}
        # for a mixin class of the project: the class of Chainer that all of its objects also have
        self.mixed: dict[ClassInfo, str] = {}
        # paths of files with expressions that are nested too deeply for Python's recursion limit
        self.too_deep: set[str] = set()
        self._answers: dict[Callable[..., Any], Any] = {}
        self._of_files: dict[Source, dict[Callable[[Source], Any], Any]] = {}
        self._names_in: dict[Source, list[tuple[ast.Name | ast.Attribute, str]]] = {}
        self._references_in: dict[Source, list[tuple[ast.Name | ast.Attribute, tuple[str, ...]]]] = {}
        self._mros: dict[str | ClassInfo, list[str | ClassInfo]] = {}
        self._derived: dict[tuple[str | ClassInfo, str], bool] = {}
        self._heirs: dict[int, dict[str | ClassInfo, list[ClassInfo]]] = {}
        self._special: dict[tuple[str, int], frozenset[str]] = {}

    def _kind_so_far(self, node: ast.AST) -> Kind:
        kind = self.facts.get(node, UNKNOWN)
        return UNKNOWN if kind is BOTTOM else kind

    def settle_kinds(self) -> None:
        """Nothing changes any more: what is not known yet will not be, and passes ask for kinds without detours."""
        for node in [node for node, kind in self.facts.items() if kind is BOTTOM]:
            del self.facts[node]
        self.kind = self.facts.__getitem__

    def once(self: SomeFacts, question: Callable[[SomeFacts], Answer]) -> Answer:
        """The answer to a question about the whole project. It is computed once, however many files ask."""
        if question not in self._answers:
            self._answers[question] = question(self)
        answer: Answer = self._answers[question]
        return answer

    def once_a_file(self, question: Callable[[Source], Answer], source: Source) -> Answer:
        """The answer to a question about one file's text and tree. It is worked out once, whoever asks."""
        answers = self._of_files.setdefault(source, {})
        if question not in answers:
            answers[question] = question(source)
        answer: Answer = answers[question]
        return answer

    def names_in(self, source: Source) -> list[tuple[ast.Name | ast.Attribute, str]]:
        """The names and attributes of a file that stand for something outside of the project, with its dotted name.

        Ask it when the walk is over.
        """
        found = self._names_in.get(source)
        if found is None:
            kinds = ((node, self.facts.get(node)) for node in source.of(ast.Name, ast.Attribute))
            self._names_in[source] = found = [(node, kind.name) for node, kind in kinds if isinstance(kind, Ref)]
        return found

    def references_in(self, source: Source) -> list[tuple[ast.Name | ast.Attribute, tuple[str, ...]]]:
        """The names and attributes of a file that may stand for something outside, with all that each may be.

        Ask it when the walk is over.
        """
        found = self._references_in.get(source)
        if found is None:
            found = self._references_in[source] = []
            for node in source.of(ast.Name, ast.Attribute):
                kind = self.facts.get(node)
                if isinstance(kind, Ref):
                    found.append((node, (kind.name,)))
                elif isinstance(kind, Union) and (names := tuple(k.name for k in kind.ordered if isinstance(k, Ref))):
                    found.append((node, names))
        return found

    def module_of(self, node: ast.AST) -> ModuleInfo | None:
        """The file in which a call stands that makes an object, or any other node."""
        found = self.once(_modules_of_makers).get(node)
        if found is None:
            found = next((m for m in self.project.modules.values() if node in m.source.parents), None)
        return found

    def reaching(self, site: int) -> Kind | None:
        """What reaches the layer that is made at a site: the join of the inputs of all its calls; None: no call."""
        seen = self.layer_inputs.get(site)
        if seen == UNKNOWN or not self.called_unseen(site):
            return seen
        return UNKNOWN if self._may_be_called(site, self.once(_calls_of_any_link_with_more)) else Tensor()

    def called_unseen(self, site: int) -> bool:
        """Whether some call may be one of this layer, of which nobody knows: a list holds it, and links are called."""
        return site in self.listed and self._may_be_called(site, self.once(_calls_of_any_link))

    def says_more(self, cls: str = "") -> bool:
        """Whether ``link(x, **options)`` may ask for more than torch's plain layer can do; of a class, or of any.

        In the native style that is so where the project says the word: torch's layer refuses it from unseen callers.
        """
        words = self.once(_words_for_more)
        return self.rules.style != "native" or (MORE[cls] in words if cls else bool(words))

    def _may_be_called(self, site: int, classes: frozenset[str]) -> bool:
        """Whether the layer of a site may be called where an object of one of these classes of Chainer's is."""
        maker = self.makers.get(site)
        made = options(self.kind(maker)) if classes and maker is not None else ()
        return bool(classes) and not all(
            isinstance(k, Inst) and not any(self.derives(k.cls, cls) for cls in classes) for k in made or (UNKNOWN,)
        )

    # -- class hierarchy -------------------------------------------------------------------------------------------

    def is_link(self, kind: Kind) -> bool:
        """Whether a value is an instance of chainer.Link (which migrates to torch.nn.Module)."""
        if isinstance(kind, Inst):
            return self.derives(kind.cls, "chainer.Link")
        return isinstance(kind, Union) and any(
            isinstance(k, Inst) and self.derives(k.cls, "chainer.Link") for k in kind.ordered
        )

    def derives(self, cls: str | ClassInfo, base: str) -> bool:
        """Whether a class, of the project or of Chainer, derives from a Chainer class."""
        found = self._derived.get((cls, base))
        if found is None:
            found = self._derived[cls, base] = any(
                isinstance(b, str) and self.rules.is_subclass(b, base) for b in self.mro(cls)
            )
        return found

    def mro(self, cls: str | ClassInfo) -> list[str | ClassInfo]:
        """A class and its bases in the order in which attributes are searched (depth first)."""
        if cls in self._mros:
            return self._mros[cls]
        result = self._mros[cls] = []
        stack: list[str | ClassInfo] = [cls]
        while stack:
            current = stack.pop()
            if current in result:
                continue
            result.append(current)
            if isinstance(current, ClassInfo):
                parents = [o for base in current.bases for o in options(base)]
                stack += [
                    p.info if isinstance(p, Class) else p.name for p in reversed(parents) if isinstance(p, (Class, Ref))
                ]
        if isinstance(cls, ClassInfo) and cls in self.mixed:  # last: a mixin's own methods come first
            result.append(self.mixed[cls])
        return result

    def heirs(self, cls: ClassInfo) -> list[ClassInfo]:
        """The other classes of the project that derive from a class, as far as classes are known by now."""
        below = self._heirs.get(len(self.classes))
        if below is None:
            below = self._heirs[len(self.classes)] = {}
            for other in self.classes.values():
                for above in self.mro(other):
                    if above is not other:
                        below.setdefault(above, []).append(other)
        return below.get(cls, [])

    def is_buffer(self, cls: ClassInfo, name: str) -> bool:
        """Whether arrays under a name are tensors: the class, a base or an heir registers them as persistent."""
        return any(name in one.persistent for one in self._family(cls, name, "persistent"))

    def is_moved(self, cls: ClassInfo, name: str) -> bool:
        """Whether the class, a base or an heir moves an array to a GPU itself: it is a tensor on the CPU, too."""
        return any(name in one.moved for one in self._family(cls, name, "moved"))

    def _family(self, cls: ClassInfo, name: str, among: str) -> list[ClassInfo]:
        """A class with its bases and heirs, if some class has a name among its persistent or moved ones."""
        key = among, len(self.classes)
        if key not in self._special:
            self._special[key] = frozenset(n for one in self.classes.values() for n in getattr(one, among))
        if name not in self._special[key]:
            return []
        return [*(one for one in self.mro(cls) if isinstance(one, ClassInfo)), *self.heirs(cls)]

    def comes_before_others(self, cls: ClassInfo) -> bool:
        """Whether ``super()`` in a link's class leads to another class of the project, one that it does not name.

        ``class Both(cls, Net)``
        """
        own = self.mro(cls)
        for heir in self.classes.values():
            bases = [o.info for base in heir.bases for o in options(base) if isinstance(o, Class)]
            first = next((i for i, base in enumerate(bases) if cls in self.mro(base)), len(bases))
            if any(self.derives(one, "chainer.Link") and one not in own for one in bases[first + 1 :]):
                return True
        return False

    def forget_hierarchy(self) -> None:
        """Drops what ``mro`` and ``derives`` remember, because the bases of a class have changed."""
        self._mros.clear()
        self._derived.clear()
        self._heirs.clear()


def _modules_of_makers(facts: Facts) -> dict[ast.AST, ModuleInfo]:
    """The files in which the calls stand that make objects."""
    makers = set(facts.makers.values())
    return {
        call: module
        for module in facts.project.modules.values()
        for call in module.source.of(ast.Call)
        if call in makers
    }


def _calls_of_any_link(facts: Facts) -> frozenset[str]:
    """The classes of the links of Chainer's that are called somewhere where nobody knows where they were made."""
    return frozenset(cls for call in facts.calls_of_any for cls in _classes_of_any(facts, call))


def _calls_of_any_link_with_more(facts: Facts) -> frozenset[str]:
    """Those of such calls that pass what only some layers take: ``link(x, n_batch_axes=2)``, ``link(x, **options)``."""
    found: set[str] = set()
    for call in facts.calls_of_any:
        if any(k.arg is None and facts.says_more() or k.arg in MORE.values() for k in call.keywords):
            found.update(_classes_of_any(facts, call))
    return frozenset(found)


def _words_for_more(facts: Facts) -> frozenset[str]:
    texts = [module.source.text for module in facts.project.modules.values()]
    return frozenset(word for word in MORE.values() if any(word in text for text in texts))


def _classes_of_any(facts: Facts, call: ast.Call) -> list[str]:
    kinds = [k for k in options(facts.kind(call.func)) if isinstance(k, Inst) and not k.sites and facts.is_link(k)]
    return [k.cls for k in kinds if isinstance(k.cls, str)]
