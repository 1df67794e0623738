"""Lists the public names of Chainer itself, for the test that each of them has a row.

``python -m tests.support.public_names`` writes ``public_names.txt`` again.
"""

import importlib
import inspect
import pathlib

LIST = pathlib.Path(__file__).with_name("public_names.txt")
MODULES = (
    "chainer",
    "chainer.backend",
    "chainer.backends.cuda",
    "chainer.computational_graph",
    "chainer.dataset",
    "chainer.datasets",
    "chainer.distributions",
    "chainer.function_hooks",
    "chainer.functions",
    "chainer.gradient_check",
    "chainer.initializers",
    "chainer.iterators",
    "chainer.link_hooks",
    "chainer.links",
    "chainer.optimizer_hooks",
    "chainer.optimizers",
    "chainer.serializers",
    "chainer.testing",
    "chainer.training",
    "chainer.training.extensions",
    "chainer.training.triggers",
    "chainer.training.updaters",
    "chainer.utils",
    "chainer.utils.type_check",
    "chainer.variable",
    "chainermn",
    "chainermn.datasets",
    "chainermn.extensions",
    "chainermn.functions",
    "chainermn.iterators",
    "chainermn.links",
)
# Modules that are no name spaces of their own: only what is defined in them counts.
DEFINING = (
    "chainer.links.model.vision.googlenet",
    "chainer.links.model.vision.resnet",
    "chainer.links.model.vision.vgg",
)
# Modules that import packages which need not be there: what they define was read in their source.
NOT_IMPORTED = ("chainer.links.caffe.CaffeFunction",)
# What chainer.backends.cuda imports for its own use.
INTERNAL = frozenset(
    {
        "chainer.backends.cuda.available",
        "chainer.backends.cuda.config",
        "chainer.backends.cuda.cudnn_enabled",
    }
)


def public_names() -> list[str]:
    """Every public name of Chainer 7.8.1 and ChainerMN: functions, classes, values, entries of the configuration."""
    from chainer2torch.verify.worker.chainer_patches import import_chainer

    chainer = import_chainer()
    names = set(NOT_IMPORTED)
    for module in (*MODULES, *DEFINING):
        for name, value in vars(importlib.import_module(module)).items():
            if _is_public(name, value) and (module not in DEFINING or getattr(value, "__module__", None) == module):
                names.add(f"{module}.{name}")
    names.update(f"chainer.config.{name}" for name in vars(chainer.global_config) if not name.startswith("_"))
    return sorted(names - INTERNAL)


def _is_public(name: str, value: object) -> bool:
    owner = (getattr(value, "__module__", None) or "chainer").split(".")[0]
    return not name.startswith("_") and not inspect.ismodule(value) and owner in ("chainer", "chainermn")


def listed_names() -> list[str]:
    """The names of the committed list."""
    return LIST.read_text(encoding="utf-8").split()


if __name__ == "__main__":
    LIST.write_text("".join(f"{name}\n" for name in public_names()), encoding="utf-8")
