"""Programs that also do without Chainer: what asks whether it is there is constant once they have PyTorch."""
from __future__ import annotations

import pytest

from chainer2torch.engine import migrate_sources

HEAD = """\
try:
    import chainer
    from chainer import cuda
except ImportError:
    chainer = cuda = None
"""


def migrated(body: str, head: str = HEAD) -> str:
    result = migrate_sources({"net.py": head + body})["net.py"]
    assert result.error is None
    return result.code


@pytest.mark.parametrize(("before", "after"), [
    ("z = x if chainer is None else y", "z = y"),
    ("z = x if chainer is not None else y", "z = x"),
    ("z = [x.a if None is not chainer else y, y if cuda is None else x.a]", "z = [x.a, x.a]"),
    ("z = chainer.functions.relu(x) if chainer is not None else y", "z = F.relu(x)"),
    ("z = x and chainer is not None", "z = x"),
    ("z = chainer is None or x", "z = x"),
    ("z = chainer is None and x", "z = False"),
    ("z = chainer is not None", "z = True"),
    ("z = not (chainer is None)", "z = True"),
    ("if chainer is None:\n    raise RuntimeError('no Chainer')\nz = x", "z = x"),
    ("if cuda is not None:\n    z = cuda.to_cpu(x)\nelse:\n    z = x", "z = compat.to_cpu(x)"),
])
def test_tests_for_the_module_are_constant(before: str, after: str) -> None:
    code = migrated(f"{before}\n")
    assert code.endswith(f"{after}\n")
    assert "chainer" not in code.replace("chainer_compat", "")
    assert "try" not in code


@pytest.mark.parametrize("handler", [
    "chainer = cuda = None\n    print('no Chainer')",  # it does more
    "chainer = cuda = None\n    available = False",    # another name
    "chainer = cuda = load()",                         # something else than a constant
])
def test_handlers_that_do_more_stay(handler: str) -> None:
    head = HEAD.replace("chainer = cuda = None", handler)
    assert handler in migrated("z = chainer is None\n", head)


def test_a_name_that_is_still_read_keeps_its_import() -> None:
    code = migrated("print(chainer)\nz = x if chainer is None else y\n")
    assert "import chainer" in code and "chainer = cuda = None" in code
    assert code.endswith("z = y\n")


def test_a_name_that_may_be_something_else_is_a_question() -> None:
    code = migrated("def f():\n    return chainer is None\n", "import chainer\nif flag:\n    chainer = object()\n")
    assert "# TODO(chainer2torch C2T090): chainer" in code and "return chainer is None" in code


def test_none_of_another_library_is_left_alone() -> None:
    head = "import chainer\ntry:\n    import pandas\nexcept ImportError:\n    pandas = None\n"
    assert "z = x if pandas is None else y" in migrated("z = x if pandas is None else y\n", head)


@pytest.mark.parametrize(("test", "value"), [
    ("hasattr(chainer.functions, 'clip')", True), ("hasattr(F, 'no_such_function')", False),
    ("hasattr(chainer, 'using_config')", True), ("hasattr(chainer, 'backends')", True),
    ("hasattr(chainer.training, 'extensions')", True), ("not hasattr(L, 'Linear')", False),
    ("hasattr(chainer.links, 'BatchNormalization')", True), ("hasattr(chainer.cuda, 'to_gpu')", True),
])
def test_names_of_chainers_modules_are_there_or_not(test: str, value: bool) -> None:
    head = "import chainer\nimport chainer.functions as F\nimport chainer.links as L\n"
    original: dict[str, object] = {}
    exec(f"{head}z = {test}", original)
    assert original["z"] is value
    assert migrated(f"z = {test}\n", head).endswith(f"z = {value}\n")
    code = migrated(f"if {test}:\n    z = 1\nelse:\n    z = 2\n", head)
    assert code.endswith("z = 1\n" if value else "z = 2\n") and "import chainer\n" not in code


def test_names_that_are_not_known_here_are_questions() -> None:
    head = "import chainer\nname = input()\n"
    for test in ("hasattr(chainer.functions, name)", "hasattr(chainer, '_environment_check')"):
        result = migrate_sources({"net.py": f"{head}z = {test}\n"})["net.py"]
        assert {site.state for site in result.sites} <= {"review", "manual"} and result.sites
