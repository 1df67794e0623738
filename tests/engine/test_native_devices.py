"""Devices and array modules in the native style: which form stands where, and what keeps the helpers."""

import sys
import textwrap
import types
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch

from chainer2torch.analysis.kinds import Inst, Ref
from chainer2torch.analysis.lattice import join
from chainer2torch.engine import migrate_source
from chainer2torch.native.devices import as_tensor
from chainer2torch.plan.options import Options
from chainer2torch.vendor import compat_file

HEAD = """import numpy as np
import chainer
import chainer.functions as F
from chainer import cuda
"""


def migrated(body: str, hints: dict[str, str] | None = None) -> tuple[str, str]:
    """The migrated text behind the imports, and the report's states in order."""
    result = migrate_source(HEAD + textwrap.dedent(body), options=Options(style="native"), hints=hints)
    assert result.error is None
    lines = result.code.split("\n")
    first = next(i for i, line in enumerate(lines) if line.startswith(("def ", "class ", "xp")))
    return "\n".join(lines[first:]).strip(), " ".join(sorted({site.state for site in result.sites}))


def code(body: str, **kinds: str) -> str:
    return migrated(body, {f"f.{name}": kind for name, kind in kinds.items()})[0]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cuda.get_device_from_id(3).use()", "torch.cuda.set_device(3)"),
        ("cuda.get_device_from_id(x).use()", "torch.cuda.set_device(x)"),  # what is no number raises
        ("cuda.get_device_from_id(x._id).use()", "torch.cuda.set_device(x._id)"),
        ("with cuda.get_device_from_id(1): pass", "with torch.cuda.device(1): pass"),
        ("with cuda.get_device_from_id(x): pass", "with torch.cuda.device(x): pass"),
        ("cuda.set_max_workspace_size(9)", "pass"),
        ("cuda.cupy.random.seed(3)", "torch.cuda.manual_seed(3)"),
        ("cuda.check_cuda_available()", "torch.cuda.init()"),
        ("return cuda.to_gpu(np.ones(3), 1)", "return torch.as_tensor(np.ones(3), device=1)"),
        ("return cuda.to_gpu(x)", "return torch.as_tensor(x, device='cuda')"),
        ("return cuda.to_gpu([x])", "return compat.to_gpu([x])"),
        ("return cuda.cupy.zeros(3, 'f')", "return torch.zeros(3, dtype=torch.float32, device='cuda')"),
    ],
)
def test_calls_that_need_a_gpu(before: str, after: str) -> None:
    """The examples of the rows cannot run these: here is what they become, without a marker."""
    body = f"\n    {before}\n    " if before.startswith(("with", "return")) else f"{before}"
    text, _ = migrated(f"def f(x):\n    {body.strip()}\n")
    assert text == f"def f(x):\n    {after}"


def test_what_only_a_gpu_can_show_is_in_the_report_alone() -> None:
    text, states = migrated("def f(model):\n    return cuda.to_gpu(np.ones(3)), model.to_gpu(0)\n")
    assert "TODO" not in text and states == "review"


def test_the_number_is_known_where_it_was_compared() -> None:
    body = "def f(gpu=None):\n    if gpu >= 0:\n        cuda.get_device(gpu).use()\n    cuda.get_device(gpu).use()\n"
    assert code(body).split("\n")[2:] == [
        "        torch.cuda.set_device(gpu)",
        "    compat.use_device(compat.find_device(gpu))",
    ]


