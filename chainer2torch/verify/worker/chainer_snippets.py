"""Runs snippets (a module text with a function ``run``) under Chainer: outputs, gradients, weights, state.

Written for Python 3.6 and Chainer 3 and newer.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import contextlib
import functools
import os

import chainer
import chainer.functions as F
import numpy

from . import batch_order, chainer_gpu, chainer_legacy, clipped_norms, missing, wire

# Values of an array that are drawn, of one that has more: a prime, which no axis is a multiple of.
_MANY = 1000003


def work(job, folder):
    """Runs every case of the job; a case that fails is a result like any other."""
    results = wire.Results(folder)
    defaults = chainer_legacy.Defaults()
    defaults.install()
    with numpy.load(os.path.join(folder, "inputs.npz"), allow_pickle=False) as inputs:
        for case in job["cases"]:
            case = dict(case, device=job.get("device", "cpu"))
            record, arrays = run_case(case, inputs, folder, defaults)
            record["id"] = case["id"]
            results.add(record, arrays)
    results.close()


def run_case(case, inputs, folder, defaults):
    """The record and the arrays of one case."""
    phase = "build"
    try:
        with config(case, defaults) as orders:
            case = dict(case, orders=orders)
            if case.get("compare") == "moments":
                return _sample(case, inputs)
            links = find_links(execute(case))
            if links:
                phase = "first forward"
                prepared = draw_weights(case, inputs)
            else:
                prepared = None
            initial_values = initial(case, inputs, links)
            phase = "build"
            namespace = execute(case)
            links = find_links(namespace)
            if prepared is not None:
                set_weights(links, prepared)
            weights = save_weights(case, links, folder)
            chainer_gpu.send_links(links.values(), case["device"])
            for link in links.values():
                link.cleargrads()  # a gradient that was never computed is NaN until then
            phase = "run"
            record, arrays, _ = run(case, inputs, namespace)
            record["weights"] = weights
            arrays.update(gradients(links))
            arrays.update(state(links))
            arrays.update(initial_values)
            return record, arrays
    except Exception as error:
        return wire.failure(phase, error), {}


@contextlib.contextmanager
def config(case, defaults):
    """Train mode, the dtype of new arrays and whose batches the iterators give, as the case says.

    The block gets the orders of the iterators, when they are not Chainer's own.
    """
    defaults.dtype = numpy.dtype(case["dtype"])
    with contextlib.ExitStack() as stack:
        orders = stack.enter_context(batch_order.chainer_loads(case["seed"])) if case.get("loaders") else None
        if not hasattr(chainer, "using_config"):  # version 1: modes are arguments
            yield orders
            return
        stack.callback(_settings_again())
        if case.get("clips"):
            stack.enter_context(clipped_norms.as_pytorch())
        if case.get("unchecked"):
            stack.enter_context(chainer.using_config("type_check", False))
        stack.enter_context(chainer.using_config("train", case.get("mode", "train") == "train"))
        if hasattr(chainer.config, "dtype"):
            stack.enter_context(chainer.using_config("dtype", numpy.dtype(case["dtype"])))
        yield orders


def _settings_again():
    """What puts Chainer's settings back: an example may change one of them, and the next one must not find that."""
    places = [vars(chainer.global_config), vars(chainer.config._local)]
    saved = [dict(place) for place in places]

    def again():
        for place, values in zip(places, saved):
            place.clear()
            place.update(values)

    return again


def execute(case):
    """The names that the text of the case defines."""
    return missing.importing(lambda: _executed(case))


def _executed(case):
    if case.get("orders") is not None:
        case["orders"].restart()
    numpy.random.seed(case.get("seed", 0))
    chainer_gpu.seed(case.get("seed", 0), case.get("device", "cpu"))
    namespace = {"__name__": "snippet"}
    exec(_compiled(case["source"]), namespace)
    return namespace


@functools.lru_cache(maxsize=16)  # one text runs in several dtypes and, for initial values, many times
def _compiled(source):
    return compile(source, "<original>", "exec")


def find_links(namespace):
    """The links among those names."""
    return {name: value for name, value in namespace.items() if isinstance(value, chainer.Link)}


