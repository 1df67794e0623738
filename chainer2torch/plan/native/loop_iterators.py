"""The concern of iterators in loops that the program writes itself: which become a DataLoader, and in which form."""

from __future__ import annotations

import ast
import enum
from collections.abc import Sequence

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import (
    UNKNOWN,
    Const,
    Dct,
    Func,
    Inst,
    Lst,
    Ref,
    Stream,
    Tup,
    options,
)
from chainer2torch.analysis.models import data
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.analysis.values import dataclass
from chainer2torch.plan.context import Context
from chainer2torch.plan.native import places
from chainer2torch.plan.native.filled_updaters import is_asked, is_drawn_inside, is_filled_in
from chainer2torch.plan.native.loaders import Need, need_of
from chainer2torch.plan.native.loop_shapes import Loop, draw_of, loops_of, walk_over
from chainer2torch.plan.native.left_iterators import is_left_at_end
from chainer2torch.plan.native.objects import Concern, Objects, Use
from chainer2torch.plan.native.python_walks import is_consumed, is_walked_where_made
from chainer2torch.plan.questions.plain_batches import may_hold_lists
from chainer2torch.rules.signature import BindError, Bound

_MODULE = "chainer.iterators."
WORKERS = {"SerialIterator": "", "MultiprocessIterator": "n_processes", "MultithreadIterator": "n_threads"}
_KNOWN = frozenset(
    "dataset batch_size repeat shuffle n_processes n_threads n_prefetch shared_mem dataset_timeout".split()
)
_SAME = frozenset({"dataset", "batch_size"})  # attributes of a DataLoader, too
_IDLE = frozenset({"reset", "finalize"})  # calls that have nothing to do there
_COUNTS = frozenset({"epoch", "is_new_epoch", "epoch_detail"})
_AGAIN = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
_SEVERAL_TIMES = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_COPIES = frozenset({"copy.copy", "copy.deepcopy"})


class Form(enum.Enum):
    """What an iterator becomes."""

    LOADER = "a DataLoader: every loop over it is a for loop"
    GIVEN = "what the updater or evaluator makes of it that gets it; nothing else reads it"
    ENDLESS = "native.endless over a DataLoader: next(), and nothing else"
    ONCE = "iter(DataLoader(...)): what Python does with an iterator, and nothing else"
    BATCHES = "native.Batches around a DataLoader: next(), epoch, is_new_epoch"


@dataclass(frozen=True, eq=False)
class Iterator:
    """One iterator that becomes native."""

    form: Form
    bound: Bound
    loops: tuple[Loop, ...]
    collates: bool  # whether the loader does the work of concat_examples; else its batches are lists of examples

    @property
    def repeats(self) -> bool:
        """Whether it goes on after an epoch."""
        return repeats(self.bound) is True


def bound_of(objects: Objects, inst: Inst) -> Bound | None:
    """The arguments with which an iterator is made."""
    row = objects.analysis.rules.rows.get(inst.cls) if isinstance(inst.cls, str) else None
    call = objects.analysis.makers.get(inst.site)
    if row is None or row.signature is None or call is None:
        return None
    try:
        bound = row.signature.bind(call.args, call.keywords)
    except BindError:
        return None
    return None if bound.starred else bound


def repeats(bound: Bound) -> bool | None:
    """The value of ``repeat``; None: not known."""
    node = bound.given.get("repeat")
    if node is None:
        return True
    return bool(node.value) if isinstance(node, ast.Constant) else None


def has_place(bound: Bound) -> bool:
    """Whether a DataLoader can be told all that the iterator is told."""
    return repeats(bound) is not None and bound.given.keys() <= _KNOWN


def form_of(objects: Objects, inst: Inst) -> Iterator | str:
    """What an iterator becomes, or why it stays."""
    if inst not in objects.forms:
        objects.forms[inst] = _form(objects, inst)
    found = objects.forms[inst]
    assert isinstance(found, (Iterator, str))
    return found


