"""The text that makes a model and calls it: the same on both sides, but for the functions that a model is made from.

Written for Python 3.6: the parent process and the Chainer worker use it.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import re

# Functions that a constructor may be given (``activation=F.relu``): what stands for ``F`` under PyTorch.
FUNCTIONS = {
    "relu": "torch.relu",
    "tanh": "torch.tanh",
    "sigmoid": "torch.sigmoid",
    "elu": "torch.nn.functional.elu",
    "softplus": "torch.nn.functional.softplus",
    "leaky_relu": "lambda x, slope=0.2: torch.nn.functional.leaky_relu(x, slope)",
    "identity": "lambda x: x",
    "sin": "torch.sin",
    "cos": "torch.cos",
    "exp": "torch.exp",
    "mean_squared_error": "torch.nn.functional.mse_loss",
    "softmax_cross_entropy": "lambda y, t: torch.nn.functional.cross_entropy(y, t.long(), ignore_index=-1)",
}


# Layers that stand for those that nobody knows: they take what both frameworks take alike.
_STAND_INS = """import chainer.links


class L:
    class Linear(chainer.links.Linear):
        def __call__(self, x):
            if x.ndim != 2:
                raise ValueError("a layer in the place of one that is not known takes rows of numbers")
            return super().__call__(x)

    BatchNormalization = chainer.links.BatchNormalization


"""
_TORCH_STAND_INS = """import torch.nn


class L:
    Linear = torch.nn.Linear

    @staticmethod
    def BatchNormalization(size):
        return torch.nn.BatchNorm1d(size, eps=2e-5)


