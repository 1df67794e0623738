"""Imports a project's modules for what they define: statement by statement, without what they would do.

A class is had by importing its module, and many a module is a script as well: it parses arguments, downloads, trains.
Here such a module's loops and calls are left out; what they would have bound is a stand-in that raises when it is used.
A statement that fails (a package that is not installed, a name that NumPy dropped) costs what it would have bound, too.
So nothing that is computed can have come from what did not run. Written for Python 3.6: both workers use it.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import argparse
import ast
import importlib.abc
import importlib.machinery
import os
import sys
import tokenize

from . import host_cupy, missing

_DEFINE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_IMPORT = (ast.Import, ast.ImportFrom)
# What may be called in a module that does more than define things: nothing of it reads, writes or trains.
_HARMLESS = (
    "argparse. parser. sys.path. matplotlib.use warnings. logging. os.path. os.environ.get os.getenv collections. "
    "functools. itertools. math. re.compile np.array np.asarray np.zeros np.ones np.arange np.float32 np.int32 "
    "numpy.array numpy.zeros numpy.ones numpy.arange cuda.check_cuda_available six.moves. torch.device "
    "compat.array_module compat.find_device "
).split()
# Methods of what is there already: of an array, a text, a list.
_METHODS = frozenset("reshape astype transpose format split strip lower upper items keys values".split())
_BUILTINS = frozenset(
    "int float str bool len range list dict tuple set frozenset max min sum abs zip map sorted enumerate namedtuple "
    "getattr hasattr isinstance".split()
)


def install(tree):
    """From now on the modules below ``tree`` are imported for their definitions."""
    argparse.ArgumentParser.parse_args = _defaults_only(argparse.ArgumentParser.parse_args)
    argparse.ArgumentParser.parse_known_args = _defaults_only(argparse.ArgumentParser.parse_known_args)
    sys.meta_path.insert(0, _Finder(os.path.abspath(tree)))


def alias(name, path):
    """Makes a file importable under ``name`` where its own name is none (``train-lm.py``)."""
    for finder in sys.meta_path:
        if isinstance(finder, _Finder):
            finder.aliases = {name: path} if path else {}


def left_out():
    """What did not run, as ``file:line: reason``, in order and each once."""
    found = [line for finder in sys.meta_path if isinstance(finder, _Finder) for line in finder.left_out]
    return sorted(set(found))


def bound_to(path, name):
    """The expressions that a file of the project, which was imported, binds a name to outside of its classes: also as a
    script alone, and in functions that make the name global. A loop's variable has an expression of no value.
    """
    finders = [finder for finder in sys.meta_path if isinstance(finder, _Finder)]
    return [value for finder in finders for other, value in finder.values.get(path, ()) if other == name]


def _values(body, inside=None):
    """``(name, expression)`` of each assignment; in a function those of the names that it makes global."""
    for node in body:
        if isinstance(node, _DEFINE[:2]) and inside is None:
            names = [name for part in ast.walk(node) if isinstance(part, ast.Global) for name in part.names]
            for found in _values(node.body, frozenset(names)) if names else ():
                yield found
        elif not isinstance(node, _DEFINE):
            for name, value in _assigned(node):
                if inside is None or name in inside:
                    yield name, value
            for part in ("body", "orelse", "handlers", "finalbody"):
                for found in _values(getattr(node, part, None) or [], inside):
                    yield found


def _assigned(node):
    targets, value = getattr(node, "targets", ()), getattr(node, "value", None)
    if isinstance(node, ast.For):
        targets, value = [node.target], ast.Name("_", ast.Load())
    for target in targets if isinstance(node, (ast.Assign, ast.For)) else ():
        if isinstance(target, ast.Name):
            yield target.id, value
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = getattr(value, "elts", ())
            several = parts if len(parts) == len(target.elts) else [value] * len(target.elts)
            for one, part in zip(target.elts, several):
                if isinstance(one, ast.Name):
                    yield one.id, part if parts else ast.Name("_", ast.Load())


def first_action(body):
    """The first line of a module that does more than define something (what it does as a script apart); or None."""
    for node in body:
        if isinstance(node, (ast.For, ast.While, ast.With)):
            return node.lineno
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and not _harmless(node.value):
            return node.lineno
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _name(node.value.func) == "input":
            return node.lineno
        if _is_main(node):
            continue
        if isinstance(node, (ast.If, ast.Try)):
            line = first_action(list(node.body) + list(node.orelse))
            if line is not None:
                return line
    return None


def inner_classes(body, inside=False):
    """The classes that functions and methods define, in order: what does not use a value of the function can be had
    as one of the module. Of two of one name the first counts.
    """
    for node in body:
        if inside and isinstance(node, ast.ClassDef) and node.bases:
            yield node
        inner = inside or isinstance(node, _DEFINE[:2])
        for name in ("body", "orelse", "handlers", "finalbody"):
            yield from inner_classes(getattr(node, name, None) or [], inner)


def _name(node):
    """A dotted name, or "" for any other expression."""
    if isinstance(node, ast.Attribute):
        inner = _name(node.value)
        return inner + "." + node.attr if inner else ""
    return node.id if isinstance(node, ast.Name) else ""


def _harmless(call):
    if isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS:
        return True  # what it is called on is looked at by itself
    name = _name(call.func)
    return name in _BUILTINS or name.endswith((".add_argument", ".parse_args")) or name.startswith(tuple(_HARMLESS))


def _is_main(node):
    return isinstance(node, ast.If) and any(
        isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test)
    )


def _acts(node):
    """Whether a statement of a module that is a script may do more than compute something small."""
    if isinstance(node, _DEFINE + _IMPORT) or _is_main(node):
        return False
    if isinstance(node, (ast.For, ast.While, ast.With, ast.Delete)):
        return True
    return any(isinstance(part, ast.Call) and not _harmless(part) for part in ast.walk(node))


def _bound(node):
    """The names that a statement would bind."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id
        elif isinstance(part, _DEFINE):
            yield part.name
        elif isinstance(part, _IMPORT):
            for name in part.names:
                yield name.asname or name.name.partition(".")[0]