def _form(objects: Objects, inst: Inst) -> Iterator | str:
    bound = bound_of(objects, inst)
    if bound is None or not has_place(bound):
        return "an iterator whose arguments have no place"
    if not repeats(bound) and is_left_at_end(objects, inst):
        return "copied where another one has left it at its end"
    uses = [use for use in objects.uses_of(inst) if is_read(use)]
    need = need_of(objects, inst)
    if need is not None:
        lists = need is not Need.BATCHES  # which an updater draws itself, or the loop hands over
        if isinstance(need, str) or not all(_is_idle(use) or lists and is_drawn_inside(use) for use in uses):
            return need if isinstance(need, str) else "read in a loop and by the training"
        form = Form.BATCHES if need is Need.DRAWN else Form.LOADER
        return Iterator(form, bound, (), need is Need.BATCHES)
    if not any(_is_work(use) for use in uses):  # whoever it is given to reads it
        taken = _is_returned(objects, inst) or any(_is_given(objects, use) for use in objects.uses_of(inst))
        return Iterator(Form.GIVEN if taken else Form.LOADER, bound, (), True)
    if any(_is_given(objects, use) for use in objects.uses_of(inst)):
        return "read in a loop, and given to another object that reads it"
    found: list[Loop] = []
    for context in {use.context: None for use in uses}:
        found += loops_of(context, [use for use in uses if use.context is context])
    loops = [loop for loop in found if _is_whole(objects, inst, loop, repeats(bound) is True)]
    accounted = {use.node for loop in loops for use in loop.uses}
    rest = [use for use in uses if use.node not in accounted]
    if any(loop.stop is not None for loop in loops) and len(loops) > 1:
        loops = []  # the second counts from where the first has stopped
    if loops and all(_is_idle(use) for use in rest):
        again = _read_again(objects, inst, loops) if not repeats(bound) else ""
        if again:
            return _once(objects, inst, bound) or again
        collates = all(loop.batch.converter is not None for loop in loops)
        if not collates and any(_needs_converter(loop) for loop in loops):
            return "some of its batches are converted in the loop, others not"
        return Iterator(Form.LOADER, bound, tuple(loops), collates)
    if not repeats(bound):
        return _once(objects, inst, bound) or "read in a loop that is not understood"
    if not all(_is_idle(u) or _is_walked(u) or u.member in _COUNTS and is_load(u) for u in uses):
        return "read in a way that is not understood"
    drawn = all(use.member == "finalize" or _is_walked(use) for use in uses)
    copied = any(is_copied(use) for use in objects.uses_of(inst))
    return Iterator(Form.ENDLESS if drawn and not copied else Form.BATCHES, bound, (), False)


def _once(objects: Objects, inst: Inst, bound: Bound) -> Iterator | None:
    """The form of an iterator without ``repeat`` that is walked over as Python does, whatever the turns."""
    uses = objects.uses_of(inst)
    if any(is_copied(use) or is_asked(use) for use in uses):
        return None
    if not all(_is_walked(use) or use.member == "finalize" and _is_idle(use) for use in uses if is_read(use)):
        return None
    maker = objects.analysis.makers[inst.site]
    directly = all(is_walked_where_made(use, maker) for use in uses)
    return Iterator(Form.LOADER if directly else Form.ONCE, bound, (), False)


def _is_walked(use: Use) -> bool:
    return _is_next(use) or _is_looped(use) or is_consumed(use)


def _needs_converter(loop: Loop) -> bool:
    """Whether the loader has to give what the loop converts: ``x, t = concat_examples(it.next())``."""
    batch = loop.batch
    return batch.converter is not None and isinstance(loop.statement, ast.While) and len(batch.statements) == 1


def is_read(use: Use) -> bool:
    """Whether an expression does something with the iterator itself; others only hand it on."""
    return bool(use.member) or _is_walked(use)


def _is_work(use: Use) -> bool:
    """Whether a use does more than a DataLoader allows, too."""
    return is_read(use) and not _is_idle(use)


def _is_given(objects: Objects, use: Use) -> bool:
    """Whether an iterator is an argument when another training object is made."""
    call = use.parent if isinstance(use.parent, ast.Call) else use.context.source.parents.get(use.parent)
    return isinstance(call, ast.Call) and any(objects.takers(use.context, call)) and not use.member


