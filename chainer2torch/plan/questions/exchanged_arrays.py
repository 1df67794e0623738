"""Whether a file does more with ChainerMN than data-parallel training, which short communicators do."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, options
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.analysis.source import nodes_of

_COMMUNICATOR = "chainermn.CommunicatorBase"
_SHORT_CHAINERMN = frozenset(
    {
        "chainermn",
        "chainermn.__version__",
        "chainermn.datasets",
        "chainermn.optimizers",
        "chainermn.extensions",
        "chainermn.create_communicator",
        "chainermn.create_multi_node_optimizer",
        "chainermn.create_multi_node_checkpointer",
        "chainermn.create_multi_node_evaluator",
        "chainermn.scatter_dataset",
        "chainermn.datasets.create_empty_dataset",
        "chainermn.links",
        "chainermn.links.MultiNodeBatchNormalization",
    }
)
_NORMALIZATION = "chainermn.links.MultiNodeBatchNormalization"
_OPTIONS_OF_NORMALIZATION = frozenset("size comm decay eps dtype use_gamma use_beta communication_backend".split())
_OF_MPI = frozenset({"rank", "size", "Barrier", "scatter"})
_SHORT_COMMUNICATOR = frozenset(
    {
        "rank", "size", "intra_rank", "intra_size", "inter_rank", "inter_size", "finalize",
        "bcast_obj", "gather_obj", "allgather_obj", "allreduce_obj", "bcast_data", "broadcast_data",
    }
)  # fmt: skip
_OPTIONS = frozenset({"double_buffering", "zero_fill", "allreduce_grad_dtype", "force_equal_length"})


def exchanges_arrays(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a file hands arrays to communicators, gives them other options, or has a communicator of its own."""
    if any(node.arg in _OPTIONS for node in module.source.of(ast.keyword)):
        return True
    for node, names in analysis.references_in(module.source):
        if any(name.startswith("chainermn") and not _is_short(analysis, name) for name in names):
            return True
        if _NORMALIZATION in names and not _is_plain(module, node):
            return True
    for node in module.source.of(ast.Attribute):
        kinds = options(analysis.kind(node.value))
        if any(isinstance(k, Inst) and k.cls == _COMMUNICATOR for k in kinds) and not _is_short_member(module, node):
            return True
    return any(analysis.derives(cls, _COMMUNICATOR) for cls in analysis.classes.values() if cls.module is module)


def _is_short_member(module: ModuleInfo, node: ast.Attribute) -> bool:
    return node.attr in _SHORT_COMMUNICATOR or _is_of_mpi(module, node) or _is_answered(module, node)


def _is_answered(module: ModuleInfo, node: ast.Attribute) -> bool:
    """Whether an object is sent or received, without a tag, where the branch of an ``if`` on the rank is.

    The short form waits until the other process takes the object; two that send to each other first would wait forever.
    """
    call = module.source.parents.get(node)
    if not isinstance(call, ast.Call) or call.func is not node:
        return False
    if node.attr == "recv_obj":
        return len(call.args) + len(call.keywords) == 1 and not {k.arg for k in call.keywords} - {"source"}
    if node.attr != "send_obj" or len(call.args) + len(call.keywords) != 2 or {k.arg for k in call.keywords} - {"dest"}:
        return False
    above = module.source.parents.get(call)
    while above is not None and not isinstance(above, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
        if isinstance(above, ast.If) and any(
            isinstance(n, ast.Attribute) and n.attr == "rank" for n in nodes_of(above.test)
        ):
            return True
        above = module.source.parents.get(above)
    return False


def _is_of_mpi(module: ModuleInfo, node: ast.Attribute) -> bool:
    """Whether a communicator's ``mpi_comm`` is asked for what a communicator has itself."""
    parent = module.source.parents.get(node)
    return node.attr == "mpi_comm" and isinstance(parent, ast.Attribute) and parent.attr in _OF_MPI


def _is_plain(module: ModuleInfo, node: ast.AST) -> bool:
    """Whether a call of a normalization, or a partial of it, gives what the short form takes."""
    call = module.source.parents.get(node)
    if not isinstance(call, ast.Call):
        return True
    own = call.func is node
    named = {keyword.arg for keyword in call.keywords} - {None}  # what a dictionary has more raises TypeError
    return (
        named <= _OPTIONS_OF_NORMALIZATION
        and not any(isinstance(argument, (ast.Starred, ast.Tuple)) for argument in call.args)
        and len(call.args) <= (7 if own else 8)
    )


def _is_short(analysis: Analysis, spelled: str) -> bool:
    """Whether a name has a short form, or none at all: then it is left, whatever the communicator is."""
    name = analysis.rules.canonical(spelled)
    return spelled in _SHORT_CHAINERMN or name in _SHORT_CHAINERMN or name not in analysis.rules.rows


__all__ = ["exchanges_arrays"]