def test_a_number_that_may_be_none_is_asked_for() -> None:
    body = (
        "def f(gpu=None):\n    with cuda.get_device_from_id(gpu):\n        return chainer.dataset.to_device(gpu, 1)\n"
    )
    assert "with compat.using_device(compat.get_device(gpu)):" in code(body)


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        ("config.gpu", "torch.device('cuda', config.gpu) if config.gpu >= 0 else torch.device('cpu')"),
        ("config.gpus['main']", "config.gpus['main'] >= 0 else torch.device('cpu')"),
        ("gpu", "torch.device('cuda', gpu) if gpu >= 0 else torch.device('cpu')"),
        ("self.gpu", "compat.get_device(self.gpu)"),  # a device by then, for all that is known
        ("place", "compat.get_device(place)"),
        ("config.gpu, chainer.get_device('@numpy')", "compat.get_device(config.gpu)"),  # it has names for devices
    ],
)
def test_numbers_of_gpus_of_which_nothing_else_is_known(config: str, wanted: str) -> None:
    head, _, more = config.partition(", ")
    body = (
        f"def f(self, config, gpu, place, batch):\n    return chainer.dataset.concat_examples(batch, {head}), {more}\n"
    )
    text = code(body + "\nf(*made)\n")
    assert wanted in text


@pytest.mark.parametrize("comment", ["", "  # the one that was asked for"])
def test_a_device_that_may_be_the_cpu(comment: str) -> None:
    body = f"def f(name):\n    device = chainer.get_device(name)\n    device.use(){comment}\n    return device\n"
    assert code(body).split("\n") == [
        "def f(name):",
        "    device = compat.get_device(name)",
        f"    if device.type == 'cuda':{comment}",
        "        torch.cuda.set_device(device)",
        "    return device",
    ]


def test_a_statement_that_shares_its_line() -> None:
    body = "def f(name):\n    device = chainer.get_device(name)\n    if name: device.use()\n    return 1\n"
    assert "if name: compat.use_device(device)" in code(body)


X = {"x": "tensor rank 2 dtype float32"}


def test_a_short_device_is_written_out() -> None:
    body = """
        def f(x):
            xp = cuda.get_array_module(x)
            return x + xp.ones((2, 3), dtype=x.dtype)
        """
    assert code(body, **X) == "def f(x):\n    return x + torch.ones((2, 3), dtype=x.dtype, device=x.device)"


def test_a_module_of_which_nobody_asks_the_device_goes() -> None:
    body = "def f(x):\n    xp = cuda.get_array_module(x)\n    return xp.exp(x), xp.sum(x, axis=1)\n"
    assert code(body, **X) == "def f(x):\n    return torch.exp(x), torch.sum(x, dim=1)"


def test_a_device_has_a_line_of_its_own_where_its_tensor_changes() -> None:
    body = """
        def f(x):
            xp = cuda.get_array_module(x)
            x = F.relu(x)
            if xp is np:
                x = x + xp.zeros(3, 'f')
            return x
        """
    lines = code(body, **X).split("\n")
    assert lines[1] == "    device = x.device" and lines[3] == "    if device.type == 'cpu':"
    assert lines[4] == "        x = x + torch.zeros(3, dtype=torch.float32, device=device)"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cp.zeros((2, 3), 'f')", "torch.zeros((2, 3), dtype=torch.float32, device='cuda')"),
        ("cp.float32(3)", "np.float32(3)"),
        ("cp.random.normal(0, 1, 3)", "torch.as_tensor(np.random.normal(0, 1, 3), device='cuda')"),
    ],
)
def test_cupy_under_a_name_of_its_own(before: str, after: str) -> None:
    result = migrate_source(
        f"{HEAD}import cupy as cp\n\ndef f():\n    return {before}\n", options=Options(style="native")
    )
    assert f"return {after}\n" in result.code and "cupy" not in result.code


def test_names_that_are_taken() -> None:
    body = """
        def f(x, device, gpu):
            xp = cuda.cupy if gpu >= 0 else np
            other = np
            if gpu >= 0:
                other = cuda.cupy
            return xp.zeros(3), other.ones(3), device
        """
    text = code(body, **X)
    assert "xp_device = torch.device('cuda' if gpu >= 0 else 'cpu')" in text
    assert "other_device = torch.device('cpu')" in text and "other_device = torch.device('cuda')" in text
    assert "torch.zeros(3, dtype=torch.float64, device=xp_device)" in text
    assert "torch.ones(3, dtype=torch.float64, device=other_device)" in text