def _defaults_only(parse):
    """An argument parser's method; where the command line lacks something, all options have their defaults."""

    def parsed(parser, args=None, namespace=None):
        argv, sys.argv = sys.argv, sys.argv[:1]
        stderr = sys.stderr
        try:
            with open(os.devnull, "w") as sys.stderr:
                return parse(parser, args, namespace)
        except SystemExit:
            found = argparse.Namespace(**{action.dest: action.default for action in parser._actions})
            return (found, []) if "known" in parse.__name__ else found
        finally:
            sys.argv, sys.stderr = argv, stderr

    parsed.__name__ = parse.__name__
    return parsed


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of the project as the import system does, and gives them another loader."""

    def __init__(self, tree):
        self.tree = tree
        self.aliases = {}
        self.left_out = []
        self.values = {}

    def find_spec(self, fullname, path=None, target=None):
        """The spec of a module below the tree, of another one None."""
        if fullname in self.aliases:
            where = os.path.join(self.tree, self.aliases[fullname])
            return importlib.machinery.ModuleSpec(fullname, _Loader(fullname, where, self), origin=where)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        origin = getattr(spec, "origin", None)
        if not origin or not origin.endswith(".py") or not os.path.abspath(origin).startswith(self.tree + os.sep):
            return None
        spec.loader = _Loader(fullname, origin, self)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    """Runs a module's statements one by one."""

    def __init__(self, fullname, path, finder):
        super(_Loader, self).__init__(fullname, path)
        self._finder = finder

    def get_code(self, fullname):
        """The whole module's code is not wanted here: compiling it says what is wrong with it."""
        return None

    def exec_module(self, module):
        """Runs what defines something."""
        path = os.path.abspath(self.path)
        module.__file__ = path
        with tokenize.open(path) as stream:
            tree = ast.parse(stream.read(), path)
        module.__doc__ = ast.get_docstring(tree)
        self._finder.values[self._place(path)] = list(_values(tree.body))
        flags = 0
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                for name in node.names:
                    flags |= getattr(__import__("__future__"), name.name).compiler_flag
        self._run(tree.body, module.__dict__, flags, first_action(tree.body) is not None)
        for node in inner_classes(tree.body):
            if node.name not in module.__dict__:
                self._statement(node, module.__dict__, flags)

    def _run(self, body, namespace, flags, is_script):
        for node in body:
            if is_script and isinstance(node, ast.If) and not _is_main(node) and not _acts_alone(node.test):
                if self._test(node, namespace, flags):
                    self._run(node.body, namespace, flags, True)
                else:
                    self._run(node.orelse, namespace, flags, True)
            elif is_script and _acts(node):
                self._leave_out(node, namespace, "it is not run when only its definitions are wanted")
            else:
                self._statement(node, namespace, flags)

    def _test(self, node, namespace, flags):
        try:
            return eval(compile(ast.Expression(node.test), self.path, "eval", flags, True), namespace)
        except Exception as error:
            self._leave_out(node, namespace, _words(error))
            return False

    def _statement(self, node, namespace, flags):
        code = compile(_module(node), os.path.abspath(self.path), "exec", flags, True)
        while True:
            try:
                with host_cupy.asked_for(node):
                    exec(code, namespace)
                return
            except (Exception, SystemExit) as error:
                may_import = isinstance(node, _IMPORT + (ast.If, ast.Try))
                if may_import and isinstance(error, ImportError) and missing.take(error, self.path):
                    continue
                self._leave_out(node, namespace, _words(error))
                return

    def _place(self, path):
        return os.path.relpath(path, self._finder.tree).replace(os.sep, "/")

    def _leave_out(self, node, namespace, why):
        place = "{}:{}".format(self._place(os.path.abspath(self.path)), node.lineno)
        self._finder.left_out.append("{}: {}".format(place, why))
        is_simple = isinstance(node, (ast.Assign, ast.AnnAssign) + _DEFINE)
        for name in _bound(node) if not isinstance(node, _DEFINE) else [node.name]:
            if is_simple or name not in namespace:
                namespace[name] = missing.not_run("{} of {}".format(name, place), why)


def _acts_alone(test):
    return any(isinstance(part, ast.Call) and not _harmless(part) for part in ast.walk(test))


def _module(node):
    try:
        return ast.Module([node], [])
    except TypeError:  # before Python 3.8
        return ast.Module([node])


def _words(error):
    return "{}: {}".format(type(error).__name__, " ".join(str(error).split())[:200])
