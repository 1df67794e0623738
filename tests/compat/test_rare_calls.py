"""Calls that larger programs seldom make, each beside Chainer's: pickled readers, early files, version 1, own types."""

import copy
import io
import itertools
import pickle
import sys
import types

import chainer
import chainer.links as L
import numpy as np
import pytest
import torch
from chainer.serializers import DictionarySerializer, NpzDeserializer
from chainer.utils import type_check
from torch import nn

from chainer2torch.compat.backend import array_module, dispatch
from chainer2torch.compat.dataset import file_datasets, iterators
from chainer2torch.compat.functions import math_functions, own_functions
from chainer2torch.compat.half_way import half_way_links, half_way_training, half_way_updates
from chainer2torch.compat.links import (
    chains,
    convolution_links,
    inner_state,
    linear,
    link_names,
    link_serialize,
    link_slots,
    link_tree,
    own_methods,
)
from chainer2torch.compat.links.normalization_links import DecorrelatedBatchNormalization
from chainer2torch.compat.distributed import (
    background_sender,
    distributed_data,
    distributed_optimizers,
    distributed_snapshots,
    except_hook,
)
from chainer2torch.compat.serializers import serializers, state_io
from chainer2torch.compat.optimizers import optimizers, update_rule
from chainer2torch.compat.training import parallel_updaters, summary, triggers
from chainer2torch.compat.utils import sparse
from chainer2torch.compat.variable import parameters, rebinding, variables
from chainer2torch.native import link_layers
from tests.compat.test_borders_of_functions import a


@pytest.mark.parametrize(("name", "stored"), [("SerialIterator", "nothing"), ("MultithreadIterator", "none")])
def test_iterators_of_files_without_the_detail_before(name, stored):
    """Files of early versions have no ``previous_epoch_detail``, or None there: it is guessed."""
    for batches in range(7):
        found = []
        for module, reader in ((chainer.iterators, NpzDeserializer), (iterators, state_io.StateReader)):
            saved = getattr(chainer.iterators, name)(list(range(5)), 2, shuffle=False)
            for _ in range(batches):
                next(saved)
            target = DictionarySerializer()
            saved.serialize(target)
            saved.finalize()
            entries = dict(target.target)
            if stored == "nothing":
                del entries["previous_epoch_detail"]
            else:
                entries["previous_epoch_detail"] = np.array(None, dtype=object)
            loaded = getattr(module, name)(list(range(5)), 2, shuffle=False)
            loaded.serialize(reader(entries))
            again = (state_io.StateWriter if module is iterators else DictionarySerializer)()
            loaded.serialize(again)
            kept = float((again.entries if module is iterators else again.target)["previous_epoch_detail"])
            found.append([kept, loaded.previous_epoch_detail, loaded.epoch, loaded.epoch_detail, next(loaded)])
            loaded.finalize()
        assert found[0] == found[1], batches


