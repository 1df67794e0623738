"""What an attempt of a search is given, and what is asked of what it gives.

Written for Python 3.6 and Chainer 3 and newer.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import re
import time

import chainer
import numpy

from . import chainer_gpu, chainer_snippets, wire


class Place(object):
    """Where attempts run: a model whose kernels are written for a GPU takes nothing on the CPU."""

    def __init__(self, device="cpu"):
        self.device = device
        self.last = []
        self.saved = None

    def clock(self):
        """Seconds of this process, with those that layers without weights would have taken."""
        return time.process_time() + (self.saved.seconds if self.saved else 0)

    def labels_are_integers(self):
        """Inputs of floats are no labels: today's Chainer takes them as probabilities, where a program that knows of
        none means classes.
        """
        cls = getattr(chainer.functions.loss.softmax_cross_entropy, "SoftmaxCrossEntropy", None)
        if cls is None:
            return

        def apply(function, inputs, whole=cls.apply):
            labels = inputs[1] if isinstance(inputs, (list, tuple)) and len(inputs) == 2 else None
            array = getattr(labels, "data", labels) if isinstance(labels, chainer.Variable) else labels
            if isinstance(array, numpy.ndarray) and array.dtype.kind == "f":
                if any(array is getattr(value, "data", value) for value in self.last if value is not None):
                    raise TypeError("labels of classes: only integers are")
            return whole(function, inputs)

        cls.apply = apply

    def run(self, source, inputs, seed=0):
        """The names that a text defines, and what its function ``run`` gives."""
        namespace = self.made(source)
        return namespace, namespace["run"](**self.given(inputs, seed))

    def made(self, source):
        """The names that a text defines, with its model on the device."""
        namespace = chainer_snippets.execute({"source": source, "device": self.device})
        chainer_gpu.send_links(chainer_snippets.find_links(namespace).values(), self.device)
        return namespace

    def given(self, inputs, seed=0):
        """Arrays of these descriptions, by name."""
        found = {name: self._sent(drawn(spec, seed)) for name, spec in inputs.items()}
        self.last = list(found.values())
        return found

    def _sent(self, value):
        if self.device == "cpu":
            return value
        if isinstance(value, list):
            return [self._sent(item) for item in value]
        if isinstance(value, chainer.Variable):
            value.to_gpu(chainer_gpu.number(self.device))
            return value
        return chainer_gpu.send(value, self.device) if isinstance(value, numpy.ndarray) else value


def size_of(model):
    """How many values the parameters of a model have."""
    return sum(param.data.size for param in model.params() if param.data is not None)


def reached_parameters(result):
    """The parameters that a result is computed from."""
    tree = wire.Tree("out", chainer_snippets.array_of)
    tree.encode(result)
    nodes, seen, found = (
        [value.node for value in tree.leaves.values() if isinstance(value, chainer.Variable)],
        set(),
        [],
    )
    while nodes:
        node = nodes.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        variable = node.get_variable_or_none()
        if isinstance(variable, chainer.Parameter):
            found.append(variable)
        creator = node.creator_node
        nodes += list(creator.inputs) if creator is not None else []
    return found


def left_in(model, before):
    """The attributes of a model that a call has set to Variables: a loss that it keeps and does not give back."""
    found = [
        name
        for name, value in sorted(vars(model).items())
        if value is not before.get(name) and _has_graph(value) and name.isidentifier()
    ]
    return [name for name in found if not name.startswith("_")]


def _has_graph(value):
    if isinstance(value, (list, tuple)):
        return bool(value) and all(map(_has_graph, value))
    return isinstance(value, chainer.Variable) and not isinstance(value, chainer.Parameter)


def must_be_comparable(result, model, made_from):
    """Whether a result is computed from parameters of the model. Raises TypeError where it is computed from others'
    alone, of a layer that the model was handed and does not hold, or where most has no shape yet.
    """
    own, reached = {id(param): param for param in model.params()}, reached_parameters(result)
    if re.search(r"\bL\.", made_from) and any(id(param) not in own for param in reached):
        raise TypeError("a layer that the model does not hold is not callable: a function may be meant")
    learns = any(id(param) in own for param in reached)
    if not learns and any(param.data is None for param in own.values()):
        raise TypeError("no layer has been called: some have no shape yet")
    return learns


def drawn(spec, seed=0):
    """Any array of this description, integers below a bound; lists of them; other values as they are."""
    if isinstance(spec, list):
        return [drawn(item, seed) for item in spec]
    if not isinstance(spec, dict):
        return spec
    rng = numpy.random.RandomState(seed)
    if spec["dtype"][0] == "f":
        array = numpy.asarray(rng.standard_normal(spec["shape"])).astype(spec["dtype"])
        return array if spec.get("plain") else chainer.Variable(array)
    return numpy.asarray(rng.randint(0, spec["below"] or 2, spec["shape"])).astype(spec["dtype"])


def shown(spec):
    """An input as the report writes it."""
    if isinstance(spec, list):
        return "[" + ", ".join(shown(item) for item in spec) + "]"
    if not isinstance(spec, dict):
        return repr(spec)
    return "{}[{}]".format(spec["dtype"], ",".join(map(str, spec["shape"])))