def test_inner_functions_see_it() -> None:
    body = """
        def f(x, gpu):
            xp = cuda.cupy if gpu >= 0 else np
            def g():
                return [xp.zeros(n) for n in range(3)]
            return g
        """
    assert "torch.zeros(n, dtype=torch.float64, device=device) for n" in code(body, **X)


@pytest.mark.parametrize(
    "use",
    [
        "return g(xp)",  # it goes elsewhere
        "return xp",
        "return xp.zeros",  # a function as a value
        "return xp.put(y, [0], 3)",  # nothing in torch does that, and NumPy writes
        "import numpy as xp",  # bound by something else, too
        "xp = g(3)",
        "del xp",
        "return [xp for xp in g(3)], xp.put(y, x, 1)",
    ],
)
def test_all_uses_or_none(use: str) -> None:
    body = f"def f(x, g):\n    xp = cuda.get_array_module(x)\n    y = xp.zeros(3, 'f')\n    {use}\n"
    text = code(body, **X)
    assert "xp = compat.array_module(x)" in text and "y = xp.zeros(3, 'f')" in text


OF_UNKNOWN = """def f(x):
    xp = cuda.get_array_module(x)
    y = xp.zeros(3) + xp.logical_not(x)
    return y + xp.random.uniform(size=3)
"""


def test_what_is_made_for_an_unknown_value_is_of_its_kind() -> None:
    """A function that nobody calls here: handed an array of the host it gives one, as in Chainer."""
    result = migrate_source(HEAD + OF_UNKNOWN, options=Options(style="native"))
    assert "xp = compat.array_module(x)" in result.code
    theirs: dict[str, Any] = {}
    exec(HEAD + OF_UNKNOWN, theirs)
    compat = types.ModuleType("chainer_compat")
    exec(compat_file.build(result.helpers, style="native"), compat.__dict__)
    ours: dict[str, Any] = {}
    with mock.patch.dict(sys.modules, chainer_compat=compat):
        exec(result.code, ours)
    x = np.array([0.0, 1.0, 2.0])
    for value in (x, torch.from_numpy(x)):
        np.random.seed(0)
        expected = theirs["f"](x)
        np.random.seed(0)
        made = ours["f"](value)
        assert type(made) is type(value) and made.dtype == value.dtype
        np.testing.assert_array_equal(made, expected)


def in_model(function: str) -> str:
    """A function as a method of a link, with the link's array module: nobody knows what it is given."""
    own = function.replace("f(x", "f(self, x", 1).replace("cuda.get_array_module(xs[0])", "self.xp")
    body = textwrap.indent(own.replace("cuda.get_array_module(x)", "self.xp"), "    ")
    return migrated("class Net(chainer.Chain):\n" + body)[0]


def test_what_is_made_on_a_device_and_what_has_a_shape_needs_no_helper() -> None:
    text = in_model("""def f(x):
    xp = cuda.get_array_module(x)
    return xp.argmax(xp.log(x) + xp.zeros(x.shape)), xp.square(xp.abs(x))
""")
    assert "torch.abs(torch.as_tensor(x, device=device))" in text


@pytest.mark.parametrize(
    "body",
    [
        "return xp.abs(x)",
        "n = x.shape if len(x) else 0\n    return xp.abs(x)",
        "if n:\n        return xp.abs(x)\n    n = x.shape",
        "x = n\n    n = x.shape\n    return xp.abs(x)",
    ],
)
def test_what_is_used_as_a_list_keeps_the_helper(body: str) -> None:
    for used, made in (("", "torch.as_tensor(x, device="), ("x.append(n)", "compat.as_tensor(x, ")):
        text = in_model(f"def f(x, n):\n    xp = cuda.get_array_module(x)\n    {used}\n    {body}\n")
        assert f"torch.abs({made}" in text


GENERATOR = """
class Net(chainer.Chain):
    def noise(self, n):
        return np.random.randn(n, 3).astype('f')
    def forward(self, x):
        return F.relu(x)

class Update(chainer.training.StandardUpdater):
    def __init__(self, **kwargs):
        self.gen = kwargs.pop('model')
        super().__init__(**kwargs)
    def update_core(self):
        xp = self.gen.xp
        z = xp.asarray(self.gen.noise(3))
        return self.gen(z)
"""