def test_pickled_orders_and_texts(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n\nthree\n")
    texts = []
    for module in (chainer.datasets, file_datasets):
        dataset = module.TextDataset(str(tmp_path / "a.txt"))
        copy = pickle.loads(pickle.dumps(dataset))
        texts.append([copy[i] for i in (2, 0, 1)] + [dataset[0], len(copy)])
    assert texts[0] == texts[1]
    for module in (chainer.iterators, iterators):
        sampler = module.ShuffleOrderSampler(np.random.RandomState(3))
        copy = pickle.loads(pickle.dumps(sampler))
        first = sampler(np.arange(9), 0)
        assert np.array_equal(first, np.random.RandomState(3).permutation(9))
        assert np.array_equal(copy(np.arange(9), 0), first)
        np.random.seed(1)
        expected = np.random.permutation(9)
        np.random.seed(1)
        assert np.array_equal(pickle.loads(pickle.dumps(module.ShuffleOrderSampler()))(np.arange(9), 0), expected)


def test_products_of_columns():
    """As version 1 of Chainer has them: a vector is a column."""

    def column(x):
        return x.reshape(len(x), -1)

    for x, y in itertools.product((a(3), a(3, 3), a(3, 3, seed=4)), repeat=2):
        for transa, transb in itertools.product((False, True), repeat=2):
            one, other = (column(each).T if turned else column(each) for each, turned in ((x, transa), (y, transb)))
            if one.shape[1] != other.shape[0]:
                continue
            found = math_functions.matmul_of_columns(torch.tensor(x), torch.tensor(y), transa, transb)
            # an element may be a thousandth of what it is the sum of
            np.testing.assert_allclose(found, one @ other, rtol=1e-5, atol=1e-7)
            if not (transa or transb):
                np.testing.assert_allclose(
                    math_functions.matmul_of_columns(torch.tensor(x), torch.tensor(y)),
                    one @ other,
                    rtol=1e-5,
                    atol=1e-7,
                )


def test_floors_of_quotients():
    numbers = (7, -7, 2.5, -2.5)
    arrays = [np.array(each) for each in ([7, -7], [7.0, -7.5], [-2, 3])]
    for x, y in itertools.product([*numbers, *arrays], repeat=2):
        found = rebinding.floor_division(
            *(torch.tensor(each) if isinstance(each, np.ndarray) else each for each in (x, y))
        )
        np.testing.assert_allclose(found, x // y, rtol=1e-6)


def test_types_of_inputs():
    x, t = np.zeros(2), torch.zeros(2)
    for given in ((x,), (x, x), (3,), (x, 3), (3, x), ()):
        assert own_functions.same_types(*given) == type_check.same_types(*given)
        theirs = [chainer.Variable(each) if isinstance(each, np.ndarray) else each for each in given]
        ours = [t if isinstance(each, np.ndarray) else each for each in given]
        if theirs and isinstance(theirs[0], chainer.Variable):
            assert own_functions.same_types(*ours) == (len(set(map(type, ours))) == 1)
    assert not own_functions.same_types(x, t) and not own_functions.same_types(t, x)


def test_the_last_input():
    told = []

    class Theirs(chainer.Function):
        def check_type_forward(self, in_types):
            told.append((in_types.size(), tuple(in_types[2].shape), tuple(in_types[0].shape)))

        def forward(self, inputs):
            return inputs[:1]

    class Ours(own_functions.Function):
        forward = Theirs.forward

        def check_type_forward(self, in_types):  # where Chainer shows what is wrong, it has `last`, too
            told.append((in_types.size(), tuple(in_types.last().shape), tuple(in_types[0].shape)))

    Theirs()(a(2), a(3), a(4))
    Ours()(*map(torch.tensor, (a(2), a(3), a(4))))
    assert told == [(3, (4,), (2,))] * 2


class Children(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(2, 2)
        self.train_ = "its own"

    def name(self):
        return "a method"


def test_items_and_methods_by_name():
    chain, plain = Children(), {"one": 3}
    assert chains.chain_item(chain, "one") is chain.one and chains.chain_item(plain, "one") == 3
    sequence = nn.Sequential(chain)
    assert chains.chain_item(sequence, 0) is chain

    class Indexed(Children):
        def __getitem__(self, name):
            return name * 2

    assert chains.chain_item(Indexed(), "one") == "oneone"
    assert own_methods.own_name(chain, "train") == "its own" and own_methods.own_name(chain, "name")() == "a method"
    assert own_methods.own_name({"a": 1}, "items")() == {"a": 1}.items()

    class NoModule:
        train_ = train = name = "plain"

    NoModule.train_ = "hidden"
    assert own_methods.own_name(NoModule(), "train") == "plain"
    assert link_names.name_of(NoModule()) == "plain" and link_names.name_of(chain)() == "a method"
    model = nn.ModuleDict({"part": nn.Linear(1, 1)})
    ((_, part),) = list(link_tree.namedlinks(model, skipself=True))
    assert len(list(link_tree.namedparams(model))) == 2
    assert [link_names.name_of(each) for each in (part, part.weight, part.bias)] == ["part", "W", "b"]


@pytest.mark.parametrize(
    "shapes",
    [
        {"W": (2, 3)},
        {"W": [2, 3]},
        {"b": 4},
        {"b": np.int64(4)},
        {"W": ((2, 3), np.float64)},
        {"W": [(2, 3), "f"], "b": (3,)},
        {"b": (4, np.float16)},
        {"W": ()},
    ],
    ids=str,
)
def test_parameters_by_their_shapes(shapes):
    link, module, given = chainer.Link(**shapes), nn.Module(), nn.Module()
    link_tree.add_params(module, **shapes)
    link_tree.add_params(given, shapes)
    for each in (module, given, link_tree.Link(**shapes)):
        found = dict(each.named_parameters())
        assert set(found) == set(shapes)
        for name, param in link.namedparams():
            ours = found[name[1:]].detach().numpy()
            assert ours.shape == param.shape and ours.dtype == param.dtype and np.isnan(ours).all()


@pytest.mark.parametrize("groups", [1, 2])
def test_decorrelated_statistics_that_are_finetuned(groups):
    link, module = L.DecorrelatedBatchNormalization(4, groups), DecorrelatedBatchNormalization(4, groups)
    for step in range(5):
        x = a(12, 4, seed=step)
        finetune = step in (0, 1, 4)
        with chainer.using_config("train", step != 3):
            theirs = link(x, finetune=finetune)
        ours = module.train(step != 3)(torch.tensor(x), finetune=finetune)
        np.testing.assert_allclose(ours.detach(), theirs.array, rtol=1e-3, atol=1e-4)
        assert int(module.N) == link.N
    np.testing.assert_allclose(module.avg_mean, link.avg_mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(module.avg_projection, link.avg_projection, rtol=1e-3, atol=1e-4)


def test_losses_for_an_optimizer_of_chainers():
    """What Chainer's optimizers ask of a loss that is a tensor, with their scale and graphs that are shared."""
    weight = torch.tensor([2.0, 3.0], requires_grad=True)
    shared = weight * weight
    as_loss = half_way_updates.as_chainer_loss
    assert as_loss(None) is None and as_loss(lambda: 3)() == 3
    loss = as_loss(lambda n, *, more: shared.sum() * n + more)(2, more=1)
    loss.backward()
    assert weight.grad.tolist() == [8, 12]
    as_loss(lambda: shared.sum())().backward(loss_scale=0.5)
    assert weight.grad.tolist() == [10, 15]
    seen = []
    as_loss(lambda *args, **kwargs: seen.append((args, kwargs)))(a(2), more=a(3))
    as_loss(lambda *args, **kwargs: seen.append((args, kwargs)), arrays=True)(a(2), 1, more=a(3))
    (plain, named), (tensors, named_tensors) = seen
    assert isinstance(plain[0], np.ndarray) and isinstance(named["more"], np.ndarray)
    assert torch.is_tensor(tensors[0]) and tensors[1] == 1 and torch.is_tensor(named_tensors["more"])


def test_converters_of_either_side():
    told = []

    def own(batch, device):
        told.append(device)
        return np.stack(batch)

    @chainer.dataset.converter()
    def decorated(batch, device, more=0):
        told.append(device)
        return np.stack(batch) + more

    batch = [a(2), a(2, seed=1)]
    convert = half_way_updates.as_torch_converter(own)
    for device, expected in (
        (None, None),
        (-1, -1),
        (chainer.get_device("@numpy"), -1),
        (torch.device("cpu"), -1),
        ("cpu", -1),
    ):
        assert torch.equal(convert(batch, device), torch.tensor(np.stack(batch)))
        assert told.pop() == expected, device
    assert torch.equal(convert(batch), torch.tensor(np.stack(batch))) and told.pop() is None
    assert half_way_updates._torch_device(chainer.get_device("@numpy")) == torch.device("cpu")
    assert half_way_updates._torch_device(None) is None and half_way_updates._torch_device(-1) == torch.device("cpu")
    found = half_way_updates.as_torch_converter(decorated)(batch, chainer.get_device("@numpy"), 1)
    assert torch.equal(found, torch.tensor(np.stack(batch) + 1)) and told.pop() == chainer.get_device("@numpy")
    found = half_way_updates.as_torch_converter(decorated)(batch, None, more=2)
    assert torch.equal(found, torch.tensor(np.stack(batch) + 2)) and told.pop() is None
    ragged = half_way_updates.as_torch_converter(chainer.dataset.concat_examples)([a(2), a(1)], None, 9)
    assert ragged.shape == (2, 2) and ragged[1, 1] == 9
    assert half_way_updates.as_torch_converter(chainer.dataset.concat_examples)(batch).shape == (2, 2)
    for function, expected in ((own, -1), (decorated, chainer.get_device("@numpy"))):
        converter = half_way_training._ArrayConverter(function)
        assert isinstance(converter(batch, torch.device("cpu")), np.ndarray) and told.pop() == expected
        assert isinstance(converter(batch, None), np.ndarray) and told.pop() is None


def test_reports_that_reach_chainer():
    told = []
    report = half_way_updates.as_chainer_report(lambda values, observer=None: told.append((values, observer)))
    module, link = nn.Linear(1, 1), L.Linear(1, 1)
    with pytest.raises(KeyError, match="Linear is not the target"):
        report({"a": 1}, module)
    module.__dict__["_as_chainer_link"] = link
    report({"a": torch.ones(2, requires_grad=True), "b": 3}, module)
    report({"b": 3}, link)
    report({"b": 3})
    (values, observer), *rest = told
    assert isinstance(values["a"], np.ndarray) and values["b"] == 3 and observer is link
    assert rest == [({"b": 3}, link), ({"b": 3}, None)]


@pytest.mark.parametrize("missing", [1, 4, 5, 6, 7])
def test_the_first_problems_of_a_file_are_named(missing):
    module = nn.ModuleDict({f"l{number}": nn.Linear(1, 1, bias=False) for number in range(missing)})
    with pytest.raises(KeyError) as raised:
        serializers.load_entries({}, module)
    text = raised.value.args[0]
    assert text.count("is not in the file") == min(missing, 5)
    assert ("and 1 more" in text) == (missing == 6) and ("and 2 more" in text) == (missing == 7)
    assert text.count(";") == min(missing, 5) - 1 + (missing > 5)


def test_what_is_sent_in_the_background():
    done = []
    sender = background_sender.BackgroundSender()
    sender.finish()  # nothing was sent
    assert not sender._thread.is_alive()
    for error in (None, ValueError("the last one")):
        sender = background_sender.BackgroundSender()

        def task(number, error=None):
            done.append(number)
            if error is not None:
                raise error

        first, last = sender.submit(task, 1), sender.submit(task, 2, error)
        assert first.result() is None
        if error is None:
            sender.finish()
        else:
            with pytest.raises(ValueError, match="the last one"):
                sender.finish()
            assert last.exception() is error
        assert done == [1, 2] and not sender._thread.is_alive()
        sender._finish_at_exit()  # ended before
        done.clear()
    waiting = background_sender.BackgroundSender()
    waiting.submit(done.append, 3)
    waiting._finish_at_exit()
    assert done == [3] and not waiting._thread.is_alive()


def test_names_of_a_link_as_of_a_dictionary():
    link, module = L.Linear(2, 3, nobias=True), linear.Linear(2, 3, nobias=True)
    ours = inner_state.LinkDict(module)
    assert [name in ours for name in ("W", "b", "missing")] == [name in link.__dict__ for name in ("W", "b", "missing")]
    assert ours.get("W") is ours["W"] is module.weight and ours["b"] is None
    assert ours.get("missing") is None and ours.get("missing", 3) == 3
    with pytest.raises(KeyError, match="missing"):
        ours["missing"]
    ours["more"] = 4
    assert module.more == 4 and "more" in ours


def test_texts_of_hyperparameters():
    found = []
    for module in (chainer.optimizer, update_rule):
        parent = module.Hyperparameter()
        parent.lr, parent.decay = 0.5, 2
        own = module.Hyperparameter(parent)
        own.lr = 0.25
        found.append([repr(parent), repr(own), own.get_dict(), parent.get_dict(), own.decay, own.lr])
    assert found[0] == found[1]


def test_what_is_moved_to_another_device():
    class Own:
        def to_gpu(self, device="none"):
            return "own", device

    assert dispatch.to_gpu_of(Own()) == ("own", "none") and dispatch.to_gpu_of(Own(), 1) == ("own", 1)


def test_variables_are_what_takes_gradients():
    x = torch.ones(2)
    assert not parameters.is_variable(x) and parameters.is_variable(torch.ones(2, requires_grad=True))
    assert not parameters.is_variable(np.ones(2)) and not parameters.is_variable(None)


class Numbered(chainer.Chain):
    """Values of all kinds that are kept with a link and in links inside."""

    def __init__(self, scale):
        super().__init__()
        self.add_persistent("count", 2 * scale)
        self.add_persistent("share", 0.5 * scale)
        self.add_persistent("array", np.arange(3.0) * scale)
        with self.init_scope():
            self.part = chainer.ChainList(L.Linear(1, 1), L.BatchNormalization(2))
        self.part[1].add_persistent("kept", 3 * scale)
        self.part[1].avg_mean[...] = scale


def test_kept_values_of_a_link_of_chainers(tmp_path):
    """A link that torch's side loads: numbers stay numbers, arrays stay the same arrays."""
    source, target = Numbered(2), Numbered(0)
    array, mean = target.array, target.part[1].avg_mean
    serializers.save_npz(str(tmp_path / "a.npz"), half_way_links.as_torch_model(source))
    serializers.load_npz(str(tmp_path / "a.npz"), half_way_links.as_torch_model(target))
    assert (target.count, target.share, target.part[1].kept) == (4, 1.0, 6)
    assert type(target.count) is int and type(target.share) is float and type(target.part[1].kept) is int
    assert target.array is array and array.tolist() == [0, 2, 4]
    assert target.part[1].avg_mean is mean and mean.tolist() == [2, 2]


class Counted(nn.Module):
    """What it stores beside its parameters, its own ``serialize`` says."""

    def __init__(self, scale):
        super().__init__()
        self.layer = nn.Linear(1, 1)
        self.count, self.values, self.nothing = scale, np.arange(3.0) * scale, None
        self.kept = torch.arange(4.0) * scale

    def serialize(self, serializer):
        link_serialize.serialize_link(self, serializer)
        self.count = serializer("count", self.count)
        self.nothing = serializer("nothing", self.nothing)
        serializer("values", self.values)
        serializer("kept", self.kept)


def test_slots_of_what_a_module_tells(tmp_path):
    source, target = Counted(2), Counted(0)
    slots = {slot.key: slot for slot in link_slots.chainer_slots(source)}
    assert list(slots) == ["layer/W", "layer/b", "count", "nothing", "values", "kept"]
    shapes = {"count": (), "nothing": None, "values": (3,), "kept": (4,)}
    assert {key: slots[key].shape for key in shapes} == shapes
    dtypes = {"count": None, "nothing": None, "values": np.float64, "kept": np.float32}
    assert {key: slots[key].dtype for key in dtypes} == dtypes
    assert (
        slots["count"].read() == 2 and slots["nothing"].read() is None and slots["kept"].read().tolist() == [0, 2, 4, 6]
    )
    with pytest.raises(TypeError, match="count is restored by"):
        slots["count"].write(np.array(1))
    serializers.save_npz(str(tmp_path / "a.npz"), source)
    target.nothing = 5
    serializers.load_npz(str(tmp_path / "a.npz"), target)
    assert target.count == 2 and target.values.tolist() == [0, 2, 4] and target.kept.tolist() == [0, 2, 4, 6]
    assert target.nothing is None and torch.equal(target.layer.weight, source.layer.weight)
    link_serialize.serialize_link(target, writer := state_io.StateWriter())
    assert sorted(writer.entries) == ["layer/W", "layer/b"]
    reader = state_io.StateReader({"layer/W": np.full((1, 1), 7, "f"), "layer/b": np.full(1, 8, "f")})
    link_serialize.serialize_link(target, reader)
    assert target.layer.weight.item() == 7 and target.layer.bias.item() == 8


def test_statistics_of_checkpoints():
    checkpointer = distributed_snapshots.MultiNodeCheckpointer.__new__(distributed_snapshots.MultiNodeCheckpointer)
    checkpointer._durations = []
    assert checkpointer.get_stats() == "No stats available"
    checkpointer._durations = [1.0, 2.0, 6.0]
    assert checkpointer.get_stats() == "Snapshot duration stats (sec): avg=3.000000, min=1.000000, max=6.000000"


def test_an_exception_ends_the_process_after_its_text(monkeypatch):
    ended, texts = [], []
    monkeypatch.setattr(except_hook.os, "_exit", ended.append)
    monkeypatch.setattr(sys, "excepthook", lambda kind, value, trace: texts.append((kind, str(value), trace)))
    for collected in ("", "what torch collects"):
        hook = except_hook._AbortingHook()
        stream, plain = io.StringIO(), io.StringIO()
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(sys, "__stderr__", plain)
        stream.write(collected)
        hook(ValueError, ValueError("it"), None)
        written = plain.getvalue() if collected else stream.getvalue()
        expected = f"{collected}\nUncaught exception on rank 0: ending the process, so that the job ends.\n"
        assert written == expected
        assert ended.pop() == 1 and texts.pop() == (ValueError, "it", None) and not ended
    monkeypatch.setattr(sys, "__stderr__", None)
    hook(ValueError, ValueError("it"), None)
    assert stream.getvalue().endswith("the job ends.\n") and ended == [1]


ONE_INDEX = {
    "slice": slice(1, None),
    "all": slice(None),
    "int": 1,
    "array": np.array([1, 0]),
    "other": np.array([0, 1]),
    "...": ...,
    "new": None,
}


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_every_order_of_indices(length):
    """NumPy's order of axes: what stands between arrays decides where theirs go."""
    x = np.arange(24.0).reshape(2, 3, 4)
    tensor, wrong = torch.tensor(x), []
    for kinds in itertools.product(ONE_INDEX, repeat=length):
        index = tuple(ONE_INDEX[kind] for kind in kinds)
        try:
            expected = x[index]
        except IndexError:
            expected = None
        try:
            found = variables.get_item(tensor, index).numpy()
        except IndexError:
            found = None
        if (expected is None) != (found is None) or expected is not None and not np.array_equal(expected, found):
            wrong.append(kinds)
    assert not wrong


def test_what_passes_its_members_on_can_be_copied():
    """Copying asks for members before there is anything to pass them on to."""

    class Own:
        shown = 3

        def __call__(self, trainer):
            return trainer == 1

        def serialize(self, serializer):
            self.shown = serializer("shown", self.shown)

        def finalize(self):
            """An iterator is ended when nobody holds it."""

    trigger = triggers.get_trigger(Own())
    master = distributed_data.MasterIterator.__new__(distributed_data.MasterIterator)
    vars(master)["actual_iterator"] = Own()
    optimizer = distributed_optimizers.MultiNodeOptimizer.__new__(distributed_optimizers.MultiNodeOptimizer)
    vars(optimizer)["actual_optimizer"] = Own()
    parent = update_rule.Hyperparameter()
    parent.shown = 3
    for one in (trigger, master, optimizer, update_rule.Hyperparameter(parent)):
        for other in (copy.copy(one), copy.deepcopy(one)):
            assert type(other) is type(one) and other.shown == 3
            assert not hasattr(other, "missing") and not hasattr(other, "__missing__")
    assert trigger(1) and not copy.copy(trigger)(2)
    with pytest.raises(AttributeError, match="function"):
        assert not type(trigger).__new__(type(trigger)).function


def test_states_of_own_update_rules_share_the_memory():
    state = update_rule._RuleState(torch.device("cpu"))
    shared, fixed = np.zeros(3), np.zeros(3)
    fixed.flags.writeable = False
    turned = np.arange(3.0)[::-1]
    state["shared"], state["fixed"], state["turned"] = shared, fixed, turned
    state.update(flags=np.array([True, False]), more=np.zeros((2, 0)))
    assert (
        state.setdefault("text", np.array(["a"])).tolist() == ["a"] and state.setdefault("shared", 4) is state["shared"]
    )
    assert state["turned"].tolist() == [2, 1, 0] and state["flags"].dtype == torch.bool and state["more"].numel() == 0
    state["number"] = number = np.array(0.0)
    for name in ("shared", "fixed", "turned", "number"):
        state[name] += 1
    assert number == 1
    assert shared.tolist() == [1, 1, 1] and fixed.tolist() == [0, 0, 0] and turned.tolist() == [2, 1, 0]


FROM_PARAMS = [
    ("Linear", {"W": a(3, 2)}, [{}, {"b": a(3)}, {"nobias": True}], a(4, 2)),
    ("EmbedID", {"W": a(3, 2)}, [{}, {"ignore_label": 1}], np.array([0, 2, 1], "i")),
    ("ConvolutionND", {"W": a(6, 2, 3)}, [{}, {"b": a(6)}, {"stride": 2, "pad": 1}, {"dilate": 2}], a(2, 2, 7)),
    ("ConvolutionND", {"W": a(6, 2, 3), "groups": 2}, [{}, {"cover_all": True, "stride": 2}], a(2, 4, 8)),
    (
        "Convolution2D",
        {"W": a(6, 5, 3, 2)},
        [{}, {"b": a(6)}, {"stride": (2, 1), "pad": (1, 0)}, {"nobias": True}, {"dilate": (1, 2)}],
        a(2, 5, 7, 6),
    ),
    ("Convolution2D", {"W": a(6, 5, 3, 2), "groups": 3}, [{}, {"b": a(6)}], a(2, 15, 7, 6)),
    ("ConvolutionND", {"W": a(4, 5, 3, 2, 1)}, [{}, {"b": a(4)}, {"stride": 2}], a(2, 5, 4, 5, 3)),
    ("ConvolutionND", {"W": a(6, 5, 3, 2)}, [{}, {"b": a(6)}, {"pad": 1}], a(2, 5, 7, 6)),
]


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("number", range(len(FROM_PARAMS)), ids=lambda number: f"{FROM_PARAMS[number][0]}-{number}")
def test_layers_whose_parameters_have_sizes_of_their_own(number, short):
    """Each axis of a weight has another length: none can be taken for another."""
    name, params, ways, x = FROM_PARAMS[number]
    ours = {"Convolution2D": link_layers.Convolution2D, "Linear": link_layers.LinearLink}.get(name) if short else None
    if short and ours is None:
        return
    ours = ours or getattr(linear if name in ("Linear", "EmbedID") else convolution_links, name)
    for way in ways:
        theirs = getattr(L, name).from_params(**params, **way)(x).array
        given = {key: torch.tensor(value) if isinstance(value, np.ndarray) else value for key, value in way.items()}
        layer = ours.from_params(**{**params, "W": torch.tensor(params["W"])}, **given)
        np.testing.assert_allclose(layer(torch.tensor(x)).detach(), theirs, rtol=1e-4, atol=1e-5, err_msg=str(way))
        assert tuple(layer.weight.shape) == params["W"].shape
        if "Convolution" in name and not short:
            assert layer.in_channels == x.shape[1]


ORDERS = [" ".join(order) for order in itertools.product(("scaled", "hand", "plain"), repeat=3)]
# what is put in by hand Chainer divides, too, where the last backward() scaled: torch's does not tell whether it ran
ORDERS = [order for order in ORDERS if "scaled hand" not in order]


@pytest.mark.parametrize("order", ORDERS)
def test_gradients_are_divided_by_the_scale_of_their_own_backward(order):
    """Those of another backward() are not."""
    link, module = L.Linear(2, 1, nobias=True), linear.Linear(2, 1, nobias=True)
    link.W.array[...] = [[0.5, -0.25]]
    with torch.no_grad():
        module.weight.copy_(torch.tensor(link.W.array))
    theirs, ours = chainer.optimizers.SGD(0.5).setup(link), optimizers.SGD(0.5).setup(module)
    for optimizer in (theirs, ours):
        optimizer.set_loss_scale(8.0)
    x = np.array([[1.0, 2.0]], "f")
    for way in order.split():
        if way == "scaled":
            theirs.update(lambda: chainer.functions.sum(link(x)))
            ours.update(lambda: module(torch.tensor(x)).sum())
            continue
        if way == "plain":
            link.cleargrads()
            module.zero_grad()
            chainer.functions.sum(link(x) * 3).backward()
            (module(torch.tensor(x)) * 3).sum().backward()
        else:
            link.W.grad, module.weight.grad = np.ones((1, 2), "f"), torch.ones(1, 2)
        theirs.update()
        ours.update()
        np.testing.assert_allclose(module.weight.detach(), link.W.array, rtol=1e-5)
    np.testing.assert_allclose(module.weight.detach(), link.W.array, rtol=1e-5)


@pytest.mark.parametrize("shape", [(0,), (1,), (3,), (1, 1), (2, 3), (1, 2, 3), (2, 1, 3)], ids=str)
def test_sparse_matrices_of_zeros(shape):
    """An all-zero matrix has no entries, and room only for what is asked."""
    for ldnz, filled in itertools.product((None, 0, 1, 4), (False, True)):
        x = np.zeros(shape, "f")
        if filled and x.size:
            x.flat[-1] = 2
        try:
            expected = chainer.utils.to_coo(x, *(() if ldnz is None else (ldnz,)))
        except (ValueError, IndexError):
            expected = None
        try:
            found = sparse.to_coo(torch.tensor(x), *(() if ldnz is None else (ldnz,)))
        except (ValueError, IndexError):
            found = None
        assert (expected is None) == (found is None), ldnz
        if expected is not None:
            for name in ("row", "col"):
                assert getattr(found, name).tolist() == getattr(expected, name).tolist(), (ldnz, filled)
            assert found.data.tolist() == expected.data.array.tolist() and found.shape == expected.shape


def test_summaries_of_files_that_lack_them():
    """What is missing in a file that need not be whole is as at the beginning."""
    for entries in ({}, {"_n": np.array(3)}, {"_x": np.array(2.0)}, {"_x2": np.array(2.0)}):
        found = []
        for own, reader in (
            (chainer.reporter.Summary(), NpzDeserializer(entries, strict=False)),
            (summary.Summary(), state_io.StateReader(entries, strict=False)),
        ):
            if own.__class__.__module__.startswith("chainer."):
                own.serialize(reader)
            else:
                summary._serialize_one(reader, own)
            found.append([float(own._x), float(own._x2), int(own._n)])
        assert found[0] == found[1], entries


@pytest.mark.parametrize("unit", ["iteration", "epoch"])
@pytest.mark.parametrize("missing", ["previous_iteration", "previous_epoch_detail", "both", "nothing"])
def test_triggers_of_files_without_their_position(unit, missing):
    """A guess takes its place, from the updater: which iterations fire then?"""
    found = []
    for module, writer, reader in (
        (chainer.training.triggers, DictionarySerializer, NpzDeserializer),
        (triggers, state_io.StateWriter, state_io.StateReader),
    ):
        for iteration, period in itertools.product((1, 2, 3, 4, 5), (1, 2, 3)):
            trigger = module.IntervalTrigger(period, unit)
            kept = writer()
            trigger.serialize(kept)
            entries = dict(kept.entries if module is triggers else kept.target)
            for name in list(entries):
                if missing in ("both", name):
                    del entries[name]
            trigger.serialize(reader(entries))
            detail = iteration / 2
            updater = types.SimpleNamespace(
                iteration=iteration, epoch_detail=detail, previous_epoch_detail=detail - 0.5, epoch=iteration // 2
            )
            trainer = types.SimpleNamespace(updater=updater)
            fired = [trigger(trainer)]
            again = writer()
            trigger.serialize(again)
            entries = again.entries if module is triggers else again.target
            found.append((module is triggers, iteration, period, fired, {k: float(v) for k, v in entries.items()}))
    half = len(found) // 2
    assert [one[1:] for one in found[:half]] == [one[1:] for one in found[half:]]


def test_arrays_without_axes_are_the_same_array():
    number, turned = np.array(1.0), np.arange(3.0)[::-1]
    assert array_module.is_same_array(torch.from_numpy(number), number)
    assert array_module.is_same_array(number, torch.from_numpy(number))
    assert not array_module.is_same_array(torch.from_numpy(number.copy()), number)
    assert not array_module.is_same_array(torch.from_numpy(turned.copy()), turned)
    assert not array_module.is_same_array(number, np.array(None)) and not array_module.is_same_array(number, 1.0)


@pytest.mark.parametrize(
    ("devices", "models"),
    [
        (None, None),
        ({"main": -1}, None),
        ({"other": -1}, None),
        (None, ["main"]),
        (None, ["first"]),
        (None, ["a", "b"]),
    ],
)
def test_names_of_models_and_devices_of_a_parallel_updater(devices, models):
    """Devices have a main one, models need not."""
    found = []
    for optimizer, made, reading, updating in (
        (chainer.optimizers.SGD(), L.Linear, chainer.iterators, chainer.training.updaters),
        (optimizers.SGD(), linear.Linear, iterators, parallel_updaters),
    ):
        target = made(2, 1)
        optimizer.setup(target)
        named = None if models is None else {name: copy.deepcopy(target) for name in models}
        if named is not None:
            named[models[0]] = target
        try:
            iterator = reading.SerialIterator([1, 2], 2)
            updater = updating.ParallelUpdater(iterator, optimizer, devices=devices, models=named)
            found.append(updater.iteration)
        except (KeyError, ValueError) as error:
            found.append(type(error))
    assert found[0] == found[1]
