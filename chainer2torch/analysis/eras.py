"""For which version of Chainer a file was written, as far as its words tell."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence

from chainer2torch.analysis.source import Source

# what only version 1 knows, and what came with version 2 or later: words, and the forms in which they count
_VERSION_1 = ("volatile", "wscale", "FunctionSet", "zero_grads", "clip_grads", "use_cudnn")
_VERSION_1_FORMS = re.compile(
    r"\b(volatile|wscale|FunctionSet|zero_grads|clip_grads)\b|\buse_cudnn\s*=\s*(?:True|False)\b"
)
_LATER = ("init_scope", "using_config", "global_config", "FunctionNode", "to_chx", "config", "backend")
_LATER_FORMS = re.compile(
    r"\b(init_scope|using_config|global_config|FunctionNode|to_chx)\b|\bchainer\s*\.\s*(config|backends?)\b"
)
# What the last releases of version 1 had, too: signs of a later one where nothing is said that only version 1 takes.
_SINCE_1_24 = ("no_backprop_mode", "force_backprop_mode", "get_device_from_id", "Normal")
_SINCE_1_24_FORMS = re.compile(
    r"\b(no_backprop_mode|force_backprop_mode|get_device_from_id)\b|\bchainer\s*\.\s*initializers\.Normal\b"
)
# Calls that every later version refuses: the last name of the function, and the argument ("": the call itself).
_REFUSED = {
    "dropout": "train",
    "FunctionSet": "",
    "Variable": "volatile",
    **dict.fromkeys(("Linear", "Convolution2D", "ConvolutionND", "Deconvolution2D", "DilatedConvolution2D"), "wscale"),
}

# the words of a version go with what an earlier run rewrote: where that run was in doubt, the file still is
_DOUBTED = re.compile(r"^[ \t]*# TODO\(chainer2torch C2T\d+\):.*\bversion 1 of Chainer\b", re.MULTILINE)


def eras(sources: Mapping[str, Source], pinned: int | None = None) -> dict[str, int | None]:
    """By path: 1 for files of version 1, 2 for later ones, None where nothing tells."""
    in_doubt = {path for path, source in sources.items() if doubted(source)}
    return eras_of({path: signs(source) for path, source in sources.items()}, in_doubt, pinned)


def eras_of(
    signs: Mapping[str, tuple[bool, bool]], in_doubt: Collection[str], pinned: int | None
) -> dict[str, int | None]:
    """The same, with what :func:`signs` and :func:`doubted` say of the files.

    A file without a sign is of the era of the other files of its project when those agree, and of the major version
    that the project's requirements have ``pinned`` when it does not contradict them.
    """
    found = {own for own in signs.values() if any(own)}
    common = {(True, False): 1, (False, True): 2}.get(next(iter(found))) if len(found) == 1 else None
    wanted = {common, min(pinned, 2) if pinned is not None else None} - {None}
    unsigned = wanted.pop() if len(wanted) == 1 else None
    left = in_doubt if pinned is None else ()
    return {
        path: None if all(own) or path in left else unsigned if not any(own) else 1 if own[0] else 2
        for path, own in signs.items()
    }


def signs(source: Source) -> tuple[bool, bool]:
    """Whether the words of a file are those of version 1, and whether they are those of a later one."""
    first, later = _says(source, _VERSION_1, _VERSION_1_FORMS), _says(source, _LATER, _LATER_FORMS)
    refused = _calls_what_is_refused(source)
    if not later and not refused:
        later = _says(source, _SINCE_1_24, _SINCE_1_24_FORMS)
    return first or refused, later


def _calls_what_is_refused(source: Source) -> bool:
    """Whether a call has an argument that only version 1 takes: ``F.dropout(x, train=train)``."""
    if not any(name in source.text and argument in source.text for name, argument in _REFUSED.items()):
        return False
    for call in source.of(ast.Call):
        assert isinstance(call, ast.Call)
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        argument = _REFUSED.get(name)
        if argument is not None and (not argument or any(keyword.arg == argument for keyword in call.keywords)):
            return True
    return False


def doubted(source: Source) -> bool:
    """Whether an earlier run was in doubt about the version of a file."""
    return "version 1 of Chainer" in source.text and _DOUBTED.search(source.text) is not None


def _says(source: Source, words: Sequence[str], forms: re.Pattern[str]) -> bool:
    """Whether one of the words stands in the code: what comments and strings say of a version is no sign of it."""
    return any(word in source.text for word in words) and any(
        not source.in_string(match.start()) and source.comment_before(match.start()) is None
        for match in forms.finditer(source.text)
    )