def test_a_method_of_every_link_that_gives_arrays() -> None:
    assert "z = torch.as_tensor(self.gen.noise(3), device=device)" in migrated(GENERATOR)[0]
    for change in (
        ("return np.random.randn(n, 3).astype('f')", "return [0.5]"),  # a list of numbers has another dtype in torch
        ("return np.random.randn(n, 3).astype('f')", "return 0.5"),
    ):
        assert "compat.as_tensor(self.gen.noise(3), " in migrated(GENERATOR.replace(*change))[0], change


FILLED = """def f(xs):
    xp = cuda.get_array_module(xs[0])
    y = xp.full((len(xs), 4), -1, dtype=xs[0].dtype)
    for i in range(len(xs)):
        y[i, : len(xs[i])] = VALUE
    return y
"""


@pytest.mark.parametrize("value", ["xs[i]", "np.ones(len(xs[i]))", "cuda.to_cpu(xs[i])"])
def test_what_is_filled_with_arrays_that_nobody_knows_stays_an_array(value: str) -> None:
    result = migrate_source(HEAD + FILLED.replace("VALUE", value), options=Options(style="native"))
    theirs: dict[str, Any] = {}
    exec(HEAD + FILLED.replace("VALUE", value), theirs)
    compat = types.ModuleType("chainer_compat")
    exec(compat_file.build(result.helpers, style="native"), compat.__dict__)
    ours: dict[str, Any] = {}
    with mock.patch.dict(sys.modules, chainer_compat=compat):
        exec(result.code, ours)
    xs = [np.arange(3, dtype="f"), np.arange(2, dtype="f")]
    made, expected = ours["f"](xs), theirs["f"](xs)
    assert type(made) is np.ndarray and made.dtype == expected.dtype
    np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("value", ["2", "xp.arange(len(xs[i]))"])
def test_what_is_filled_with_numbers_or_with_what_is_made_there_is_a_tensor(value: str) -> None:
    text = in_model(FILLED.replace("VALUE", value))
    assert "device = compat.device_of(self)" in text and "array_module" not in text


@pytest.mark.parametrize(
    ("base", "method", "device"),
    [
        ("chainer.Chain", "forward", True),
        ("chainer.Chain", "__call__", True),
        ("chainer.Chain", "predict", False),  # it may be handed arrays of the host, and has to give such then
        ("chainer.Chain", "decode", False),
        ("object", "forward", False),
    ],
)
def test_what_computes_in_a_model_is_given_tensors(base: str, method: str, device: bool) -> None:
    body = f"class Net({base}):\n    def {method}(self, x):\n        return cuda.get_array_module(x).zeros(3)\n"
    text = migrated(body)[0]
    assert ("torch.zeros(3, dtype=torch.float64, device=x.device)" in text) is device
    assert ("compat.array_module(x).zeros(3)" in text) is not device


def test_what_is_an_array_here_and_a_tensor_there_keeps_the_helper() -> None:
    both = "f(np.zeros(3))\nf(F.relu(np.zeros(3)).array)\n"
    text = code("def f(x):\n    xp = cuda.get_array_module(x)\n    return xp.zeros(3)\n" + both)
    assert "xp = compat.array_module(x)" in text and "xp.zeros(3)" in text


CHAIN = """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = chainer.links.Linear(3, 4)
        self.start = self.xp.zeros(3)
    def forward(self, x):
        return self.l(x) + self.xp.zeros(4, 'f')
"""


def test_the_module_of_a_link() -> None:
    text = migrated(CHAIN)[0]
    assert "torch.zeros(4, dtype=torch.float32, device=next(self.parameters()).device)" in text
    assert "self.start = torch.zeros(3, dtype=torch.float64, device='cpu')" in text, "a link begins on the host"


UNKNOWN = "def f(model):\n    return model.xp.zeros(3, 'f')\n"