def _is_returned(objects: Objects, inst: Inst) -> bool:
    """Whether a function gives an iterator away: nobody knows who reads it where no call of it is seen."""
    parents = [use.parent for use in objects.uses_of(inst)]
    maker = objects.analysis.makers[inst.site]
    parents += [
        module.source.parents[maker]
        for module in objects.analysis.project.modules.values()
        if maker in module.source.parents
    ]
    return any(isinstance(parent, (ast.Return, ast.Yield, ast.Lambda)) for parent in parents)


def _is_next(use: Use) -> bool:
    return draw_of(use.context, use) is not None


def _is_looped(use: Use) -> bool:
    return walk_over(use.context, use.node) is not None


def is_load(use: Use) -> bool:
    """Whether a member is read."""
    return isinstance(use.parent, ast.Attribute) and isinstance(use.parent.ctx, ast.Load)


def _is_idle(use: Use) -> bool:
    """What a DataLoader has under the same name, or what has nothing to do there."""
    if use.member in _SAME:
        return is_load(use)
    call = use.call
    if use.member not in _IDLE or call is None or call.args:
        return False
    statement = use.context.source.parents[call]
    return isinstance(statement, ast.Expr) and places.is_alone(use.context, statement)


def _is_whole(objects: Objects, inst: Inst, loop: Loop, repeat: bool) -> bool:
    """Whether a loop that is understood runs through whole epochs of this iterator."""
    if not isinstance(loop.statement, ast.While):
        return not repeat and not getattr(loop.statement, "orelse", ())
    if loop.stop is None:
        return True
    return _begins_once(objects, inst, loop)


def _begins_once(objects: Objects, inst: Inst, loop: Loop) -> bool:
    """``while it.epoch < n`` counts from where the iterator stands: it must be new there."""
    context, maker = loop.uses[0].context, objects.analysis.makers[inst.site]
    function = places.function_of(context, loop.statement)
    outer = list(context.source.ancestors(loop.statement))
    around: list[ast.AST] = [a for a in outer if isinstance(a, (ast.For, ast.While))]
    if isinstance(loop.statement, ast.comprehension):  # of a generator that is walked over again, or inside another
        around += [a for a in outer if isinstance(a, _SEVERAL_TIMES)][1:]
    if maker not in context.source.parents or places.function_of(context, maker) is not function:
        handed = isinstance(loop.uses[0].node, ast.Name) and function is not None
        return not around and handed and _is_called_once(objects, maker, function)
    return all(a in context.source.ancestors(maker) for a in around)


def _is_called_once(objects: Objects, maker: ast.Call, function: ast.AST | None) -> bool:
    """Whether a function runs at most once with an iterator that the function of its call has made."""
    home = objects.context_of(maker)
    calls: list[ast.Call] = []
    for module, node in objects.analysis.once(_names_of_functions).get(function, ()):
        call = module.source.parents[node]
        if isinstance(getattr(node, "ctx", None), ast.Store) or isinstance(call, ast.alias):
            return False
        if module is not home.module or not isinstance(call, ast.Call) or call.func is not node:
            return False
        if _may_hand(objects, call, maker):
            calls.append(call)
    scope = places.function_of(home, maker)
    loops = [a for call in calls for a in home.source.ancestors(call) if isinstance(a, _AGAIN)]
    return (
        bool(calls)
        and all(places.function_of(home, call) is scope for call in calls)
        and all(places.are_branches(home, a, b) for i, a in enumerate(calls) for b in calls[:i])
        and all(loop in home.source.ancestors(maker) for loop in loops)
    )


def _names_of_functions(analysis: Analysis) -> dict[ast.AST | None, list[tuple[ModuleInfo, ast.Name | ast.Attribute]]]:
    """By the node of a function of the project the names and members that may be it, in the order of the files."""
    found: dict[ast.AST | None, list[tuple[ModuleInfo, ast.Name | ast.Attribute]]] = {}
    for module in analysis.project.modules.values():
        for node in module.source.of(ast.Name, ast.Attribute):
            kinds = options(analysis.kind(node))
            for function in {kind.info.node for kind in kinds if isinstance(kind, Func)}:
                found.setdefault(function, []).append((module, node))
    return found


