"""Runs the models of a project under Chainer: a forward and backward pass, steps of plain SGD, and every link's output.

Written for Python 3.6 and Chainer 3 and newer.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import contextlib
import gc
import os
import sys

import chainer
import numpy

from . import (
    cheap_layers,
    chainer_absent,
    chainer_double,
    chainer_gpu,
    chainer_legacy,
    chainer_noise,
    chainer_snippets,
    definitions,
    first_version,
    chainer_held,
    host_cupy,
    kept_state,
    lockstep,
    missing,
    model_text,
    roots,
    wire,
)


def work(job, folder):
    """Runs every model of the job; one that fails is a result like any other."""
    os.chdir(job["tree"])
    host_cupy.install(computes=True, draws=True)
    folders = roots.Roots(job["tree"])
    device = job.get("device", "cpu")
    chainer_gpu.random_from_numpy(device)
    defaults = chainer_legacy.Defaults()
    defaults.install()
    chainer_legacy.allow_early_scopes()
    chainer_legacy.own_devices()
    chainer_legacy.no_downloads()
    chainer_absent.weights()
    chainer_legacy.old_functions()
    chainer_legacy.inputs_in_one_variable()
    chainer_double.take_float64()
    old = first_version.FirstVersion()
    old.install()
    calls = _Calls(job["tree"])
    noise = chainer_noise.private_streams(job["seed"])
    if job.get("nudge"):
        chainer_noise.nudge_weights(job["seed"])
    results, drawn = wire.Results(folder), _Drawn()
    with numpy.load(os.path.join(folder, "inputs.npz"), allow_pickle=False) as inputs:
        for case in job["cases"]:
            folders.enter(case["module"], case["root"], case["file"])
            old.is_meant = case["is_first_version"]
            arrays = results.array_file(case["id"])
            case = dict(case, device=device, nudge=job.get("nudge", False))
            known = drawn.of(case)
            record = run_case(case, inputs, folder, noise, defaults, calls, arrays, drawn)
            for promoted in (False, True):
                if record["status"] == "ok" or not (_mixes(case, record) if promoted else known):
                    continue
                # Its own first forward says why; a program's own arrays of float32 may meet float64.
                arrays.close()
                arrays = results.array_file(case["id"])
                drawn.forget()
                with chainer_double.promoting(promoted):
                    again = run_case(case, inputs, folder, noise, defaults, calls, arrays, drawn)
                if not promoted or again["status"] == "ok":
                    record = dict(again, promoted=promoted)
            record["id"] = case["id"]
            results.add(record, arrays)
            gc.collect()
    results.close()


def _mixes(case, record):
    """Whether the float64 pass of a case ended where a dtype is not that of others."""
    return case["dtype"] == "float64" and "dtype" in record["message"]


class _Drawn(object):
    """The weights of the last model, in float32: in its other modes and dtypes it has the same."""

    def __init__(self):
        self.forget()

    def forget(self):
        """The next case draws its own."""
        self._key = self._weights = None
        self._saved, self.held_shapes = {}, {}

    def of(self, case):
        """The weights of a case, if the last one was of the same model; else None."""
        return self._weights if self._key == self._key_of(case) else None

    def keep(self, case, weights, held_shapes):
        """Those of a case."""
        self._key, self._weights, self._saved = self._key_of(case), weights, {}
        self.held_shapes = held_shapes

    def saved(self, case):
        """The files of a large model's weights, if they were written for another of its modes."""
        return self._saved.get(case["dtype"]) if case["most"] and self.of(case) is not None else None

    def keep_saved(self, case, files):
        """Where they lie."""
        self._saved[case["dtype"]] = files

    def _key_of(self, case):
        return case["source"], case["module"], case["root"], str(case["is_first_version"])