"""


# A name of a module, there and where it was imported as what stands for it: ``from constants import *``.
_GIVEN = (
    "        _old = vars(_module).get('NAME')",
    "        _all = [_module] + ["
    "m for m in list(sys.modules.values()) if type(_old).__name__ == '_NotRun' and vars(m).get('NAME') is _old]",
    "        for _other in vars(_module).setdefault('_given_NAME', _all):",
)
# Folders of these names cannot be imported: the packages of the same names are there already.
_TAKEN = frozenset(["chainer", "chainermn", "chainerx", "numpy", "torch"])


def place(target):
    """Folder, module and file (where its name is not the module's) of ``a.b:Class``, ``folder-1.5/b:Class`` or
    ``./b.py:Class``.

    The folder is where imports start, from the tree on; empty for the tree itself.
    """
    path = target.partition(":")[0]
    folder, slash, module = path.rpartition("/")
    if not slash:
        return "", module, ""
    folder = "" if folder == "." else folder
    if module.endswith(".py"):  # a file beside a package of its name, which goes before it
        return folder, module[:-3] + "_py", "/".join(filter(None, (folder, module)))
    name = re.sub(r"\W", "_", module) if "-" in module or " " in module else module
    return folder, name, "" if name == module else "/".join(filter(None, (folder, module + ".py")))


def target_of(path, name, hidden=False):
    """The target of a class in a file (``a/b.py``): dotted where Python can import it so, else with its folder.
    ``hidden``: there is a package of the same name, which Python imports.
    """
    if hidden:
        return "{}/{}:{}".format(*((path if "/" in path else "./" + path).rsplit("/", 1) + [name]))
    parts = re.sub(r"(/__init__)?\.py$", "", path).split("/")
    odd = [i for i, part in enumerate(parts) if not part.isidentifier() or (i + 1 < len(parts) and part in _TAKEN)]
    if not odd:
        return ".".join(parts) + ":" + name
    if odd[-1] == len(parts) - 1:
        return "/".join(parts[:-1] or ["."]) + "/" + parts[-1] + ":" + name
    return "/".join(parts[: odd[-1] + 1]) + "/" + ".".join(parts[odd[-1] + 1 :]) + ":" + name


def reference(target):
    """The expression for a class."""
    return "importlib.import_module({!r}).{}".format(place(target)[1], target.partition(":")[2])


def maker(target, arguments):
    """The expression that makes a model."""
    return "{}({})".format(reference(target), arguments)


def text(target, arguments, method, inputs, torch=False, called="", before="", started=()):
    """The module text: ``model``, and ``run`` with the inputs by name; ``called`` is another way to call the model,
    ``before`` the call of a method that goes before each call (``reset_state(4)``), or once (``@create(8)``),
    ``started`` are calls that go before the model is made, each with its file (``util.py: XP.set_library(-1)``), and
    values of names of a module (``train.py: n_words = 8``).
    """
    given = ", ".join(inputs)
    head = "import importlib\n"
    if "types." in arguments or any("types." in some for some in started):
        head += "import types\n"
    if "numpy." in arguments or any("numpy." in some for some in started):
        head += "import numpy\n"
    if re.search(r"\bF\.", arguments):
        head += _functions(arguments) if torch else "import chainer.functions as F\n"
    if re.search(r"\bL\.", arguments):
        head += _TORCH_STAND_INS if torch else _STAND_INS
    if not called:
        called = "model{}({})".format("." + method if method else "", given)
    elif torch:
        head += "import torch\n"
    head += _starts(target, started)
    first = "    model.{}\n".format(before) if before and before[0] != "@" else ""
    made = maker(target, arguments) + ("\nmodel.{}".format(before[1:]) if before.startswith("@") else "")
    return "{}\n\nmodel = {}\n\n\ndef run({}):\n{}    return {}\n".format(head, made, given, first, called)


def call_of(method, names, left_in=()):
    """The call of a model with inputs by the names of its parameters, in order: those named ``state[h]`` are what a
    table has, ``pair[0]`` what a list has. Empty where none is; else a text of Python. ``left_in`` are attributes of
    the model in which the call leaves what it computes: these are given in place of what it gives.
    """
    if left_in:
        return "[{}, {}][1:]".format(_call_of(method, names), ", ".join("model." + name for name in left_in))
    return _call_of(method, names) if any("[" in name for name in names) else ""


def _call_of(method, names):
    parts, tables = [], {}
    for number, name in enumerate(names):
        top, is_inside, key = name.partition("[")
        if not is_inside:
            parts.append("x{}".format(number))
        else:
            if top not in tables:
                tables[top] = []
                parts.append(tables[top])
            value = "x{}".format(number)
            tables[top].append(value if key[:-1].isdigit() else "{!r}: {}".format(key[:-1], value))
    given = [part if isinstance(part, str) else _several(part) for part in parts]
    return "model{}({})".format("." + method if method else "", ", ".join(given))


def _several(parts):
    return ("[{}]" if ": " not in parts[0] else "{{{}}}").format(", ".join(parts))


def _starts(target, started):
    """The calls that go before a model is made, in each module that was made of their file: some projects import one
    under two names.
    """
    if not started:
        return ""
    lines = ["import os\nimport sys\n\nimportlib.import_module({!r})".format(place(target)[1])]
    for some in started:
        path, _, call = some.partition(": ")
        name = re.match(r"\w+", call).group()
        lines += [
            "for _module in list(sys.modules.values()):",
            "    _file = '/' + (getattr(_module, '__file__', None) or '').replace(chr(92), '/')",
        ]
        if re.match(r"\w+ = ", call):
            lines += ["    if _file == '/' + os.path.abspath({!r}).replace(chr(92), '/'):".format(path)]
            lines += [line.replace("NAME", name) for line in _GIVEN]
            lines += ["            _other.{}".format(call)]
        else:
            lines += ["    if _file.endswith({!r}) and hasattr(_module, {!r}):".format("/" + path, name)]
            lines += ["        _module.{}".format(call)]
    return "\n".join(lines) + "\n"


def with_tensors(source):
    """The text for PyTorch with tensors in the place of the arrays that a model is made from."""
    new = re.sub(r"\b(numpy\.tri\([^()]*\))", r"torch.from_numpy(\1)", source)
    return new if new == source else "import torch\n" + new


def _functions(arguments):
    lines = ["import torch\n\n\nclass F:\n"]
    for name in sorted(set(re.findall(r"\bF\.(\w+)", arguments))):
        lines.append("    {} = staticmethod({})\n".format(name, FUNCTIONS[name]))
    return "".join(lines)