def test_the_module_of_what_nobody_knows() -> None:
    assert "torch.zeros(3, dtype=torch.float32, device=compat.device_of(model))" in code(UNKNOWN)
    own = UNKNOWN + "class Own:\n    def __init__(self, xp):\n        self.xp = xp\n"
    assert "compat.xp_of(model).zeros(3, 'f')" in code(own), "it may be that class's own"


@pytest.mark.parametrize(
    ("use", "device"),
    [
        ("return model(xp.zeros(3, 'f'))", "next(model.parameters()).device"),
        ("model.cleargrads(); return xp.zeros(3, 'f')", "next(model.parameters()).device"),
        ("return model.f(xp.zeros(3, 'f'))", "next(model.parameters()).device"),
        ("return model.grad + xp.zeros(3, 'f')", "compat.device_of(model)"),
    ],
)
def test_what_is_called_is_a_link(use: str, device: str) -> None:
    text = code(f"def f(model):\n    xp = model.xp\n    {use}\n")
    assert f"device = {device}\n" in text or f"device={device})" in text


@pytest.mark.parametrize(
    ("given", "same"),
    [
        ("image[None]", True),
        ("image[np.newaxis].copy()", True),
        ("image[:, 0]", True),
        ("image.reshape(1, -1)", True),
        ("image", False),
        ("image[0]", False),
        ("image.copy()", False),
    ],
)
def test_what_has_axes_is_an_array(given: str, same: bool) -> None:
    body = f"def f(x, image):\n    xp = cuda.get_array_module(x)\n    return xp.asarray({given})\n"
    text, states = migrated(body, {"f.x": X["x"]})
    assert text.endswith(f"return torch.as_tensor({given}, device=x.device)")
    assert ("close" in states) is not same, "Python's floats become float32, a declared difference"


@pytest.mark.parametrize("x", [np.ones((2, 3), "f"), np.float32(2), np.int32(2), np.arange(3), torch.ones(2)])
def test_of_an_array_the_helper_makes_what_torch_makes(x: object) -> None:
    """NumPy's numbers included, which an index with several parts may give."""
    ours, theirs = as_tensor(x, torch.device("cpu")), torch.as_tensor(x, device="cpu")
    assert ours.dtype == theirs.dtype and torch.equal(ours, theirs)


def test_a_variable_of_a_script() -> None:
    body = "xp = cuda.cupy if len(np.__name__) > 9 else np\ny = xp.zeros(3, 'f')\n"
    result = migrate_source(HEAD + body, options=Options(style="native"))
    assert "device = torch.device('cuda' if len(np.__name__) > 9 else 'cpu')" in result.code
    assert "y = torch.zeros(3, dtype=torch.float32, device=device)" in result.code


def test_the_faithful_style_is_as_it_was() -> None:
    body = "def f(x, gpu):\n    xp = cuda.get_array_module(x)\n    cuda.get_device(gpu).use()\n    return xp.zeros(3)\n"
    text = migrate_source(HEAD + body, hints={"f.x": "tensor"}).code
    assert "xp = compat.array_module(x)" in text and "compat.use_device(compat.find_device(gpu))" in text


def test_the_device_of_a_batch_is_made_current() -> None:
    """``xp.cuda`` is reached with a GPU only: it needs no array module."""
    body = """
    def f(y, t):
        xp = cuda.get_array_module(t)
        if xp != np:
            xp.cuda.Device(t.device).use()
        with xp.cuda.Device(1):
            return y - xp.ones((3,), 'f')
    """
    assert code(body, y="tensor", t="tensor") == (
        "def f(y, t):\n"
        "    if t.device.type != 'cpu':\n"
        "        torch.cuda.set_device(t.device)\n"
        "    with torch.cuda.device(1):\n"
        "        return y - torch.ones((3,), dtype=torch.float32, device=t.device)"
    )


@pytest.mark.parametrize(
    "use", ["d = xp.cuda.Device(1)", "xp.cuda.Device(1).synchronize()", "xp.cuda.Device(*t).use()"]
)
def test_other_uses_of_a_device_by_the_array_module_are_marked(use: str) -> None:
    text, states = migrated(f"def f(t):\n    xp = cuda.get_array_module(t)\n    {use}\n", {"f.t": "tensor"})
    assert "xp.cuda" in text and "manual" in states