def _inputs(case, arrays):
    plain = set(case.get("arrays", ()))
    variables = {}

    device = case.get("device", "cpu")

    def wrap(name, array):
        if case.get("strided"):
            array = wire.strided(array, lambda wide: chainer_gpu.send(wide, device))
        else:
            array = chainer_gpu.send(array, device)
        # Labels and indices are arrays in nearly every program, and some functions take nothing else.
        if name in plain or array.dtype.kind != "f":
            return array
        variable = chainer.Variable(array)
        variables.setdefault(name, []).append(variable)
        return variable

    return wire.decode_inputs(case["inputs"], arrays, wrap), variables


def run(case, inputs, namespace):
    """Calls ``run`` and differentiates: the record, the arrays (outputs and gradients), and the leaves."""
    kwargs, variables = _inputs(case, inputs)
    result = namespace["run"](**kwargs)
    tree = wire.Tree("out", array_of)
    record = {"status": "ok", "outputs": tree.encode(result), "on_gpu": on_gpu(tree)}
    arrays = dict(tree.arrays)
    if case.get("grad", True):
        differentiated = []
        total = None
        for key in sorted(tree.leaves):
            value = tree.leaves[key]
            if not isinstance(value, chainer.Variable) or arrays[key].dtype.kind != "f":
                continue
            weight = wire.cotangent(case["id"], key, arrays[key])
            arrays["gy/" + key] = weight
            differentiated.append(key)
            term = F.sum(value * chainer_gpu.like(weight, value.data))
            total = term if total is None else total + chainer.functions.cast(term, total.dtype)
        record["differentiated"] = differentiated
        # Also where nothing is differentiated (integers): what parameters begin with is NaN.
        for link in find_links(namespace).values():
            link.cleargrads()
        for group in variables.values():
            for variable in group:
                variable.cleargrad()
        if total is not None:
            total.backward(retain_grad=case.get("retain_grad", False))
    for name, group in variables.items():
        for i, variable in enumerate(group):
            if variable.dtype.kind == "f" and variable.grad is not None:
                arrays["grad/{}/{}".format(name, i)] = chainer_gpu.fetch(variable.grad)
    return record, arrays, tree


def array_of(value):
    """The ndarray of a Variable or array, None for anything else."""
    if isinstance(value, chainer.Variable):
        value = value.data
    return chainer_gpu.fetch(value) if chainer_gpu.is_array(value) else None


def on_gpu(tree):
    """The paths of the results that lie on a GPU."""
    return sorted(
        key
        for key, value in tree.leaves.items()
        if chainer_gpu.is_on_gpu(value.data if isinstance(value, chainer.Variable) else value)
    )


def _sample(case, inputs):
    """Many runs of a random function: the values of each output and gradient in one long row.

    Links are built anew for each run: their weights may be all that is random.
    """
    samples = {}
    record = {}
    namespace = execute(case)
    weights = sum(p.size for link in find_links(namespace).values() for p in link.params() if p.data is not None)
    for runs in range(wire.sample_runs(case["repeat"], weights)):
        if wire.is_enough(runs, samples):
            break
        if weights and runs:
            namespace = execute(dict(case, seed=case["seed"] + runs))
        chainer_gpu.send_links(find_links(namespace).values(), case.get("device", "cpu"))
        record, arrays, _ = run(case, inputs, namespace)
        for name, array in arrays.items():
            if not name.startswith("gy/"):
                samples.setdefault(name, []).append(wire.of_one_build(array, weights) if weights else array.ravel())
    return record, {name: numpy.concatenate(rows) for name, rows in samples.items()}


def initial(case, inputs, links):
    """The parameters that several builds start with, lazy ones after a first forward, stacked by name."""
    found = {}
    for build in range(case.get("initial", 0) if links else 0):
        source = dict(case, seed=case["seed"] + build + 1, compare="allclose", grad=False, device="cpu")
        namespace = execute(source)
        built = find_links(namespace)
        values = [param.data for link in built.values() for param in link.params()]
        # NaN: without an initializer, the program itself fills it
        if any(value is None or numpy.isnan(value).any() for value in values):
            run(source, inputs, namespace)
        for name, link in built.items():
            for path, param in link.namedparams():
                if param.data is not None:
                    found.setdefault("init/" + name + path, []).append(numpy.array(param.data))
    return {name: numpy.stack(values) for name, values in found.items()}


