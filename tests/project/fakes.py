"""A stand-in for the engine, to test input and output without it: every `chainer.old` becomes `torch.new`."""

import dataclasses

from chainer2torch.plan.site import Site


@dataclasses.dataclass
class Result:
    source: str
    code: str
    sites: list
    helpers: frozenset = frozenset()
    root: str = ""
    left: int = 0
    error: str | None = None
    defect: bool = False
    mentions: tuple = ()
    kept: tuple = ()
    python2: bool = False
    imports: frozenset = frozenset()
    modules: frozenset | None = None
    said: frozenset | None = None
    asked: tuple = ()

    @property
    def changed(self):
        return self.code != self.source


class Engine:
    """Records what it was given."""

    def __init__(self, helpers=(), root="", fail=()):
        self.calls, self.helpers, self.root, self.fail = [], frozenset(helpers), root, set(fail)

    def __call__(self, texts, pinned=None, name=""):
        self.calls.append(dict(texts))
        if self.fail & set(texts):
            raise RuntimeError("a defect")
        return {path: self._one(text) for path, text in texts.items()}

    def _one(self, text):
        try:
            compile(text, "x", "exec", dont_inherit=True)
        except SyntaxError as error:
            return Result(text, text, [], error=f"line {error.lineno}: {error.msg}")
        lines = list(enumerate(text.splitlines(), 1))
        sites = [Site(i, 1, "chainer.old", "exact", "C2T100", "") for i, line in lines if "chainer.old" in line]
        sites += [Site(i, 1, "chainer.hard", "manual", "C2T200", "no") for i, line in lines if "chainer.hard" in line]
        code = text.replace("chainer.old", "torch.new")
        left = code.count("chainer.hard")
        used = self.helpers if code != text else frozenset()
        return Result(text, code, sites, used, self.root, left)