def _may_hand(objects: Objects, call: ast.Call, maker: ast.Call) -> bool:
    """Whether the iterator that a call has made may be an argument of another call."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    kinds = [kind for node in given for kind in options(objects.analysis.kind(node))]
    return any(
        kind == UNKNOWN
        or isinstance(kind, (Lst, Tup, Dct, Stream))
        or isinstance(kind, Inst)
        and (not kind.sites or any(objects.analysis.makers.get(site) is maker for site in kind.sites))
        for kind in kinds
    )


def _read_again(objects: Objects, inst: Inst, loops: Sequence[Loop]) -> str:
    """Why Chainer may find an iterator without ``repeat`` at its end, where a DataLoader begins anew; "": it cannot."""
    uses = objects.uses_of(inst)
    put_back = any(use.member == "reset" for use in uses) or any(is_copied(use) for use in uses)
    if put_back or all(loop.dropped for loop in loops):
        return ""
    once = len(loops) == 1 and _begins_once(objects, inst, loops[0])
    return "" if once else "read again without a reset()"


def is_copied(use: Use) -> bool:
    call = use.parent
    kind = use.context.kind(call.func) if isinstance(call, ast.Call) else None
    return isinstance(kind, Ref) and kind.name in _COPIES


def hands_on_a_class(analysis: Analysis, module: ModuleInfo) -> bool:
    """``make(iterator_class=SerialIterator)``: what is made of it is an iterator as Chainer has them, and no loader."""
    for node in module.source.of(ast.Name, ast.Attribute):
        kind = analysis.kind(node)
        if not (isinstance(kind, Ref) and kind.name.startswith(_MODULE) and isinstance(node.ctx, ast.Load)):
            continue
        outer = module.source.parents[node]
        asked = isinstance(outer, ast.Call) and ast.unparse(outer.func) in ("isinstance", "issubclass")
        called = isinstance(outer, ast.Call) and outer.func is node
        if not asked and not called and not isinstance(outer, (ast.Attribute, ast.ClassDef)):
            return True
    return False


def needs_collation(objects: Objects, inst: Inst) -> bool:
    """Whether examples may have lists in them, which default_collate takes apart and Chainer stacks."""
    dataset = objects.analysis.objects.get(inst.site, {}).get("dataset")
    return dataset is None or may_hold_lists(data.examples(objects.analysis, dataset))


# -- the concern ---------------------------------------------------------------------------------------------------


def _made(objects: Objects, inst: Inst, call: ast.Call, context: Context) -> str:
    name = inst.cls.removeprefix(_MODULE) if isinstance(inst.cls, str) else ""
    if name not in WORKERS or context.reference(call.func) is None:
        return "an iterator of another class"
    bound = bound_of(objects, inst)
    if bound is not None and "shuffle" in bound.given and not isinstance(context.kind(bound.given["shuffle"]), Const):
        return "whether it shuffles is known at run time only"
    found = form_of(objects, inst)
    return found if isinstance(found, str) else ""


def used(objects: Objects, use: Use) -> str | None:
    """One use of an iterator in a loop; what reaches the place has to have one form."""
    if is_copied(use) and walk_over(use.context, use.node) is None:
        return ""
    if not is_read(use):
        return "" if is_asked(use) or is_filled_in(use) else None
    forms = [form_of(objects, inst) for inst in objects.of(use.context.kind(use.node))]
    known = [form for form in forms if isinstance(form, Iterator)]
    if len(known) < len(forms):
        return ""  # said where it is made
    return "" if len({(form.form, form.collates) for form in known}) == 1 else "one of several iterators"


CONCERN = Concern("iterators", ("chainer.dataset.Iterator",), _made, used, in_displays=True, each=True)

__all__ = [
    "CONCERN",
    "WORKERS",
    "Form",
    "Iterator",
    "bound_of",
    "form_of",
    "hands_on_a_class",
    "needs_collation",
    "has_place",
    "is_copied",
    "is_load",
    "is_read",
    "used",
]
