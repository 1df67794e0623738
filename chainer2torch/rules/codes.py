"""What the codes mean, for ``chainer2torch explain``. Codes are stable: a number is never given another meaning."""

from __future__ import annotations

import dataclasses
import difflib


@dataclasses.dataclass(frozen=True)
class Code:
    """A code: what it stands for and what to do."""

    title: str
    text: str


_FAMILIES = {
    "0": "input and tool",
    "1": "functions",
    "2": "links",
    "3": "variables and arrays",
    "4": "modes and configuration",
    "5": "optimizers",
    "6": "training and data",
    "7": "distributed",
    "8": "serialization",
}
_RULE = (
    "The state and the message of the site say how the rule applies; `chainer2torch rules NAME` shows the rule, "
    "its examples and how PyTorch differs. A site in state manual stays as Chainer code under a marker comment."
)


def table() -> dict[str, Code]:
    """All codes, in order."""
    return {
        "C2T001": Code(
            "path does not exist", "Nothing is there under this name. Check the spelling and the current folder."
        ),
        "C2T002": Code(
            "file cannot be read",
            "The operating system refuses; the message has its reason. The other files are done. Correct the "
            "permissions and run the command again.",
        ),
        "C2T003": Code(
            "file cannot be decoded or encoded",
            "Python source is UTF-8 unless its first or second line says otherwise (# -*- coding: NAME -*-). "
            "Declare the encoding, or convert the file to UTF-8.",
        ),
        "C2T004": Code(
            "syntax error", "Python cannot parse the file, so it is left as it is. Correct the line that is named."
        ),
        "C2T005": Code(
            "Python 2",
            "The file is Python 2. Convert it to Python 3 first, with `2to3 -w -n FILE` (part of Python up to"
            " 3.12), and run chainer2torch again.",
        ),
        "C2T006": Code(
            "not a regular file", "A pipe, a socket or a device lies in the tree. It is neither read nor copied."
        ),
        "C2T007": Code(
            "file cannot be written",
            "The target is read-only, the disk is full, or the file changed meanwhile. The old content is "
            "intact; the other files are done.",
        ),
        "C2T008": Code(
            "chainer_compat.py is taken",
            "A module of yours has the name that the helpers need. Rename it (and its imports). Until then "
            "the files beside it are not migrated.",
        ),
        "C2T009": Code(
            "internal error",
            "A defect of chainer2torch. The file is left as it is and the others are done. Please report it "
            "with the file, if you may.",
        ),
        "C2T010": Code(
            "call does not fit",
            "The call's arguments cannot be bound to Chainer 7's signature: it would raise, or it was written"
            " for an older version. Correct the call.",
        ),
        "C2T011": Code(
            "change could not be placed",
            "The decision was made, but the source has a form in which it cannot be written. Write the "
            "expression more simply, or change it by hand.",
        ),
        "C2T012": Code(
            "skipped on request",
            "A comment says `chainer2torch: skip`, so the place is left as it is, and it still needs Chainer. Remove "
            'the comment to have it migrated; ignore = ["C2T012"] in pyproject.toml leaves such places out.',
        ),
        "C2T013": Code(
            "not a notebook",
            "A file that ends with .ipynb is not JSON, or has no list of cells. Open and save it in Jupyter, or"
            " correct the line that is named.",
        ),
        "C2T015": Code(
            "Chainer in a magic",
            "A magic or a shell line of a notebook (`!pip install chainer`, `%%writefile`, `%%bash`) names Chainer or "
            "CuPy. Such lines are kept as they are. Change it by hand: install torch, and move code that is written "
            "to a file into a file, which can be migrated.",
        ),
        "C2T016": Code(
            "requirement",
            "A dependency file (requirements.txt, setup.py, setup.cfg, pyproject.toml, Pipfile, environment.yml) asks"
            " for Chainer, CuPy or a library on Chainer. It becomes the packages that the migrated code imports; what"
            " the code still needs stays beside them. Pins of other packages are kept.",
        ),
        "C2T017": Code(
            "half way",
            "`migrate --only` was asked for a part of the project. What belongs to another part is kept; it goes with "
            "the stage that the message names. A place in state manual has no form in which the training and the "
            "models are of different frameworks: migrate these two together (--only training,models), or all.",
        ),
        "C2T090": Code("other Chainer name", "A Chainer name outside of the families below. " + _RULE),
        "C2T091": Code(
            "library on Chainer",
            "A name of a library that is built on Chainer (ChainerRL, ChainerCV and others). The report says what takes"
            " its place in PyTorch. " + _RULE,
        ),
        "C2T100": Code("function", "A function of chainer.functions. " + _RULE),
        "C2T200": Code("link", "A link, a chain, or something that is done to one. " + _RULE),
        "C2T201": Code(
            "links passed with * or **",
            "Links that are handed over as a list or dict have no names in the source. Assign each of them to"
            " an attribute of self.",
        ),
        "C2T202": Code(
            "attribute that torch.nn.Module has itself",
            "PyTorch's modules have a method or attribute of this name, so it is renamed with an underscore at the "
            "end. Where it is not known whose attribute it is, look at the line and rename it if it is yours.",
        ),
        "C2T203": Code(
            "link or parameter outside init_scope",
            "Chainer neither trains nor saves what is assigned outside of init_scope. PyTorch would register it; the "
            "migrated code keeps Chainer's meaning. If you wanted it trained, assign it to self in the plain way.",
        ),
        "C2T204": Code(
            "mode given to the call of a link",
            "Version 1 of Chainer told a link its mode at each call (test=, train=); torch's layers keep theirs. The "
            "migrated code calls the link in that mode. In review: the place has another meaning since version 2, and "
            "nothing tells the version; pass the argument by name.",
        ),
        "C2T210": Code("initializer", "An initial distribution of parameters. " + _RULE),
        "C2T220": Code("link hook", "A hook on a link. " + _RULE),
        "C2T300": Code("variable", "chainer.Variable, its methods and attributes. " + _RULE),
        "C2T310": Code("parameter", "chainer.Parameter. " + _RULE),
        "C2T320": Code("array", "A NumPy or CuPy call on arrays that are tensors now. " + _RULE),
        "C2T330": Code("device or backend", "Choice of a device or of an array module. " + _RULE),
        "C2T390": Code(
            "receiver of unknown kind",
            "The method or attribute looks like Chainer's, but what it is called on could not be inferred. If"
            " it is a Chainer object, change the line by hand; else ignore this.",
        ),
        "C2T400": Code(
            "mode or configuration",
            "chainer.config and its context managers: training and test mode, the graph. " + _RULE,
        ),
        "C2T500": Code("optimizer", "An optimizer, its hooks and methods. " + _RULE),
        "C2T600": Code("training", "Trainer, updaters, extensions and triggers. " + _RULE),
        "C2T610": Code("data set", "chainer.dataset and chainer.datasets. " + _RULE),
        "C2T620": Code("iterator", "chainer.iterators. " + _RULE),
        "C2T630": Code("reporter", "Observed values: chainer.report and the reporter. " + _RULE),
        "C2T700": Code("distributed", "ChainerMN. " + _RULE),
        "C2T800": Code("serialization", "Saving and loading of weights and snapshots. " + _RULE),
    }


def explain(code: str) -> str | None:
    """The text for a code, or None when there is no such code."""
    code = code.upper()
    entry = table().get(code)
    if entry is None:
        return None
    return f"{code}: {entry.title} ({_FAMILIES.get(code[3], 'other')})\n\n{entry.text}\n"


def nearest(code: str) -> str | None:
    """The code that was probably meant."""
    found = difflib.get_close_matches(code.upper(), table(), 1)
    return found[0] if found else None
