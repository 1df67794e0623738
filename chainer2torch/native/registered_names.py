"""What modules are called in those that hold them."""

from __future__ import annotations

from typing import Any

from torch.nn.modules import module as modules


class _Told:
    """Tells every module the name under which it was registered last."""

    def __init__(self) -> None:
        modules.register_module_module_registration_hook(self._tell)

    def _tell(self, module: Any, name: str, child: Any) -> None:
        if child is not None:
            vars(child)["registered_name"] = name

    def name(self, module: Any) -> Any:
        return vars(module).get("registered_name")


_TOLD = _Told()


def registered_name(module: Any) -> Any:
    """What a module is called in the one that holds it; None where none does. Source: chainer.Link.name."""
    return _TOLD.name(module)