def test_cupy_in_one_branch_and_numpy_in_the_other() -> None:
    """On the host the batch is that of Chainer; with a GPU its number is made current."""
    body = """
    def f(batch, device):
        if device >= 0:
            xp = cuda.cupy
            xp.cuda.Device(device).use()
        else:
            xp = np
        return xp.asarray([b for b in batch], dtype=xp.int32) + xp.zeros(2, 'i')
    """
    text, states = migrated(body)
    assert "torch.cuda.set_device(device)" in text and "compat" not in text and "manual" not in states
    namespace: dict[str, Any] = {"torch": torch}
    exec(text, namespace)
    y = namespace["f"]([np.arange(2), np.arange(2)], -1)
    assert y.dtype == torch.int32 and y.tolist() == [[0, 1], [0, 1]]


def test_cupy_by_a_variable() -> None:
    text, _ = migrated("def f(x):\n    cp = cuda.cupy\n    return cp.zeros((3,), 'f') + cp.exp(x)\n", {"f.x": "tensor"})
    assert "torch.zeros((3,), dtype=torch.float32, device=" in text and "compat.array_module" not in text


def test_array_modules_join_to_one() -> None:
    """What was merged is no union of it with itself."""
    module = Inst("xp.Module")
    assert join(join(Ref("numpy"), module), Ref("cupy")) == module


IMPORTED = """\
try:
    import cupy as xp
except ImportError:
    import numpy as xp
"""
ASSIGNED = """\
import numpy as np
try:
    import cupy as cp
    xp = cp  # a GPU
except (ImportError, ModuleNotFoundError):
    # none
    xp = np
"""
BY_IMPORT = [
    (
        IMPORTED,
        """\
if torch.cuda.is_available():
    device = torch.device('cuda')
else:
    device = torch.device('cpu')
""",
    ),
    (
        ASSIGNED,
        """\
if torch.cuda.is_available():
    device = torch.device('cuda')  # a GPU
else:
    # none
    device = torch.device('cpu')
""",
    ),
]
IMPORTED_AND_TOLD = """\
try:
    gpu = True
    import cupy as xp
except ImportError:
    import numpy as xp
    print('no GPU')
    gpu = False
"""
BY_IMPORT.append(
    (
        IMPORTED_AND_TOLD,
        """\
if torch.cuda.is_available():
    gpu = True
    device = torch.device('cuda')
else:
    device = torch.device('cpu')
    print('no GPU')
    gpu = False
""",
    )
)
FOUND_OUT = """\
import chainer.functions as F
def f(x):
    try:
        import cupy
        gpu = True
    except ImportError:
        gpu = False
    return F.relu(x) if gpu else x
"""


@pytest.mark.parametrize(("before", "after"), BY_IMPORT)
def test_an_array_module_that_an_import_chooses_asks_for_a_gpu(before: str, after: str) -> None:
    """Nothing fails in the output where there is no GPU, so a `try` would always take its first way."""
    use = "def f(x):\n    return chainer.Variable(xp.arange(3).astype(xp.float32)) + F.relu(x)\n"
    text = "import chainer\nimport chainer.functions as F\n" + before + use
    result = migrate_source(text, options=Options(style="native"))
    assert after in result.code and "import cupy" not in result.code
    assert {site.state for site in result.sites} <= {"exact", "review"}  # review: a GPU is needed to run it
    assert migrate_source(result.code).code == result.code


