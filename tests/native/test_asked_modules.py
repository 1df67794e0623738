"""Array modules that are compared, asked for constants, or stand at the top of a file that others import."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

HEAD = "import numpy as np\nimport chainer\nimport chainer.functions as F\nfrom chainer import cuda\n\n"


def code(body, **others):
    return migrated(HEAD + body, **others).code


def test_a_value_of_any_kind_is_asked_for_its_device_where_nothing_is_computed_with_the_module():
    text = code(
        "def f(x):\n    xp = cuda.get_array_module(x)\n    if xp is np:\n        return 1\n    return xp.float32\n"
    )
    assert "device = compat.device_of(x)" in text and "device.type == 'cpu'" in text and "array_module" not in text


def test_what_is_computed_for_a_value_of_any_kind_keeps_the_module():
    text = code("def f(x):\n    xp = cuda.get_array_module(x)\n    return xp.zeros(3) if xp is np else xp.ones(3)\n")
    assert "compat.array_module(x)" in text


def test_of_several_values_the_first_that_is_a_tensor_has_the_device():
    text = code("def f(x, y):\n    y = F.relu(y)\n    xp = cuda.get_array_module(x, y)\n    return x, xp.zeros(3)\n")
    assert "device = y.device" in text and "array_module" not in text, text


def test_two_modules_are_compared_by_what_they_are_of():
    text = code("def f(a, b):\n    assert cuda.get_array_module(F.relu(a)) is cuda.get_array_module(F.relu(b))\n")
    assert "compat.array_module(F.relu(a)) == compat.array_module(F.relu(b))" in text


def test_a_constant_of_a_variable_that_holds_cupy():
    text = code("xp = cuda.cupy\ny = xp.ones((2, 3), dtype=xp.float32) + xp.zeros(3, xp.float32)\n")
    assert "dtype=torch.float32" in text and "device=" in text and "array_module" not in text


@pytest.mark.parametrize(
    ("statement", "own"),
    [
        ("from module import f", True),
        ("from module import f, xp", False),
        ("from module import *", False),
        ("import module\nmodule.xp", False),
    ],
)
def test_a_name_at_the_top_of_a_file_that_nobody_imports_is_its_own(statement, own):
    from chainer2torch.engine import migrate_sources
    from chainer2torch.plan.options import Options

    top = HEAD + "xp = cuda.cupy\n\ndef f():\n    return xp.zeros(3)\n"
    results = migrate_sources({"module.py": top, "other.py": statement + "\n"}, options=Options(style="native"))
    assert ("array_module" not in results["module.py"].code) is own


def test_a_result_that_goes_into_a_tensor_by_numpy_is_said():
    result = migrated(HEAD + "def f(x):\n    y = F.relu(x).data\n    np.exp(y, out=y)\n    return y\n")
    assert any(site.state == "review" and "writes into" in site.message for site in result.sites)


COPIED = """
def run(xs):
    return pick(F.sin(chainer.Variable(xs[0])).array)


def pick(vec):
    xp = cuda.get_array_module(*(vec,))
    cos = xp.exp(vec)
    if xp is cuda.cupy:
        cos = cuda.to_cpu(cos)
    return {}
"""


def test_a_module_that_only_a_copy_to_the_host_asks_for_has_no_line_of_its_own():
    """The condition goes, and with it went the last use of ``device``; ``*(x,)`` was ``(x,)[0].device``."""
    text = "from chainer import cuda\n" + COPIED
    theirs, ours, plain = run(text.format("np.sort(cos, axis=None)"))
    np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-6)
    assert "device" not in plain and "(vec,)" not in plain, plain
    asked = migrated(text.format("np.sort(cos, axis=None), xp is np")).code
    assert "vec.device.type == 'cpu'" in asked and "(vec,)" not in asked, asked
