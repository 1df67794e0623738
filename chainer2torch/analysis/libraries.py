"""Which dotted names need Chainer: its own modules, and libraries that are built on it."""

from __future__ import annotations

from collections.abc import Iterable

CHAINER = frozenset({"chainer", "chainermn", "chainerx", "cupy"})

# helpers of a project that is half way: what they give is what they get, on the other side
ADAPTERS = frozenset(
    {
        "as_torch_model",
        "as_chainer_link",
        "as_chainer_iterator",
        "as_chainer_loss",
        "as_torch_converter",
        "as_chainer_report",
    }
)
# the module with the helpers of an earlier run
HELPERS = "chainer_compat"
# the helper that stands for a name of Chainer's where that cannot be imported
STAND_IN = f"{HELPERS}.not_migrated"


def adapted(name: str) -> bool:
    """Whether a dotted name is an adapter between the two frameworks."""
    *module, last = name.split(".")
    return last in ADAPTERS and "chainer_compat" in module


class Libraries:
    """A set of modules: ``name in libraries`` says whether a dotted name is one of them or lies below one."""

    def __init__(self, others: Iterable[str] = ()):
        modules = CHAINER | set(others)
        self._tops = frozenset(module for module in modules if "." not in module)
        # the first words of all of these names
        self.tops = frozenset(module.partition(".")[0] for module in modules)
        self._inner = tuple(module for module in modules if "." in module)
        self._known: dict[str, bool] = {}

    def __contains__(self, name: str) -> bool:
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = name.split(".", 1)[0] in self._tops or any(
                name == module or name.startswith(module + ".") for module in self._inner
            )
        return known

    @classmethod
    def of(cls, known: Iterable[str], paths: Iterable[str]) -> Libraries:
        """Chainer and the libraries of ``known`` that are not the project itself, whose files are ``paths``."""
        own = {part.removesuffix(".py") for path in paths for part in path.split("/")}
        return cls(module for module in known if module.split(".", 1)[0] not in own)
