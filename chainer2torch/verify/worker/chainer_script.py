"""Runs a training script under Chainer, unedited, and records what it computes update by update.

Written for Python 3.6 and Chainer 3 and newer.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import os

import chainer
import numpy

from . import (
    batch_order,
    chainer_double,
    chainer_gpu,
    chainer_legacy,
    chainer_noise,
    clipped_norms,
    first_version,
    host_cupy,
    lockstep,
    shared_parameters,
)


def work(job, folder):
    """Runs the script. Each optimizer's initial weights go to ``weights-<number>.npz``, in the order of ``setup``."""
    recorder = lockstep.Recorder(folder, job["iterations"])
    notes = {"targets": {}, "unverified": [], "others": []}
    unshared, repeated = set(), set()
    watch = _Watch(folder, recorder, notes)
    lockstep.seed_everything(job["seed"])
    chainer_gpu.random_from_numpy(job.get("device", "cpu"))
    if job.get("nudge"):
        chainer_noise.nudge_weights(job["seed"])
    chainer_noise.private_streams(job["seed"], unshared, repeated)
    chainer_noise.seed_examples(job["seed"])
    chainer_legacy.shuffle_as_today()
    if job.get("loaders"):
        notes["unverified"].extend(batch_order.chainer_as_a_loader(job["seed"], whole=job.get("whole", False)))
    if job.get("clips"):
        clipped_norms.as_pytorch().__enter__()
    if job.get("steps_once"):
        notes["stepped_once"] = shared_parameters.stepped_once()[1]
    if job.get("counts_batches"):
        batch_order.count_batches()
    as_gpu = job.get("as_gpu", False)  # it cannot do without one, and there is none
    host_cupy.install(computes=as_gpu, draws=as_gpu)
    first_version.FirstVersion(os.path.join(job["tree"], file) for file in job.get("first_version", ())).install()
    watch.install()
    if job["dtype"] == "float64":
        chainer_double.install()
    if hasattr(getattr(chainer, "config", None), "show"):
        chainer.config.autotune = False
    lockstep.run_script(job, recorder, notes, lambda: notes["unverified"].extend(_about(unshared, repeated)))


def _about(unshared, repeated):
    """What the private streams changed or could not share."""
    return [
        "samples of {} are drawn in another way by each framework: what follows from them cannot be equal".format(name)
        for name in sorted(unshared)
    ] + [
        "the first mask of each {}, which Chainer's static graph repeats in every call: both sides drew new ones "
        "here".format(name)
        for name in sorted(repeated)
    ]