def _drawn_weights(case, inputs, drawn):
    """The weights of a case, by name, and the shapes of those that the model holds without registering them.
    Initializers may have a dtype of their own: the port's parameters get that of the pass, too, once these are loaded.
    """
    prepared = drawn.of(case)
    if prepared is None:
        with cheap_layers.cheap_weights():
            namespace = chainer_snippets.execute(case)
        _widen(namespace, case["dtype"])
        try:
            with cheap_layers.cheap_convolutions():
                prepared = chainer_snippets.draw_weights(case, inputs, spread=True, namespace=namespace)
        except Exception as error:
            error.phase = "first forward"
            raise
        prepared = {
            name: value.astype(numpy.float32) if value.dtype.kind == "f" else value for name, value in prepared.items()
        }
        drawn.keep(case, prepared, chainer_held.shapes(namespace["model"]))
        del namespace
        gc.collect()  # links and their parameters may lie in cycles
    found = {
        name: value.astype(case["dtype"]) if value.dtype.kind == "f" else value for name, value in prepared.items()
    }
    if case["nudge"]:
        rng = numpy.random.RandomState(0)
        for name in sorted(found):
            if found[name].dtype.kind == "f":
                chainer_noise.last_bits(found[name], rng)
    return found, drawn.held_shapes


def run_case(case, inputs, folder, noise, defaults, calls, arrays, drawn):
    """The record of one model in one dtype and mode; its arrays are written to ``arrays`` as they come."""
    phase = "build"
    try:
        with chainer_snippets.config(case, defaults):
            prepared, held_shapes = _drawn_weights(case, inputs, drawn)
            with cheap_layers.cheap_weights():
                namespace = chainer_snippets.execute(case)
            links = chainer_snippets.find_links(namespace)
            chainer_snippets.set_weights(links, prepared)
            late = chainer_snippets.late_names(links, prepared)
            if late:  # they are made in a first forward pass, on both sides
                chainer_snippets.run(dict(case, grad=False, device="cpu"), inputs, namespace)
                chainer_snippets.set_weights(links, prepared)
            del prepared
            chainer_held.draw(links["model"], case["dtype"], held_shapes)
            weights = drawn.saved(case) or chainer_snippets.save_weights(case, links, folder)
            drawn.keep_saved(case, weights)
            held = chainer_held.save(case, links["model"], folder)
            chainer_gpu.send_links(links.values(), case["device"])
            phase = "run"
            lockstep.seed_again(noise, case["seed"])
            with calls.of(links["model"], case.get("retain_grad", False)):
                record, outputs, _ = chainer_snippets.run(case, inputs, namespace)
            if not case["grad"]:
                links["model"].cleargrads()  # what a parameter begins with is NaN
            arrays.update(outputs)
            arrays.update(calls.gradients())
            record["weights"] = weights
            record["held"] = held
            record["late"] = late
            record["missing"] = missing.names()
            record["left_out"] = definitions.left_out()
            record["calls"] = [call for call, _ in calls.seen]
            for _, outputs in calls.seen:
                arrays.update(outputs)
            calls.seen = []
            arrays.update(chainer_snippets.gradients(links, case["most"]))
            arrays.update(chainer_snippets.state(links, case["most"]))
            phase = "step"
            record["steps"] = 0
            try:
                for step, found in _steps(case, inputs, namespace, links["model"]):
                    arrays.update(found)
                    record["steps"] = step
            except Exception as error:  # a state that grows, say: what ran until then is compared
                record["no_steps"] = "step {}: {}: {}".format(
                    record["steps"] + 1, type(error).__name__, " ".join(str(error).split())[:200]
                )
            else:
                arrays.update(_end_of_steps(record["steps"], links["model"], case["most"]))
            try:
                if any(first_version.FIRST_VALUES in vars(link) for _, link in links["model"].namedlinks()):
                    raise ValueError("Chainer 7 has no wscale and no bias= of version 1")
                arrays.update(chainer_snippets.initial(case, inputs, links))
            except Exception as error:
                record["no_first_values"] = "{}: {}".format(type(error).__name__, error)
            return record
    except Exception as error:
        return wire.failure(getattr(error, "phase", phase), error)


