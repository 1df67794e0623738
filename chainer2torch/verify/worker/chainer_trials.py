"""Finds out by trying which of several constructor arguments and inputs the models of a project take.

Chainer checks the types of what it is given, and says what it wanted: a number of channels that does not fit is put
right and tried again. Written for Python 3.6 and Chainer 3 and newer.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import gc
import itertools
import os
import re
import time

import chainer

from . import (
    attempt_values,
    cheap_layers,
    chainer_absent,
    chainer_inside,
    chainer_legacy,
    chainer_search,
    chainer_snippets,
    first_version,
    host_cupy,
    missing,
    model_text,
    roots,
    search_areas,
    search_arrays,
    search_globals,
    search_room,
    wire,
)

# Runs of one attempt, each with one number of channels put right.
_REPAIRS = 8
# Results of other models that a model is given.
_OUTPUTS = 8
_LARGEST = 1 << 13
# A model that ran for so many seconds is tried with smaller images, too: it runs some thirty times, on each side.
_LONG = 0.3


def work(job, folder):
    """For each case the first attempt that runs, with its inputs; else why the first one failed."""
    os.chdir(job["tree"])
    place = attempt_values.Place(job.get("device", "cpu"))
    if place.device == "cpu":  # the driver of a GPU takes addresses as it likes
        search_room.bounded_memory()
    host_cupy.install(computes=True, draws=True)
    place.labels_are_integers()
    folders = roots.Roots(job["tree"])
    defaults = chainer_legacy.Defaults()
    defaults.install()
    chainer_legacy.allow_early_scopes()
    chainer_legacy.own_devices()
    chainer_legacy.no_downloads()
    chainer_absent.weights()
    chainer_legacy.old_functions()
    chainer_legacy.inputs_in_one_variable()
    old = first_version.FirstVersion()
    old.install()
    results = wire.Results(folder)
    made, open_, running, outputs = {}, [], [], []
    for case, record in job.get("known", ()):  # found by an earlier run
        _made(record, case, made, running)
    room = search_room.Shares(job.get("wall"))
    with cheap_layers.cheap_weights(cheap_layers.IN_A_SEARCH), cheap_layers.cheap_convolutions() as place.saved:
        for number, case in enumerate(job["cases"]):
            results.begin(case["id"])
            old.is_meant = case["is_first_version"]
            # Half of the time is for the search.
            wall = room.share(2 * (len(job["cases"]) - number))
            record = run_case(case, job, defaults, folders, wall, place)
            if record["status"] == "ok" or not case["hints"]:
                _add(results, record, case, made, running)
            else:
                open_.append((case, record))
                results.add(dict(record, id=case["id"], provisional=True))
        open_ = _seen_inside(results, open_, made, running, outputs, folders, defaults, place)
        # Those that need others come after them.
        open_ = after_others(open_)
        still = []
        for number, (case, record) in enumerate(open_):
            results.begin(case["id"])
            old.is_meant = case["is_first_version"]
            folders.enter(case["module"], case["root"], case["file"])
            with chainer_snippets.config({"mode": "train", "dtype": "float32"}, defaults):
                case["hints"]["outputs"] = outputs[:_OUTPUTS]
                wall = room.share(len(open_) - number)
                search = chainer_search.Search(case, job["tree"], made, job["seconds"], wall, place)
                found = search.run()
                found["in_haste"] = found["status"] != "ok" and time.time() > search.wall
                if found["status"] == "ok":
                    source = search.text_of(found)
                    found["inputs"] = _as_vectors(source, found["inputs"], place)
                    found["inputs"] = _lighter(source, found["inputs"], search.lasted, place)
                search_globals.take_back(search)
            if found["status"] == "ok":
                outputs += [spec for spec in chainer_inside.specs([search.result]) if spec not in outputs]
            record = record if found["tried"] == 0 and record.get("tried") else found
            if record["status"] == "ok":
                _add(results, record, case, made, running)
            else:
                still.append((case, record))
                results.add(dict(record, id=case["id"], provisional=True))
        for case, record in _seen_inside(results, still, made, running, outputs, folders, defaults, place):
            _add(results, record, case, made, running)
    results.close()


def after_others(open_):
    """Cases in order, those behind all others that are made from one of them: by a call that the project has, or by the
    name of a parameter.
    """
    names = {case["target"].partition(":")[2].lower() for case, _ in open_}

    def needs_another(case):
        recipes = case["hints"]["recipes"]
        own = case["target"].partition(":")[2].lower()
        texts = " ".join(text for recipe in recipes for text in recipe.values())
        if {name.lower() for name in re.findall(r"import_module\('[^']*'\)\.(\w+)", texts)} & (names - {own}):
            return True
        if {name.lower() for fit in case["hints"].get("fitting", {}).values() for name in fit} & (names - {own}):
            return True
        parameters = {name.lower().replace("_", "") for recipe in recipes for name in recipe}
        return any(len(name) > 2 and name in other for name in parameters for other in names - {own})

    return sorted(open_, key=lambda pair: needs_another(pair[0]))


def _seen_inside(results, open_, made, running, outputs, folders, defaults, place):
    """Adds what other models make and call themselves; gives the cases that stay open."""
    if not open_:
        return []
    results.begin(open_[0][0]["id"])
    targets = {case["id"]: case["target"] for case, _ in open_}
    with chainer_snippets.config({"mode": "train", "dtype": "float32"}, defaults):
        found, recipes, given = chainer_inside.search(targets, running, folders, place)
    outputs += [spec for spec in given if spec not in outputs]
    for case, _ in open_:
        if case["id"] in found:
            _add(results, found[case["id"]], case, made, running)
        case["hints"]["recipes"] = recipes[case["id"]] + case["hints"]["recipes"]
    return [(case, record) for case, record in open_ if case["id"] not in found]


def _add(results, record, case, made, running):
    """Writes a record; how the model was made is there for the others."""
    _made(record, case, made, running)
    record["id"] = case["id"]
    results.add(record)


def _lighter(source, inputs, lasted, place):
    """The inputs of an attempt that runs; where it took long, images are smaller if the model takes these, too, else
    there are two examples if nothing normalizes over them: it makes 1 and -1 of two, whatever they are.
    """
    if lasted < _LONG:
        return inputs
    for other in search_areas.smaller(inputs):
        if _runs_twice(source, other, place):
            return other
    fewer = search_areas.two_examples(inputs)
    if fewer and _runs_twice(source, fewer, place) and not _normalizes(source, fewer, place):
        return fewer
    return inputs


def _runs_twice(source, inputs, place):
    try:
        for seed in range(2):
            place.run(source, inputs, seed)
        return True
    except (Exception, SystemExit):  # an image is too small, say
        gc.collect()
        return False


def _normalizes(source, inputs, place):
    """Whether one of the functions that a model applies normalizes what it is given."""
    applied = []

    class Watch(chainer.FunctionHook):
        """Notes what is applied."""

        def forward_preprocess(self, function, in_data):
            """Before each function."""
            applied.append(type(function).__name__)

    with Watch():
        place.run(source, inputs)
    return any("ormalization" in name for name in applied)


def _as_vectors(source, inputs, place):
    """The inputs of an attempt that runs; what a Linear has flattened for it as the vectors that it takes.

    Images do not tell apart a layer that flattens and a model that wants vectors: what ran with them is tried with
    vectors, the shortest first, and these are taken where they run.
    """
    flattened = _flattened(source, inputs, place)
    for width in (8, None) if flattened else ():
        other = dict(inputs)
        for name in flattened:
            shape = inputs[name]["shape"]
            length = 1
            for n in shape[1:]:
                length *= n
            other[name] = dict(inputs[name], shape=[shape[0], width or length])
        try:
            for seed in range(2):
                place.run(source, other, seed)
            return other
        except (Exception, SystemExit):  # it has to be an image, or another width
            gc.collect()
    return inputs


def _flattened(source, inputs, place):
    """The inputs with more than two axes that reach a Linear as they are."""
    hook = getattr(chainer, "LinkHook", None)
    deep = [name for name, spec in inputs.items() if isinstance(spec, dict) and len(spec["shape"]) > 2]
    if hook is None or not deep:
        return []
    given, found = place.given(inputs), []

    class Watch(hook):
        """Notes what a Linear is called with."""

        def forward_preprocess(self, args):
            """Before the call."""
            if isinstance(args.link, chainer.links.Linear) and args.args and not args.args[1:]:
                found.extend(name for name in deep if args.args[0] is given[name])

    try:
        namespace = place.made(source)
        if not any(isinstance(link, chainer.links.Linear) for _, link in namespace["model"].namedlinks()):
            return []
        with Watch():
            namespace["run"](**given)
    except (Exception, SystemExit):
        return []
    return sorted(set(found))


def _made(record, case, made, running):
    if record["status"] == "ok":
        attempt = case["attempts"][record["attempt"]] if "attempt" in record else None
        arguments = attempt["arguments"] if attempt else record["arguments"]
        method, before = ("", "") if attempt else (record["method"], record.get("before", ""))
        started = list(case["hints"].get("started", ()) if case["hints"] else ()) + record.get("started", [])
        source = model_text.text(
            case["target"],
            arguments,
            method,
            list(record["inputs"]),
            called=record.get("called", ""),
            before=before,
            started=started,
        )
        running.append((case, source, record["inputs"]))
        if "/" not in case["target"]:
            made[case["target"].partition(":")[2]] = model_text.maker(case["target"], arguments)


def run_case(case, job, defaults, folders, wall, place):
    """The record of one model: the place of the attempt that runs and its inputs, or the error of the first. ``wall``
    is when it has to be done.
    """
    first = {"status": "error", "phase": "search", "type": "Error", "message": "nothing was tried", "trace": ""}
    started = time.process_time()
    folders.enter(case["module"], case["root"], case["file"])
    with chainer_snippets.config({"mode": "train", "dtype": "float32"}, defaults):
        for number, attempt in enumerate(case["attempts"]):
            if number and (time.process_time() - started > job["seconds"] or time.time() > wall):
                first["in_haste"] = time.time() > wall
                break
            try:
                began = place.clock()
                with search_room.limited(job["seconds"]):
                    inputs, size = _accepted(attempt, started + job["seconds"], place)
                lasted = place.clock() - began
                inputs = _lighter(attempt["source"], _as_vectors(attempt["source"], inputs, place), lasted, place)
                return {"status": "ok", "attempt": number, "inputs": inputs, "size": size, "seconds": lasted}
            except (Exception, SystemExit) as error:
                if not number:
                    first = wire.failure("first forward", error)
                first["tried"] = number + 1
                if isinstance(error, ImportError):  # its module needs what is not here
                    break
                needs_more = search_arrays.are_wanted(error) or isinstance(error, missing.NotRun)
                if needs_more and case["hints"]:  # the search gives it these
                    break
            gc.collect()
    return first


def _accepted(attempt, end, place):
    """The inputs with which an attempt runs (as they are, or with numbers of channels that Chainer asked for), and the
    size of its parameters.
    """
    waiting, seen = [attempt["inputs"]], []
    first = None
    while waiting and len(seen) < _REPAIRS:
        inputs = waiting.pop(0)
        seen.append(inputs)
        try:
            namespace, result = place.run(attempt["source"], inputs)
            arrays = wire.flat_arrays("out", result, chainer_snippets.array_of)
            if not arrays:
                raise TypeError("output: holds no array that can be compared")
            if search_arrays.are_wider(arrays.values(), inputs):
                raise TypeError(search_arrays.WIDER)
            return inputs, attempt_values.size_of(namespace["model"])
        except (Exception, SystemExit) as error:
            first = first or error
            if time.process_time() < end:
                waiting += [other for other in _repaired(inputs, error) if other not in seen + waiting]
    raise first


def _repaired(inputs, error):
    """The inputs with the second axis of one of them as Chainer wants it."""
    numbers = re.match(r"(\d+) != (\d+)$", str(getattr(error, "actual", "")))
    if not numbers or not re.match(r"\w+(\[0\])?\.shape\[1\] == ", str(getattr(error, "expect", ""))):
        return
    actual, wanted = int(numbers.group(1)), int(numbers.group(2))
    if "W.shape[1]" in str(error.expect):  # a Linear behind maps says how large the image is
        for other, _ in itertools.islice(search_areas.by_area(inputs, {}, actual, wanted), 2):
            yield other
    for name in sorted(inputs):
        spec = inputs[name]
        if (
            isinstance(spec, dict)
            and spec["dtype"][0] == "f"
            and spec["shape"][1:2] == [actual]
            and (0 < wanted <= _LARGEST)
        ):
            shape = spec["shape"][:1] + [wanted] + spec["shape"][2:]
            for other in filter(None, (search_areas.light(shape), shape)):
                yield dict(inputs, **{name: dict(spec, shape=other)})