def test_what_a_failed_import_of_cupy_finds_out_is_asked_of_torch() -> None:
    result = migrate_source(FOUND_OUT, options=Options(style="native"))
    assert "    if torch.cuda.is_available():\n        gpu = True\n    else:\n        gpu = False\n" in result.code


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "if gpu:\n    import cupy as xp\nelse:\n    import numpy as xp\n",
            "if gpu:\n    xp = compat.array_module('cuda')\nelse:\n    xp = compat.array_module('cpu')\n",
        ),
        (
            "import numpy as xp\nif gpu:\n    import cupy as xp\n",
            "xp = compat.array_module('cpu')\nif gpu:\n    xp = compat.array_module('cuda')\n",
        ),
        (
            "try:\n    import cupy as xp\n    xp.zeros(3)\nexcept Exception as e:\n    import numpy as xp\n",
            "try:\n    if not torch.cuda.is_available():\n        raise ImportError('no GPU')\n"
            "    xp = compat.array_module('cuda')\n",
        ),
        (
            "try:\n    import cupy\nexcept ImportError:\n    cupy = None\nxp = cupy or np\n",
            "xp = compat.array_module('cuda' if torch.cuda.is_available() else 'cpu')\n",
        ),
        (
            "try:\n    import cupy as cp\nexcept ImportError:\n    cp = None\nxp = cp if cp is not None else np\n",
            "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n",
        ),
    ],
)
def test_array_modules_that_imports_choose_run_without_cupy(before: str, after: str) -> None:
    use = "x = chainer.links.Linear(3, 2)(xp.random.randn(4, 3).astype(xp.float32))\n"
    text = "import chainer\nimport numpy as np\ngpu = False\n" + before + use
    result = migrate_source(text, options=Options(style="native"))
    assert after in result.code and "import cupy" not in result.code
    assert migrate_source(result.code).code == result.code
    compat = types.ModuleType("chainer_compat")
    exec(compat_file.build(result.helpers, style="native"), compat.__dict__)
    space: dict[str, Any] = {}
    with mock.patch.dict(sys.modules, {"chainer_compat": compat}):
        exec(result.code, space)
    assert space["x"].shape == (4, 2)


@pytest.mark.parametrize(
    "guard",
    [
        "try:\n    import cupy as xp\n    import scipy\nexcept ImportError:\n    import numpy as xp\n",
        "try:\n    import cupy as xp\nexcept ImportError:\n    import numpy as xp\nfinally:\n    print(1)\n",
        "try:\n    import cupy as xp\nexcept OSError:\n    import numpy as xp\n",
    ],
)
def test_what_may_fail_for_another_reason_stays_a_try(guard: str) -> None:
    use = "def f(x):\n    return xp.arange(3) + F.relu(x).array\n"
    result = migrate_source("import chainer.functions as F\n" + guard + use, options=Options(style="native"))
    assert "try:\n    if not torch.cuda.is_available():\n        raise ImportError('no GPU')\n" in result.code
    assert "import cupy" not in result.code and "    xp = compat.array_module('cpu')\n" in result.code


def test_an_array_module_that_two_classes_choose_alike_is_decided_once():
    """Each choice of one class is seen from each of the other: the same edit, found twice."""
    chosen = """
class {}:
    def __init__(self, device):
        if device >= 0:
            self.xp = chainer.cuda.cupy
        else:
            self.xp = np

    def module(self):
        return self.xp

"""
    result = migrate_source(HEAD + chosen.format("A") + chosen.format("B"), options=Options(style="native"))
    assert result.error is None, result.error
    assert "two rules" not in result.code and result.code.count("compat.array_module(") == 4, result.code


def test_chainers_own_cupy_is_never_none() -> None:
    """Without CuPy it is an object; only what a program imports may have been set to None."""
    text = "import chainer\nfrom chainer import cuda\ndef f(x):\n    return 1 if cuda.cupy is None else 2\n"
    assert "is_available" not in migrate_source(text, options=Options(style="native")).code


def test_a_try_goes_on_in_its_other_way_where_the_import_of_cupy_is_dropped() -> None:
    """On a machine without a GPU nothing else in such a `try` need fail: torch.cuda.manual_seed does not."""
    guard = "def pick():\n    try:\n        import cupy\n        cupy.random.seed(3)\n        return 'gpu'\n"
    text = "import chainer\n" + guard + "    except {}:\n        return 'cpu'\n"
    for caught in ("ImportError", "(ImportError, OSError)", "Exception as e"):
        result = migrate_source(text.format(caught), options=Options(style="native"))
        space: dict[str, Any] = {}
        exec(result.code, space)
        assert space["pick"]() == "cpu" or torch.cuda.is_available(), result.code
        assert migrate_source(result.code).code == result.code
    idle = migrate_source("import chainer\ntry:\n    import cupy\nexcept:\n    pass\nx = 1\n")
    assert idle.code.strip() == "x = 1"
    only = "import chainer\ntry:\n    import cupy\nexcept ImportError:\n    print('none')\n"
    result = migrate_source(only, options=Options(style="native"))
    assert "if not torch.cuda.is_available():\n    print('none')\n" in result.code


