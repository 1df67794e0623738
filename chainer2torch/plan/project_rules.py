"""Which rows stand for a file, where that depends on what is done elsewhere in the program.

Some short helpers of the native style take the place of long ones only as a whole: the optimizers without update rules
of single parameters, the communicators without exchange of arrays. A program is the files that imports connect.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import NONE, UNKNOWN, Inst, Kind, Ref, options, scalar_type
from chainer2torch.analysis.module_index import ClassInfo, ModuleInfo
from chainer2torch.plan.native.imports import groups
from chainer2torch.plan.questions import freezing, own_rules
from chainer2torch.plan.questions.asked_classes import asked_names
from chainer2torch.plan.questions.exchanged_arrays import exchanges_arrays
from chainer2torch.plan.questions.npz_blocks import block_of
from chainer2torch.plan.questions.shared_links import hides_setups, shares_parameters
from chainer2torch.rules.table import Rules

_MEMBERS = frozenset(
    {
        "create_update_rule",
        "update_enabled",
        "use_auto_new_epoch",
        "loss_scaling",
        "set_loss_scale",
        "is_safe_to_update",
        "use_fp32_update",
    }
)
_SETTINGS = frozenset({"eta", "weight_decay_rate", "amsgrad", "adabound", "eps_inside_sqrt"})
_BOUNDS = frozenset({"gamma", "final_lr"})  # other objects have such attributes, too
_BASES = ("chainer.GradientMethod", "chainer.UpdateRule")
_PLACES_OF_SCALES = MappingProxyType(
    {"chainer.training.updaters.StandardUpdater": 5, "chainer.training.updaters.ParallelUpdater": 6}
)
_ITERATORS = frozenset(f"chainer.iterators.{name}Iterator" for name in ("Serial", "Multiprocess", "Multithread"))
_INSIDE_ITERATORS = frozenset(
    {"order_sampler", "_order", "_state", "_epoch_size", "serialize", "n_processes", "n_threads"}
)
_BEFORE_ORDER = 4  # arguments of a SerialIterator before its order_sampler; the other iterators have more
_ITERATOR_MAKERS = frozenset({"create_multi_node_iterator", "create_synchronized_iterator"})
_IMAGE_SETS = frozenset({"chainer.datasets.ImageDataset", "chainer.datasets.LabeledImageDataset"})
_INITIALIZERS = ("chainer.initializers.", "chainer.Initializer")
_READERS = frozenset({"numpy.load", "h5py.File"})
_ARCHIVES = frozenset(f"chainer.serializers.{way}_{kind}" for way in ("save", "load") for kind in ("hdf5", "npz"))


def rules_for(analysis: Analysis, module: ModuleInfo) -> Rules:
    """The rules for a file: without the rows that do not do for what some part of its program asks."""
    rules = analysis.rules
    for question in sorted(rules.under):
        if _answer(analysis, module, question):
            rules = rules.without(question)
    return rules


def has_short_optimizers(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether every optimizer of a file's program saves all that it has by ``state_dict()``."""
    return not _answer(analysis, module, "looks_into_optimizers")


