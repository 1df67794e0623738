"""A notebook as a script: its code cells in their order, in one program, without magics and shell lines."""

from __future__ import annotations

import re
from pathlib import Path

from chainer2torch.project import notebooks
from chainer2torch.project.files import NOTEBOOK_SUFFIX, read

# What IPython has and Python lacks: magics do nothing here, a shell line that is assigned gives None, display prints.
_HEAD = "__c2t_magic__ = __c2t_cell__ = lambda number: None; display = print\n"
_FUTURE = re.compile(r"^from __future__ import [^\n]*\n", re.MULTILINE)


def as_script(tree: Path, name: str) -> str:
    """Writes the script beside the notebook ``name`` of a scratch copy, and gives its name; a script is one already.

    Raises:
        FileError: It is no notebook.
    """
    if not name.endswith(NOTEBOOK_SUFFIX):
        return name
    path = tree / name
    text = notebooks.read(read(path), path).text
    # nothing may stand before them in a script, and each cell may have its own
    futures = "".join(dict.fromkeys(_FUTURE.findall(text)))
    text = _FUTURE.sub("pass\n", text)
    script = path.with_name(f"{path.stem}_ipynb.py")
    while script.exists():
        script = script.with_name(f"{script.stem}_.py")
    script.write_text(f"{futures}{_HEAD}{text}", encoding="utf-8")
    return script.relative_to(tree).as_posix()