def test_chainers_own_cupy_is_true_where_there_is_no_gpu() -> None:
    """`cuda.cupy` is an object where CuPy is missing; only a name that an import gives may be None."""
    text = "from chainer import cuda\ndef f():\n    if not cuda.cupy:\n        return 1\n"
    text += "    return 2 if cuda.cupy else 3\n"
    result = migrate_source(text, options=Options(style="native"))
    space: dict[str, Any] = {}
    exec(result.code, space)
    assert space["f"]() == 2, result.code


def test_an_array_module_that_one_branch_chooses_and_another_names_asks_nothing() -> None:
    """`cuda.cupy` becomes an array module wherever it stands: a name that is one or the other has one meaning."""
    before = (
        "import numpy as np\nfrom chainer import cuda\n"
        "if kind == 'one':\n    xp = np if gpu < 0 else cuda.cupy\nelse:\n    xp = cuda.cupy\n"
        "x = xp.asarray(values)\ny = xp.zeros((3, 4))\n"
    )
    result = migrate_source(before, options=Options(style="native"))
    assert "TODO" not in result.code and "    xp = compat.array_module('cuda')\n" in result.code
    assert result.code.endswith("x = xp.asarray(values)\ny = xp.zeros((3, 4))\n")


@pytest.mark.parametrize(
    "line",
    [
        "print(device)",
        "print('Device:', device)",
        "print('Device: {}'.format(device))",
        "print('Device: %s' % device)",
        "print(f'Device: {device}')",
        "print(str(device))",
    ],
)
def test_the_name_of_a_device_that_is_printed_is_a_declared_difference(line):
    text = "import chainer\n\n\ndef main(args):\n    device = chainer.get_device(args.device)\n    "
    result = migrate_source(f"{text}{line}\n")
    assert [site.difference for site in result.sites if site.line == 6] == ["device-text"], result.sites
    assert all(site.difference != "device-text" for site in migrate_source(f"{text}return str(device)\n").sites)


@pytest.mark.parametrize(
    ("call", "drawn"),
    [
        ("uniform(0.25, 0.5, (2, 3), dtype=np.float32)", lambda: np.random.uniform(0.25, 0.5, (2, 3))),
        ("uniform(size=3, dtype='f')", lambda: np.random.uniform(size=3)),
        ("normal(loc=0.25, size=3, dtype=np.float32)", lambda: np.random.normal(0.25, size=3)),
        ("normal(0, 2, size=3, dtype=np.float64)", lambda: np.random.normal(0, 2, 3)),
        ("gumbel(size=3, dtype=np.float32)", lambda: np.random.gumbel(size=3)),
    ],
)
def test_numbers_of_a_stated_dtype_are_numpys(call, drawn):
    """CuPy takes a dtype here, and NumPy does not: such a call runs on a GPU only."""
    source = (
        "import numpy as np\nfrom chainer import cuda\n\n"
        f"def draw(gpu):\n    xp = cuda.cupy if gpu else np\n    return xp.random.{call} if gpu else None\n"
    )
    code = migrate_source(source, options=Options(style="native")).code
    assert "compat." not in code and "dtype=torch.float" in code, code
    made: dict = {}
    exec(compile(code.replace("'cuda'", "'cpu'"), "<migrated>", "exec"), made)
    np.random.seed(0)
    found = made["draw"](1)
    np.random.seed(0)
    np.testing.assert_allclose(found.numpy(), drawn().astype(found.numpy().dtype), rtol=0)