def steps_shared_once(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a file's program has a parameter in several places of a model, which its optimizers step once."""
    shared = analysis.once(_sharing)
    return analysis.once(_files)[module] in shared and has_short_optimizers(analysis, module)


def has_short_iterators(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether no part of a file's program looks into an iterator."""
    return not _answer(analysis, module, "looks_into_iterators")


def has_short_communicators(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a file's program does no more with ChainerMN than data-parallel training."""
    return not _answer(analysis, module, "exchanges_arrays")


def reads_its_archives(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a file's program reads with NumPy or h5py what it has saved: then it needs Chainer's kind of file."""
    return analysis.once(_files)[module] in analysis.once(_reading_archives)


def _answer(analysis: Analysis, module: ModuleInfo, question: str) -> bool:
    return analysis.once(_files)[module] in analysis.once(_QUESTIONS[question])


def _files(analysis: Analysis) -> dict[ModuleInfo, int]:
    return groups(analysis.project)


def _with(analysis: Analysis, asks: Callable[[Analysis, ModuleInfo], bool]) -> frozenset[int]:
    """The programs some file of which asks for something."""
    found: set[int] = set()
    for module, group in analysis.once(_files).items():
        if group not in found and asks(analysis, module):
            found.add(group)
    return frozenset(found)


def _sharing(analysis: Analysis) -> frozenset[int]:
    return _with(analysis, shares_parameters)


# -- optimizers ----------------------------------------------------------------------------------------------------


def _looking_into_optimizers(analysis: Analysis) -> frozenset[int]:
    """The programs that ask for what only the long optimizers have."""
    files = analysis.once(_files)
    own = frozenset(files[cls.module] for cls in analysis.classes.values() if _changes_a_formula(analysis, cls))
    adams = frozenset(files[c.module] for c in analysis.classes.values() if own_rules.changes_adam(analysis, c))
    return (
        adams - analysis.once(_with_own_adams)
        | own
        | _with(analysis, _looks_into_optimizers)
        | _with(analysis, _scales_losses)
        | _with(analysis, shares_parameters) & _with(analysis, hides_setups)
        | _with(analysis, _saves_optimizers) & (analysis.once(_reading_archives) | _saying_links(analysis))
    )


def _saying_links(analysis: Analysis) -> frozenset[int]:
    """The programs with a link that says itself what is saved of it: their files stay Chainer's kind of file."""
    own = (cls for cls in analysis.classes.values() if "serialize" in cls.methods)
    files = analysis.once(_files)
    return frozenset(files[cls.module] for cls in own if analysis.derives(cls, "chainer.Link"))


def _saves_optimizers(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a file saves or loads the state of an optimizer: in Chainer's kind of file only the long ones do."""
    return any(
        isinstance(name := analysis.kind(call.func), Ref)
        and name.name.startswith("chainer.serializers.")
        and len(call.args) > 1
        and any(
            isinstance(k, Inst) and any(analysis.derives(k.cls, base) for base in _BASES)
            for k in options(analysis.kind(call.args[1]))
        )
        for call in module.source.of(ast.Call)
    )


def _changes_a_formula(analysis: Analysis, cls: ClassInfo) -> bool:
    """Whether a class changes an optimizer of Chainer's, or a rule of one, and does not say all of it itself.

    Adam's rule may be changed: there is a short one of it.
    """
    owners = [owner for owner in analysis.mro(cls) if isinstance(owner, str)]
    own = bool(owners) and owners[0] in _BASES or own_rules.changes_adam(analysis, cls)
    return not own and any(analysis.derives(cls, base) for base in _BASES)


def _scales_losses(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a file hands a scale of its losses on: an updater gives it to its optimizers."""
    for call in module.source.of(ast.Call):
        given = [keyword.value for keyword in call.keywords if keyword.arg == "loss_scale"]
        name = analysis.kind(call.func)
        place = _PLACES_OF_SCALES.get(name.name) if isinstance(name, Ref) else None
        if any(not _is_none(value) for value in (*given, *(call.args[place : place + 1] if place else ()))):
            return True
    return False


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _looks_into_optimizers(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a file names what the short optimizers do not have, be it a setting for ``setattr``.

    What a class says that writes a formula of its own is about its own settings.
    """
    known = own_rules.SETTINGS if analysis.once(_files)[module] in analysis.once(_with_own_adams) else frozenset()
    names = {*_MEMBERS, freezing.RULE, freezing.SWITCH, freezing.RELEASE, "hyperparam", *_SETTINGS, *_BOUNDS}
    return any(
        node.attr in _MEMBERS
        and not _never_scales(analysis, module, node)
        or node.attr in (freezing.RULE, freezing.SWITCH)
        and not (freezing.is_understood(analysis, module, node) or freezing.is_hook(module, node))
        or node.attr == freezing.RELEASE
        and not (freezing.is_own(analysis, module, node) or freezing.is_release(analysis, module, node))
        or node.attr == "hyperparam"
        and not _is_setting(module, node)
        and not _writes_a_formula(analysis, module, node)
        or node.attr in (_SETTINGS | _BOUNDS) - known
        and _may_be_optimizer(analysis, analysis.kind(node.value), node.attr)
        and not _writes_a_formula(analysis, module, node)
        for name in names & module.source.attributes.keys()
        for node in module.source.attributes[name]
    ) or any(
        node.value in _SETTINGS - known and not _writes_a_formula(analysis, module, node)
        for node in module.source.of(ast.Constant)
        if isinstance(node.value, str)
    )


def _never_scales(analysis: Analysis, module: ModuleInfo, node: ast.Attribute) -> bool:
    """``if loss_scale is not None: optimizer.set_loss_scale(loss_scale)`` where nobody gives a scale.

    Updaters that copy Chainer's have this. Were it reached, the short optimizers would raise.
    """
    outer = module.source.enclosing(node, ast.If, ast.FunctionDef)
    test = outer.test if isinstance(outer, ast.If) and node.attr == "set_loss_scale" else None
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.IsNot):
        return False
    return _is_none(test.comparators[0]) and analysis.kind(test.left) == NONE


def _with_own_adams(analysis: Analysis) -> frozenset[int]:
    """The programs all of whose optimizers are classes of their own that have Adam's settings."""
    files = analysis.once(_files)
    groups_of = {files[cls.module] for cls in analysis.classes.values() if own_rules.changes_adam(analysis, cls)}
    programs = {group: [module for module, other in files.items() if other == group] for group in groups_of}
    return frozenset(group for group, modules in programs.items() if own_rules.has_only_own(analysis, modules))


def _writes_a_formula(analysis: Analysis, module: ModuleInfo, node: ast.AST) -> bool:
    """Whether a node stands in the class of an optimizer, or of a rule, that says all of it itself."""
    outer = module.source.enclosing(node, ast.ClassDef)
    cls = analysis.classes.get(outer) if isinstance(outer, ast.ClassDef) else None
    return (
        cls is not None
        and any(analysis.derives(cls, base) for base in _BASES)
        and not _changes_a_formula(analysis, cls)
    )


def _may_be_optimizer(analysis: Analysis, kind: Kind, setting: str) -> bool:
    return (
        kind == UNKNOWN
        and setting in _SETTINGS
        or any(
            isinstance(k, Inst)
            and analysis.derives(k.cls, "chainer.GradientMethod")
            and (k.cls, setting) != ("chainer.optimizers.AdamW", "weight_decay_rate")
            for k in options(kind)
        )
    )


def _is_setting(module: ModuleInfo, hyperparam: ast.Attribute) -> bool:
    """Whether settings are read or set one by one: ``optimizer.hyperparam.alpha``, or through a variable."""
    outer = module.source.parents.get(hyperparam)
    if isinstance(outer, ast.Assign) and outer.value is hyperparam:
        return "get_dict" not in module.source.text and "__dict__" not in module.source.text
    return isinstance(outer, ast.Attribute) and outer.attr not in ("get_dict", "parent")


# -- iterators -----------------------------------------------------------------------------------------------------


def _looking_into_iterators(analysis: Analysis) -> frozenset[int]:
    """The programs that ask an iterator for more than its batches and counters, or build on its class."""
    return _with(analysis, _looks_into_iterators)


def _looks_into_iterators(analysis: Analysis, module: ModuleInfo) -> bool:
    if "terator" not in module.source.text:
        return False
    if any(node.arg == "order_sampler" for node in module.source.of(ast.keyword)):
        return True
    if any(_orders_by_position(analysis, call) for call in module.source.of(ast.Call)):
        return True
    inside = (node for name in _INSIDE_ITERATORS | {"batch_size"} for node in module.source.attributes.get(name, ()))
    return any(_is_inside_iterator(analysis, node) for node in inside) or any(
        _is_maker(analysis, module, node, names) for node, names in analysis.references_in(module.source)
    )


def _orders_by_position(analysis: Analysis, call: ast.Call) -> bool:
    """Whether a call gives an iterator its ``order_sampler`` among its positional arguments."""
    if len(call.args) <= _BEFORE_ORDER:
        return False
    for ref in (k for k in options(analysis.kind(call.func)) if isinstance(k, Ref)):
        row = analysis.rules.find(name) if (name := analysis.rules.canonical(ref.name)) in _ITERATORS else None
        if row is not None and row.signature is not None:
            places = [p.name for p in row.signature.parameters]
            return places.index("order_sampler") < len(call.args)
    return False


def _is_inside_iterator(analysis: Analysis, node: ast.Attribute) -> bool:
    """Whether a member is one that batches of a loader do not have, or have only for reading."""
    sets = isinstance(node.ctx, ast.Store) and node.attr == "batch_size"
    of = options(analysis.kind(node.value)) if sets or node.attr in _INSIDE_ITERATORS else ()
    return any(isinstance(k, Inst) and _is_iterator(analysis, k) for k in of)


def _is_maker(analysis: Analysis, module: ModuleInfo, node: ast.Name | ast.Attribute, names: Iterable[str]) -> bool:
    """Whether the class of an iterator is a value, or another iterator is built on one."""
    if any(name.rpartition(".")[2] in _ITERATOR_MAKERS for name in names):
        return True
    parent = module.source.parents.get(node)
    is_called = isinstance(parent, ast.Call) and parent.func is node
    loads = isinstance(node.ctx, ast.Load)
    return loads and not is_called and any(analysis.rules.canonical(name) in _ITERATORS for name in names)


def _is_iterator(analysis: Analysis, inst: Inst) -> bool:
    return any(analysis.derives(inst.cls, base) for base in _ITERATORS)


# -- data sets -----------------------------------------------------------------------------------------------------


def _building_on_image_sets(analysis: Analysis) -> frozenset[int]:
    """The programs that derive from data sets of image files, test for their class, or ask one for several examples."""
    return _with(analysis, _builds_on_image_sets)


def _builds_on_image_sets(analysis: Analysis, module: ModuleInfo) -> bool:
    for node, names in analysis.references_in(module.source):
        if any(analysis.rules.canonical(name) in _IMAGE_SETS for name in names):
            parent = module.source.parents.get(node)
            if isinstance(node.ctx, ast.Load) and not (isinstance(parent, ast.Call) and parent.func is node):
                return True
    return any(
        isinstance(node, ast.Subscript)
        and not isinstance(node.slice, ast.Constant)
        and not all(scalar_type(k) == "int" for k in options(analysis.kind(node.slice)))
        and any(isinstance(k, Inst) and k.cls in _IMAGE_SETS for k in options(analysis.kind(node.value)))
        for node in module.source.of(ast.Subscript)
    )


# -- files of weights ----------------------------------------------------------------------------------------------


def _reading_archives(analysis: Analysis) -> frozenset[int]:
    return _with(analysis, _reads_archives)


def _reads_archives(analysis: Analysis, module: ModuleInfo) -> bool:
    exchanged, read = set(), set()
    blocks = [node for node in module.source.of(ast.With) if isinstance(node, ast.With)]
    weights = {block.items[0].context_expr for block in blocks if block_of(analysis, module, block) is not None}
    for call in module.source.of(ast.Call):
        name = analysis.kind(call.func)
        if isinstance(name, Ref) and name.name in _READERS and call.args and call not in weights:
            read |= _spellings(module, call.args[0])
        elif isinstance(name, Ref) and name.name in _ARCHIVES:  # what another file saves is loaded here
            exchanged |= _spellings(module, call.args[0]) if call.args else set()
    return bool(exchanged & read)


def _spellings(module: ModuleInfo, path: ast.expr) -> set[str]:
    """A path as it is written, and what the file gives to a variable or parameter of its name."""
    found = {ast.unparse(path)}
    if isinstance(path, ast.Name):
        for assigned in module.source.of(ast.Assign):
            if any(isinstance(target, ast.Name) and target.id == path.id for target in assigned.targets):
                found.add(ast.unparse(assigned.value))
        for function in module.source.of(ast.FunctionDef):
            places = [*function.args.posonlyargs, *function.args.args]
            behind = places[len(places) - len(function.args.defaults) :]
            pairs = zip(behind, function.args.defaults, strict=True)
            found |= {ast.unparse(default) for place, default in pairs if place.arg == path.id}
    return found


# -- communicators -------------------------------------------------------------------------------------------------


def _exchanging_arrays(analysis: Analysis) -> frozenset[int]:
    """The programs that do more with ChainerMN than data-parallel training."""
    if not any("chainermn" in module.source.text for module in analysis.project.modules.values()):
        return frozenset()
    return _with(analysis, exchanges_arrays)


def _asking_for_initializers(analysis: Analysis) -> frozenset[int]:
    """The programs that ask whether something is an initializer: torch.nn.init has functions."""
    return _with(analysis, _asks_for_initializers)


def _asks_for_initializers(analysis: Analysis, module: ModuleInfo) -> bool:
    named = "nitializer" in module.source.text
    return named and any(name.startswith(_INITIALIZERS) for name in asked_names(analysis, module))


_QUESTIONS: Mapping[str, Callable[[Analysis], frozenset[int]]] = MappingProxyType(
    {
        "looks_into_optimizers": _looking_into_optimizers,
        "looks_into_iterators": _looking_into_iterators,
        "builds_on_image_sets": _building_on_image_sets,
        "exchanges_arrays": _exchanging_arrays,
        "asks_for_initializers": _asking_for_initializers,
    }
)

__all__ = [
    "has_short_communicators",
    "has_short_iterators",
    "has_short_optimizers",
    "rules_for",
]