def _widen(namespace, dtype):
    """Parameters that were made from an array of float32 get the float64 of the pass, as the port's do."""
    for link in chainer_snippets.find_links(namespace).values():
        for param in link.params():
            if dtype == "float64" and param.data is not None and param.data.dtype == numpy.float32:
                param.data = param.data.astype(dtype)


def _has_gradient(param):
    return param.data is not None and param.grad is not None


def _has_graph(value):
    return isinstance(value, chainer.Variable) and value.creator is not None


def _without_graph(value):
    if not hasattr(value, "requires_grad"):  # before version 2
        return chainer.Variable(value.data, volatile=value.volatile)
    return chainer.Variable(value.data, requires_grad=value.requires_grad)


def _steps(case, inputs, namespace, model):
    """Plain gradient descent: each step with the outputs after it.

    No value moves by more than the rate: a sum over a large output has gradients of any size, and values that explode
    would show nothing but rounding.
    """
    for step in range(1, case["steps"] + 1):
        params = [param for _, param in sorted(model.namedparams()) if _has_gradient(param)]
        sizes = [max(float(param.grad.max()), -float(param.grad.min())) for param in params if param.size]
        largest = max([1.0] + [size for size in sizes if size == size])
        for param in params:
            param.data -= case["rate"] / largest * param.grad
        kept_state.cut([link for _, link in model.namedlinks()], _has_graph, _without_graph)
        _, arrays, _ = chainer_snippets.run(case, inputs, namespace)
        yield step, [("step/{}/{}".format(step, key), value) for key, value in arrays.items() if key.startswith("out")]


def _end_of_steps(steps, model, most):
    if steps:
        for key, value in chainer_snippets.state({"model": model}, most):
            yield "step/end/" + key, value


def _target(cls, tree):
    """``module:Class`` of a class at the top of a file of the tree; empty for any other."""
    path = os.path.abspath(getattr(sys.modules.get(cls.__module__), "__file__", None) or "")
    tree = os.path.abspath(tree) + os.sep
    if not path.startswith(tree) or getattr(cls, "__qualname__", "") != cls.__name__:
        return ""
    return model_text.target_of(path[len(tree) :].replace(os.sep, "/"), cls.__name__)


class _Calls(object):
    """Collects ``(call, arrays)`` of every link below a model in the order in which the calls end."""

    def __init__(self, tree):
        self.seen = []
        self._tree = tree
        self._paths = {}
        self._running = []
        self._variables = None
        chainer_legacy.around_calls(self._wrap)

    @contextlib.contextmanager
    def of(self, model, with_gradients=False):
        """Collects the calls of a block, anew; their outputs are held where the gradients at them are asked for."""
        self.seen = []
        self._variables = {} if with_gradients else None
        self._paths = {id(link): path for path, link in model.namedlinks()}
        try:
            yield
        finally:
            self._paths = {}

    def _wrap(self, call):
        def traced(link, *args, **kwargs):
            if id(link) not in self._paths or id(link) in self._running:  # a method that calls that of its base
                return call(link, *args, **kwargs)
            self._running.append(id(link))
            try:
                out = call(link, *args, **kwargs)
            finally:
                self._running.pop()
            self._add(link, out, wire.caller(self._tree))
            return out

        return traced

    def gradients(self):
        """What comes back to the outputs of the calls, under ``back/``; they are let go."""
        held, self._variables = self._variables or {}, None
        for key, value in sorted(held.items()):
            if isinstance(value, chainer.Variable) and value.grad is not None:
                yield "back/" + key, chainer_gpu.fetch(value.grad)

    def _add(self, link, out, line):
        key = "call/{}".format(len(self.seen))
        tree = wire.Tree(key, chainer_snippets.array_of)
        tree.encode(out)
        arrays = tree.arrays
        if self._variables is not None:
            self._variables.update(tree.leaves)
        call = {"path": self._paths[id(link)], "type": type(link).__name__, "key": key, "line": line}
        call["target"] = _target(type(link), self._tree)
        self.seen.append((call, arrays))
