"""No template loses an argument in silence: each parameter stands in it, in its guard, or here with the reason."""

import ast

import pytest

from chainer2torch.rules.table import Row, load_rules

# Arguments without a meaning in PyTorch, whatever the row.
MEANINGLESS = {
    "stream": "copies are ordered by the current stream of PyTorch",
    "compute_stream": "as stream",
    "name": "a name for messages and graphs; a link names its parameters itself",
    "layout": "of ChainerX only",
    "cache_score": "how the backward pass computes, not what",
    "shared_mem": "the workers of a DataLoader share memory by themselves",
    "dataset_timeout": "warns about a data set that stalls",
    "maxtasksperchild": "when workers are replaced",
    "n_prefetch": "how far ahead workers read",
    "max_buf_len": "the size of a message of MPI",
    "interprocess": "of events that another process waits for",
    "order": "the layout in memory",
    "casting": "raises for some pairs of dtypes",
    "subok": "whether a subclass of ndarray stays one",
    "enable_double_backprop": "gradients of gradients are always possible",
    "map_mixed16": "arrays stay float32 under mixed16, a declared difference",
    "xp": "the device says which arrays are meant",
}
# Arguments that another part of the decision has looked at before the row is asked.
LOOKED_AT = {
    "chainer.iterators.SerialIterator": {"order_sampler"},  # plan/project_rules.py: looks_into_iterators
    "chainer.iterators.MultithreadIterator": {"order_sampler"},
    "chainer.iterators.MultiprocessIterator": {"order_sampler"},
    # the hard case keeps a layer with either of two; first values of a gamma that it has not mean nothing
    "chainer.links.BatchNormalization": {"dtype", "axis", "initial_gamma"},
    "chainer.functions.batch_normalization": {"decay"},  # of running statistics, of which this case has none
    "chainer.functions.softmax_cross_entropy": {"normalize"},  # of a mean, of which this case has none
    "chainer.functions.sigmoid_cross_entropy": {"normalize"},  # of a mean; reduce="no" has none
    "chainer.functions.transpose": {"axes"},  # two axes, exchanged
    "chainer.functions.pooling.average_pooling_2d.AveragePooling2D": {"cover_all"},  # Chainer does not use it
    "chainer.functions.pooling.average_pooling_nd.AveragePoolingND": {"ndim"},  # the input has it
    "chainer.functions.pooling.max_pooling_nd.MaxPoolingND": {"ndim"},
    "chainer.optimizers.Adam": {"final_lr", "gamma"},  # of AdaBound only
    "chainer.optimizers.adam.AdamRule": {"adabound", "final_lr", "gamma"},  # the native row is `manual` with them
    "chainer.using_config": {"value", "config"},  # settings that PyTorch has not
    "chainer.Variable": {"requires_grad"},  # gradient_asked()
    "chainer.Parameter": {"shape"},  # an array has one
    "chainer.Variable.backward": {"retain_grad", "loss_scale"},  # the hard case takes them first
    "?.backward": {"retain_grad", "loss_scale"},
    "chainer.backends.cuda.Stream": {"device", "non_blocking", "priority"},  # a row for review
    "chainermn.create_multi_node_checkpointer": {"gc_interval"},  # ChainerMN only asserts that it is positive
    "chainer.training.extensions.snapshot": {"trigger"},  # becomes that of extend()
    "chainer.training.extensions.snapshot_object": {"trigger"},
    # plan/project_rules.py: exchanges_arrays; the backend only says how fast
    "chainermn.links.MultiNodeBatchNormalization": {"communication_backend", "dtype", "initial_beta", "initial_gamma"},
    "xp.Module.arange": {"step"},  # given with stop only
    "xp.Module.meshgrid": {"copy"},
    "xp.Module.where": {"y"},  # given with x only
}


def lost(row: Row) -> set[str]:
    """The parameters that a template and its guard do not name, in one case at least."""
    if row.signature is None or row.state == "manual":
        return set()
    names = {p.name for p in row.signature.parameters if p.kind in ("positional", "keyword")} - {"self"}
    gone: set[str] = set()
    for case in row.cases:
        texts = [text for text in (case.when, case.torch) if text]
        used = {
            node.id for text in texts for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)
        }
        gone |= names - used
    return gone - set(MEANINGLESS) - set(row.ignores or ())


@pytest.mark.parametrize("style", ["faithful", "native"])
def test_every_argument_is_in_the_template_or_in_its_guard(style: str) -> None:
    rows = load_rules(strict=False, style=style).rows.values()
    found = {row.name: sorted(gone) for row in rows if (gone := lost(row) - LOOKED_AT.get(row.name, set()))}
    assert not found