class _Watch(object):
    """The patches: each calls what it replaces and tells the recorder."""

    def __init__(self, folder, recorder, notes):
        self.folder = folder
        self.recorder = recorder
        self.notes = notes
        self.optimizers = []
        self.waiting = []
        self.pending = {}
        self.known = {}  # links whose weights are kept, or that the script has loaded itself
        self.calls = 0
        self.updated = False  # whether an optimizer has updated something

    def install(self):
        """Patches Variable.backward, Optimizer.setup and update, Reporter.report and Link.__call__."""
        watch = self
        backward = chainer.Variable.backward

        def recorded_backward(self, *args, **kwargs):
            watch.recorder.loss(lockstep.scalar(chainer.cuda.to_cpu(self.data)))
            return backward(self, *args, **kwargs)

        chainer.Variable.backward = recorded_backward

        for cls in set(chainer_legacy.subclasses(chainer.Optimizer)) | {chainer.Optimizer, chainer.GradientMethod}:
            if "setup" in vars(cls):
                cls.setup = self._setup(vars(cls)["setup"])
            if "update" in vars(cls) and cls is not chainer.Optimizer:
                cls.update = self._update(vars(cls)["update"])
        reallocate = chainer.GradientMethod.reallocate_cleared_grads

        def recorded_reallocate(self):
            watch.dump(self)
            return reallocate(self)

        chainer.GradientMethod.reallocate_cleared_grads = recorded_reallocate

        report = chainer.reporter.Reporter.report

        def recorded_report(self, values, observer=None):
            outer, self.observation = self.observation, {}
            try:
                report(self, values, observer)
                for name in sorted(self.observation):
                    value = self.observation[name]
                    if isinstance(value, chainer.Variable):
                        value = value.data
                    value = lockstep.number(chainer_gpu.fetch(value) if chainer_gpu.is_array(value) else value)
                    if value is not None:
                        watch.recorder.report(name, value)
                outer.update(self.observation)
            finally:
                self.observation = outer

        chainer.reporter.Reporter.report = recorded_report

        def wrap(call):
            def recorded_call(self, *args, **kwargs):
                if watch.waiting:
                    watch.first_forward()
                keep = watch.hidden_link(self) if watch.calls else watch.other_link(self)
                watch.calls += 1
                try:
                    result = call(self, *args, **kwargs)
                finally:
                    watch.calls -= 1
                if keep is not None:
                    keep()
                return result

            return recorded_call

        chainer_legacy.around_calls(wrap)
        load = chainer.serializer.Deserializer.load

        def recorded_load(self, obj):
            load(self, obj)
            if isinstance(obj, chainer.Link):
                watch.know(obj)

        chainer.serializer.Deserializer.load = recorded_load

    def _setup(self, setup):
        watch = self

        def recorded_setup(self, link):
            result = setup(self, link)
            if isinstance(link, chainer.Link):
                if not watch.optimizers:  # what was called before is no trained link's
                    watch.notes["others"] = ["" if n == lockstep.HIDDEN else n for n in watch.notes["others"]]
                if self not in watch.optimizers:
                    watch.optimizers.append(self)
                if self not in watch.waiting:
                    watch.waiting.append(self)
                made = "made-{}.npz".format(watch.optimizers.index(self))
                numpy.savez(os.path.join(watch.folder, made), **_serialized(link))
            return result

        return recorded_setup

    def _update(self, update):
        watch = self

        def recorded_update(self, lossfun=None, *args, **kwargs):
            if self not in watch.optimizers or getattr(self, "_c2t_updating", False):
                return update(self, lossfun, *args, **kwargs)
            number = watch.optimizers.index(self)
            watch.recorder.before_update(number)
            if lossfun is None:
                watch.dump(self)
            self._c2t_updating = True
            try:
                result = update(self, lossfun, *args, **kwargs)
            finally:
                self._c2t_updating = False
            watch.recorder.after_update(number)
            watch.updated = True
            return result

        return recorded_update

    def first_forward(self):
        """Before the first forward: what is initialised is kept, for running statistics change in the forward."""
        waiting, self.waiting = self.waiting, []
        for optimizer in waiting:
            self.know(optimizer.target)
            self.pending[self.optimizers.index(optimizer)] = _initialized(optimizer.target)

    def know(self, root):
        """The links of a tree need not be looked at again; they are held, so that their numbers stay theirs."""
        self.known.update((id(link), link) for link in root.links())

    def other_link(self, link):
        """Keeps the weights of what no optimizer trains (a loss network) when it is called for the first time.

        A copy of a trained model is left out: what it holds is the script's own doing; one that was made apart (a
        teacher) is not. Gives a function to be called after the forward, when lazy links have their shapes.
        """
        if id(link) in self.known:
            return None
        targets = [optimizer.target for optimizer in self.optimizers]
        trained = {type(part) for target in targets for part in target.links()}
        self.know(link)
        own = not type(link).__module__.startswith("chainer.")
        apart = type(link) not in trained or own and not self.updated and not _is_copy(link, targets)
        return self._keep(link, type(link).__name__) if apart and _keys(link) else None

    def hidden_link(self, link):
        """Keeps the weights of what a trained link calls and does not hold (layers in a plain list): no optimizer
        trains it either, and it has first values of its own. A copy of a trained model is left out, as above.
        In a script that trains nothing it is what any link calls.
        """
        if id(link) in self.known or not _keys(link):
            return None
        targets = [optimizer.target for optimizer in self.optimizers]
        own = not type(link).__module__.startswith("chainer.")
        self.know(link)
        if own and type(link) in {type(part) for target in targets for part in target.links()}:
            return None
        return self._keep(link, lockstep.HIDDEN)

    def _keep(self, link, name):
        path = os.path.join(self.folder, "other-{}.npz".format(len(self.notes["others"])))
        self.notes["others"].append(name)
        before = _initialized(link)
        return lambda: numpy.savez(path, **_completed(link, *before))

    def dump(self, optimizer):
        """Before the first update: lazy links have their shapes now, and no parameter has changed."""
        if optimizer in self.waiting:
            self.first_forward()
        if optimizer not in self.optimizers:
            return
        number = self.optimizers.index(optimizer)
        if number not in self.pending:
            return
        weights = _completed(optimizer.target, *self.pending.pop(number))
        missing = sorted(set(_keys(optimizer.target)) - set(weights))
        self.notes["targets"][str(number)] = {
            "optimizer": type(optimizer).__name__,
            "target": type(optimizer.target).__name__,
            "keys": sorted(weights),
            "uninitialized": missing,
            "on_gpu": any(chainer_gpu.is_on_gpu(param.data) for param in optimizer.target.params()),
        }
        numpy.savez(os.path.join(self.folder, "weights-{}.npz".format(number)), **weights)


