"""What the search tries as arguments of a constructor: by their names, and by what an error says of them.

An argument is a text of Python. Written for Python 3.6.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import re

BATCH = 4
_LARGE = 128
_UNITS = re.compile(r"unit|hidden|hid|dim|embed|size$|width|filters|channel")
LINK = "L.Linear(8, 8)"
# What is said of something that should be a table of sizes by name.
_TABLE = re.compile(
    r"has no attribute '(keys|items|values|get)'|attribute name must be string|list indices must be int"
)
_MAPPING = re.compile(
    r"is not subscriptable|indices must be integers|must be a mapping|does not support item assignment"
)
MATRIX = "numpy.tri(8, dtype=numpy.float32)"
_OF_ARRAYS = frozenset("shape ndim dtype astype size reshape T transpose sum tocoo tocsr copy flatten max min".split())
_ARGUMENTS = (
    (r"pre_?train|^weights?(_?(file|path))?$|^init_?model$|^(model|weights?)_?(path|file)$", ["None", "False"]),
    (r"predictor|^model$|^net$|encoder$|decoder$|^(gen|dis|generator|discriminator|critic|base|link|func)$", [LINK]),
    (r"^(args|opt|opts|options?|config|cfg|conf|hparams?|params|flags|setting)$", ["types.SimpleNamespace()"]),
    (r"^gpu(_?id)?$", ["-1"]),
    (r"^(n_?)?batch_?(size)?$|^bs$", [str(BATCH)]),
    (r"vocab|n_words|n_tokens", ["20"]),
    (r"loss_?f(un|n|unc|unction)?$|^criterion$", ["F.mean_squared_error", "F.softmax_cross_entropy", "None"]),
    (r"^acc(uracy)?_?f(un|n|unc|unction)$", ["None", "F.mean_squared_error"]),
    (r"(activ|nonlin|^act$|^f$|func)", ["F.relu", "None"]),
    (r"class|label|n_pos$|n_joints|n_out(put)?s?$", ["10"]),
    (r"layers?$|n_loop|n_blocks?$|n_head|repeat|depth|^h$|heads?$", ["2", "1", "[2, 2, 2]"]),
    (r"ksize|kernel|filter_size|window|^k$", ["3", "4", "(3, 3)"]),
    (r"stride|dilat|^pad$|downsample_factor", ["1", "2"]),
    (r"drop|ratio$|rate$", ["0.5"]),
    (r"ignore|padding_idx|^pad_id", ["-1"]),
    (r"scale$|^beta$|^gamma$|temperature|alpha|lambda|eps$|coef|weight$|sigma|tau", ["1.0", "0.5"]),
    (r"shape", ["(3, 32, 32)", "(8,)", "8"]),
    (r"(sizes|channels_list|_list|dims|units|filters|channels)$", ["8", "[8, 8]", "(8, 8)"]),
    (r"^(use|with|is|no|do|train|return|has|bidirectional|bias|nobias)(_|$)", ["False", "True"]),
    (r"^(min|low)(_|$)", ["-1"]),
    (r"^(max|high)(_|$)", ["1", "8"]),
    (r"init|^w$|w_?scale", ["None", "0.02"]),
    (r"name|mode|type$|path|file", ["''", "'sum'"]),
)
_OTHERS = ["8", "[8, 8]", "0.5", "True", "None", "3", "2", "16", "1", "F.relu", "'relu'"]


def is_settings(name):
    """Whether an argument of this name holds settings, whatever links have attributes of the same names."""
    return arguments_for(name)[0] == "types.SimpleNamespace()"


def arguments_for(name, known=()):
    """What an argument of this name may be, the likely first; ``known`` comes before that."""
    found = list(known)
    for pattern, values in _ARGUMENTS:
        if re.search(pattern, name.lower()):
            found += values
            break
    return list(dict.fromkeys(found + _OTHERS))


def settings_for(name, options):
    """What a setting of this name may be; of large layers small ones first, which show as much."""
    found = arguments_for(name, options.get(name, ()))
    if _UNITS.search(name.lower()) and found[0].isdigit() and int(found[0]) >= _LARGE:
        return ["8"] + [value for value in found if value != "8"]
    return found


def _whole_tables(inputs, arguments, options, keys):
    """A table with all that the class asks it for: ``keys`` by the name of the argument."""
    for name, value in arguments.items():
        lacks = [key for key in keys.get(name, ()) if not key.isdigit() and "'{}':".format(key) not in value]
        if value.startswith("{") and len(lacks) > 1:
            inner = ["'{}': {}".format(key, settings_for(key, options)[0]) for key in lacks]
            yield inputs, dict(arguments, **{name: "{" + ", ".join(filter(None, [value[1:-1]] + inner)) + "}"})


def other_settings(arguments, options):
    """Tables of settings with one of them changed: flags the other way, then what else a setting may be."""
    tables = [name for name, value in arguments.items() if value.startswith(("{", "types.SimpleNamespace("))]
    for most in (2, 4) if tables else ():
        for name in tables:
            for found in re.finditer(r"(\w+)(?:': |=)([\w.]+|'\w*')(?=[,})])", arguments[name]):
                first = {"True": ["False"], "False": ["True"], "8": ["False"]}.get(found.group(2), [])
                values = first if most == 2 else settings_for(found.group(1), options)[:most]
                for other in values:
                    changed = arguments.copy()
                    changed[name] = arguments[name][: found.start(2)] + other + arguments[name][found.end(2) :]
                    yield changed


def lacking(inputs, arguments, text, options):
    """What a constructor hands on (``**kwargs``) to one that needs more."""
    lacks = re.search(r"__init__\(\) missing \d+ required [\w-]+ arguments?: (.*)", text)
    names = re.findall(r"'(\w+)'", lacks.group(1)) if lacks else []
    if names and not set(names) & set(arguments):
        for several in range(2):
            found = [(name, (arguments_for(name, options.get(name, ())) + ["8"])[several]) for name in names]
            yield inputs, dict(arguments, **dict(found))


def others(inputs, arguments, text, options, keys):
    """Links, functions and options where a number does not do."""
    yield from _attributes(inputs, arguments, text, options)
    if "non-link object" in text or "is not callable" in text:
        for name, value in arguments.items():
            if value.isdigit() or value.startswith("'") or value == LINK:
                yield inputs, dict(arguments, **{name: LINK})
                yield inputs, dict(arguments, **{name: "F.relu"})
    if _MAPPING.search(text):
        for name, value in arguments.items():
            if value.isdigit() or value == "types.SimpleNamespace()":
                yield inputs, dict(arguments, **{name: "{}"})
    joined = re.search(r"can only concatenate (list|tuple)", text)
    for name, value in arguments.items() if joined else ():
        if value.isdigit() or value == "types.SimpleNamespace()":
            yield inputs, dict(arguments, **{name: "[]" if joined.group(1) == "list" else "()"})
    if _TABLE.search(text):
        for name, value in arguments.items():
            if value.isdigit() or value.startswith(("[", "(", "types.")):
                yield inputs, dict(arguments, **{name: "{'a': 2, 'b': 3}"})
    key = re.match(r"'(\w+)'$", text)
    if key:
        yield from _whole_tables(inputs, arguments, options, keys)
        for name, value in arguments.items():
            if value.startswith("{"):
                for other in settings_for(key.group(1), options)[:4]:
                    inner = ", ".join(filter(None, [value[1:-1], "'{}': {}".format(key.group(1), other)]))
                    yield inputs, dict(arguments, **{name: "{" + inner + "}"})


def _attributes(inputs, arguments, text, options):
    """Another attribute for a namespace of options that lacks it."""
    lacks = re.search(r"has no attribute '(\w+)'", text)
    if lacks and lacks.group(1) in _OF_ARRAYS:
        for name, value in arguments.items():
            if value.isdigit() or value.startswith("types.SimpleNamespace("):
                yield inputs, dict(arguments, **{name: MATRIX})
    if lacks and "SimpleNamespace" in text:
        for name, value in arguments.items():
            if value.startswith("types.SimpleNamespace(") and not re.search(r"\b" + lacks.group(1) + "=", value):
                for other in settings_for(lacks.group(1), options)[:4]:
                    inner = value[len("types.SimpleNamespace(") : -1]
                    inner = ", ".join(filter(None, [inner, lacks.group(1) + "=" + other]))
                    yield inputs, dict(arguments, **{name: "types.SimpleNamespace({})".format(inner)})
    elif lacks and "'int' object" in text:
        for name, value in arguments.items():
            if value.isdigit():
                yield inputs, dict(arguments, **{name: "types.SimpleNamespace()"})