def draw_weights(case, inputs, spread=False, namespace=None):
    """Random weights for every parameter and running statistic, of the shapes seen after one forward pass.

    Zero biases and unit scales would hide mistakes, and lazy links have no shape before they are used. ``spread`` moves
    the first unit of each layer below zero and the last one above it: where all maxima of a pooling are positive,
    nothing shows the slope of what comes before it. It also keeps the weights of wide layers small: sums of thousands
    of large terms that cancel would show nothing but rounding.
    """
    source = dict(case, compare="allclose", grad=False, device="cpu")
    namespace = namespace or execute(source)
    warm = find_links(namespace)
    run(source, inputs, namespace)
    weights = {}
    for name in sorted(warm):
        for path, param in sorted(warm[name].namedparams()):
            if param.data is None:
                continue
            rng = numpy.random.RandomState(wire.seed_of(name + path))
            fan_in = param.size // max(1, len(param.data)) if spread and param.ndim > 1 else 1
            bound = min(0.8, 2 / fan_in**0.5)
            if spread and param.size > _MANY:  # the same values again and again, in no row at the same places
                few = rng.uniform(-bound, bound, _MANY).astype(param.dtype)
                weights[name + path] = numpy.resize(few, param.shape)
            else:
                weights[name + path] = rng.uniform(-bound, bound, param.shape).astype(param.dtype)
            if spread and path.rsplit("/", 1)[-1] in ("b", "beta") and param.size > 1:
                weights[name + path].flat[0] = -2
                weights[name + path].flat[-1] = 2
        for path, link in sorted(warm[name].namedlinks()):
            base = name + (path if path != "/" else "")
            for key in sorted(getattr(link, "_persistent", ())):
                value = getattr(link, key)
                if isinstance(value, numpy.ndarray) and value.dtype.kind == "f" and "avg_" in key:
                    rng = numpy.random.RandomState(wire.seed_of(base + key))
                    low, high = (0.5, 1.5) if "var" in key else (-0.5, 0.5)
                    weights[base + "/" + key] = rng.uniform(low, high, value.shape).astype(value.dtype)
    return weights


def set_weights(links, weights):
    """Gives the links the weights that :func:`draw_weights` drew."""
    for name, link in links.items():
        for path, child in sorted(link.namedlinks()):
            base = name + (path if path != "/" else "")
            if getattr(child, "avg_mean", 0) is None and base + "/avg_mean" in weights:
                child._initialize_params(weights[base + "/avg_mean"].shape)
            for key in sorted(getattr(child, "_persistent", ())):
                if base + "/" + key in weights:
                    setattr(child, key, weights[base + "/" + key].copy())
        for path, param in sorted(link.namedparams()):
            value = weights.get(name + path)
            if value is None:
                continue
            if param.data is None:
                param.initialize(value.shape)
            if param.data.dtype != value.dtype:
                param.data = value.copy()
            param.data[...] = value


def late_names(links, weights):
    """The names of weights whose links are made in the first forward pass, as far as ``links`` have not run yet."""
    have = set()
    for name, link in links.items():
        have.update(name + path for path, _ in link.namedparams())
        for path, child in link.namedlinks():
            base = name + (path if path != "/" else "")
            have.update(base + "/" + key for key in getattr(child, "_persistent", ()))
    return sorted(set(weights) - have)


def save_weights(case, links, folder):
    """Writes the weights of each link as Chainer's own ``save_npz`` does; the file names by the link's name."""
    files = {}
    for name, link in sorted(links.items()):
        if not any(True for _ in link.params()) and not _has_persistents(link):
            continue
        files[name] = "{}.{}.weights.npz".format(case["id"], name)
        chainer.serializers.save_npz(os.path.join(folder, files[name]), link, compression=False)
    return files


def _has_persistents(link):
    return any(getattr(child, "_persistent", ()) for _, child in link.namedlinks())


def gradients(links, most=0):
    """The parameters' gradients one by one, under the names of :func:`state`; of large ones ``most`` values, where that
    is given.
    """
    for name, link in links.items():
        for path, param in link.namedparams():
            if param.data is not None and param.grad is not None:  # one without a shape refuses to tell
                yield "pgrad/" + name + path, wire.sample(chainer_gpu.fetch(param.grad), most)


def state(links, most=0):
    """Parameters and persistent values after the run one by one, under the keys of ``save_npz``; ``most`` as above."""
    for name, link in links.items():
        serializer = chainer.serializers.DictionarySerializer()
        serializer.save(link)
        for key, value in serializer.target.items():
            value = numpy.asarray(value)
            if value.dtype.kind in "biuf":
                yield "state/" + name + "/" + key.lstrip("/"), numpy.array(wire.sample(value, most))