def _is_copy(link, targets):
    """Whether all values of a link are those of a trained one of its class; of one without values nobody knows."""
    own = {path: param.data for path, param in link.namedparams() if param.data is not None}
    for other in (part for target in targets for part in target.links() if type(part) is type(link)):
        theirs = {path: param.data for path, param in other.namedparams() if param.data is not None}
        if all(path in theirs and _is_equal(value, theirs[path]) for path, value in own.items()):
            return True
    return not own


def _is_equal(x, y):
    return x.shape == y.shape and bool((x == y).all())


def _initialized(root):
    """Before a forward: the weights that are there, and what the running statistics that are not begin with.

    A layer of Chainer's that does not know its size may fill all its parts anew at its first call, as an LSTM does:
    its weights are those behind the call.
    """
    lazy, anew = {}, set()
    for path, link in root.namedlinks():
        if _is_filled_anew(link):
            anew.update((path.rstrip("/") + name).strip("/") for name, _ in link.namedparams())
        if getattr(link, "avg_mean", 0) is None:
            base = path.strip("/") + "/" if path != "/" else ""
            lazy[base + "avg_mean"] = (0.0, getattr(link, "_initial_avg_mean", None))
            lazy[base + "avg_var"] = (1.0, getattr(link, "_initial_avg_var", None))
    return {key: value for key, value in _serialized(root).items() if key not in anew}, lazy


def _is_filled_anew(link):
    layers = any(cls.__module__.startswith("chainer.links.") for cls in type(link).__mro__)
    return layers and hasattr(link, "_initialize_params") and any(param.data is None for param in link.params())


def _completed(root, weights, lazy):
    """After the forward: what :func:`_initialized` gave, with all that has its shape by now."""
    for key, value in _serialized(root).items():
        if key in lazy:
            default, initial = lazy[key]
            value = _initial_array(default if initial is None else initial, value)
        weights.setdefault(key, value)
    return weights


def _serialized(link):
    found = {}
    for key, value in chainer_legacy.saved(link).items():
        value = numpy.array(value)
        if value.dtype.kind in "biuf":
            found[key.lstrip("/")] = value
    return found


def _keys(link):
    return [path.strip("/") for path, _ in link.namedparams()]


def _initial_array(initial, like):
    array = numpy.empty_like(like)
    if callable(initial):
        initial(array)
    else:
        array[...] = initial
    return array
