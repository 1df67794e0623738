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


@pytest.mark.parametrize(
    ("before", "after"),
    [
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
    ],
)
def test_tests_for_the_module_are_constant(before: str, after: str) -> None:
    code = migrated(f"{before}\n")
    assert code.endswith(f"{after}\n")
    assert "chainer" not in code.replace("chainer_compat", "")
    assert "try" not in code


@pytest.mark.parametrize(
    "handler",
    [
        "chainer = cuda = None\n    print('no Chainer')",  # it does more
        "chainer = cuda = None\n    available = False",  # another name
        "chainer = cuda = load()",  # something else than a constant
    ],
)
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


@pytest.mark.parametrize(
    "head",
    [
        "if gpu:\n    from chainer import cuda\nelse:\n    cuda = None\n",
        "cuda = None\nif gpu:\n    from chainer import cuda\n",
        "from chainer import cuda\nif not gpu:\n    cuda = None\n",
        "from chainer import cuda\ndef f(cuda=None):\n    return cuda\n",
        "from chainer import cuda\ndef f():\n    global cuda\n    cuda = None\n",
        "cuda = None\ndef f():\n    global cuda\n    from chainer import cuda\n",
        "try:\n    from chainer import cuda\nexcept ValueError:\n    cuda = None\n",
    ],
)
def test_a_name_that_is_none_for_another_reason_is_asked_at_run_time(head: str) -> None:
    for test in ("cuda is None", "cuda is not None"):
        assert f"    {test} and print" in migrated(f"def g():\n    {test} and print('cpu')\n", head)
        assert f"if {test}:" in migrated(f"if {test}:\n    print('cpu')\n", head)


def test_a_name_of_another_file_is_asked_at_run_time() -> None:
    results = migrate_sources(
        {
            "state.py": "try:\n    import chainer\nexcept ImportError:\n    chainer = None\n",
            "net.py": "from state import chainer\nz = chainer is None\n",
        }
    )
    assert "z = chainer is None" in results["net.py"].code


@pytest.mark.parametrize(
    "test",
    [
        "hasattr(chainer.functions, 'no_such_name')",
        "hasattr(chainer, 'FunctionSet')",
        "hasattr(chainer.functions, name)",
    ],
)
def test_which_names_a_version_of_chainer_has_is_a_question(test: str) -> None:
    result = migrate_sources({"net.py": f"import chainer\nname = input()\nz = {test}\n"})["net.py"]
    assert f"z = {test}" in result.code and [site.state for site in result.sites] == ["manual"]


def test_a_name_of_the_last_version_is_there() -> None:
    result = migrate_sources({"net.py": "import chainer\nz = hasattr(chainer.functions, 'clip')\n"})["net.py"]
    assert result.code == "z = True\n" and [site.state for site in result.sites] == ["exact"]
