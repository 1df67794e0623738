"""Functions of array modules of values that nobody knows: torch's own calls, run beside Chainer."""

import numpy as np
import pytest
import torch

from tests.support.native_snippets import migrated, run

PROGRAM = """
def run(xs):
    x = chainer.Variable(xs[0])
    xp = chainer.backend.get_array_module(x)
    held = {{'array': np.arange(6.0).reshape(2, 3), 'int': 3, 'ints': [1, 2], 'arrays': [np.ones(2), np.zeros(2)],
             'device': xp.zeros((2, 3)), 'float': 0.1, 'floats': [0.1, 0.2], 'tensors': [x.array, x.array]}}
    y = vars()['held']['{name}']
    return {use},
"""
SAME = ("array", "int", "ints", "arrays", "device")


@pytest.mark.parametrize("use", ["xp.asarray(y)", "xp.array(y)", "xp.sum(y)", "xp.zeros_like(y)", "xp.isnan(y)"])
def test_arrays_of_what_nobody_knows_are_those_of_numpy(use: str) -> None:
    for name in SAME:
        theirs, ours, code = run(PROGRAM.format(name=name, use=use))
        a, b = np.asarray(theirs[0]), np.asarray(ours[0])
        np.testing.assert_allclose(b, a, rtol=1e-6)
        assert a.dtype == b.dtype, (name, use)
        assert "compat." not in code


def test_floats_of_python_are_a_declared_difference_and_tensors_with_axes_raise() -> None:
    for name in ("float", "floats"):
        theirs, ours, _ = run(PROGRAM.format(name=name, use="xp.asarray(y)"))
        assert ours[0].dtype == torch.float32 and theirs[0].dtype == np.float64
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-6)
    with pytest.raises(ValueError, match="only one element"):
        run(PROGRAM.format(name="tensors", use="xp.asarray(y)"))
    sites = migrated(PROGRAM.format(name="float", use="xp.asarray(y)")).sites
    assert [site.difference for site in sites if site.symbol == "xp.Module.asarray"] == ["default-dtype"]
    sites = migrated(PROGRAM.format(name="float", use="xp.isnan(y)")).sites
    assert not any(site.difference for site in sites), "what is asked has no dtype of its own"


@pytest.mark.parametrize(
    ("use", "new"),
    [
        ("xp.exp(x.array)", "torch.exp(x.detach())"),
        ("xp.exp(xp.arange(3))", "torch.exp(torch.arange(3, device=device).double())"),
        ("xp.concatenate([x.array, xs[1]])", "compat.same_dtype("),
        ("xp.maximum(x.array, 2 * x.array)", "torch.maximum(x.detach(), 2 * x.detach())"),
        ("xp.maximum(x.array[0], xp.arange(2))", "compat.same_dtype("),
        ("xp.array([[0.5, v] for v in xs[0][0].tolist()])", "torch.as_tensor(np.asarray([[0.5, v] for"),
        ("xp.array(0.5), xp.array(2), xp.array(True)", "torch.tensor(0.5, dtype=torch.float64, device=device)"),
    ],
)
def test_what_is_known_decides(use: str, new: str) -> None:
    program = PROGRAM.format(name="array", use=use)
    theirs, ours, code = run(program)
    assert new in code.replace("x.device", "device"), code
    for a, b in zip(theirs, ours, strict=True):
        for one, other in zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)]:
            np.testing.assert_allclose(np.asarray(other), np.asarray(one), rtol=1e-6)
            assert np.asarray(one).dtype == np.asarray(other).dtype


LINKS = """
def run(xs):
    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.l = chainer.links.Linear(3, 2)
    held = [Net(), chainer.Variable(xs[0])]
    model, x = held.copy()
    return use(model, x)

def use(model, x):
    xp = model.xp
    model.predictor = 1
    return xp.zeros(3), x.xp.ones(3) * x.xp.sum(x.grad is None)
"""


def test_what_has_members_of_its_own_beside_its_array_module_is_a_link() -> None:
    _, ours, code = run(LINKS)
    assert "device = next(model.parameters()).device" in code and "device=compat.device_of(x)" in code
    assert isinstance(ours[0], (np.ndarray, torch.Tensor))


CONVERTER = """
def convert(batch, device):
    xp = {module}(*batch)
    joined = xp.concatenate(batch, axis=0)
    ends = np.cumsum([len(x) for x in batch[:-1]])
    moved = chainer.dataset.to_device(device, joined)
    return chainer.backend.get_array_module(moved).split(moved, ends){more}

def run(xs):
    arrays = [np.asarray(x) for x in xs]
    return convert(arrays, -1), convert([x.astype('i') for x in arrays], -1)
"""


@pytest.mark.parametrize("module", ["chainer.cuda.get_array_module", "chainer.cuda.cupy.get_array_module"])
def test_sequences_that_a_converter_joins_and_moves_need_no_array_module(module: str) -> None:
    program = CONVERTER.format(module=module, more="")
    code = migrated(program).code
    unseen = program.partition("def run")[0]
    assert "joined = torch.cat([torch.as_tensor(array) for array in batch])" in migrated(unseen).code
    assert "array_module" not in migrated(unseen).code and "xp = np\n" in code
    theirs, ours, _ = run(program.replace("cuda.cupy", "cuda"))
    for a, b in zip(theirs, ours, strict=True):
        for one, other in zip(a, b, strict=True):
            np.testing.assert_array_equal(np.asarray(other), one)
            assert np.asarray(other).dtype == one.dtype
    made = migrated(unseen.replace("concatenate(batch, axis=0)", "array(batch)")).code
    assert "joined = torch.tensor(batch, device='cpu')" in made and "array_module" not in made
    kept = migrated(CONVERTER.format(module=module, more=", joined").partition("def run")[0])
    assert "array_module" in kept.code, "what is given back has to be an array of the host, where the batch is one"


ASKED = """
def to_host(array):
    if chainer.cuda.get_array_module(array) is not np:
        return chainer.cuda.to_cpu(array)
    return array

def run(xs):
    return to_host(np.asarray(xs[0])), to_host(*[np.asarray(x) for x in xs[1:2]])
"""


def test_what_is_only_asked_for_its_place_needs_no_array_module() -> None:
    unseen = ASKED.partition("def run")[0]
    assert "if compat.device_of(array).type != 'cpu':" in migrated(unseen).code
    theirs, ours, _ = run(ASKED)
    for a, b in zip(theirs, ours, strict=True):
        assert type(a) is type(b) is np.ndarray and (a == b).all()


OWN = """
class Rows:
    def __init__(self, rows):
        self.rows = rows
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, i):
        return self.rows[i]

def run(xs):
    x = chainer.Variable(xs[0])
    xp = chainer.backend.get_array_module(x)
    return xp.asarray(Rows([np.ones(2), np.zeros(2)])), xp.array(Rows([0.5, 1.0]))
"""


def test_a_sequence_of_the_programs_own_is_an_array_of_numpy_first() -> None:
    theirs, ours, code = run(OWN)
    assert "torch.as_tensor(np.asarray(Rows([np.ones(2), np.zeros(2)])), device=device)" in code
    assert "torch.as_tensor(np.asarray(Rows([0.5, 1.0])), device=device).clone()" in code
    for a, b in zip(theirs, ours, strict=True):
        assert np.asarray(b).dtype == a.dtype and (np.asarray(b) == a).all()


USED = """
def scaled(h, n):
    xp = chainer.backend.get_array_module(h)
    scale = F.softplus(h[..., n:])
    return xp.ones(scale.shape, dtype='f'), scale

def first(hs):
    return chainer.backend.get_array_module(hs[0]).ones(3), F.relu(hs[0])

def run(xs):
    x = chainer.Variable(xs[0])
    return scaled(vars()['x'], 1)
"""


def test_a_parameter_whose_parts_meet_functions_is_a_tensor() -> None:
    theirs, ours, code = run(USED)
    assert "torch.ones(scale.shape, dtype=torch.float32, device=h.device)" in code
    assert "compat.array_module(hs[0])" in code, "it may be a list"
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(b.numpy(), getattr(a, "array", a), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "items"),
    [
        ("xp.hstack({})", "h.array for h in hs"),
        ("xp.vstack({})", "xp.array([n, 1]) for n in range(2)"),
        ("xp.stack({}, axis=1)", "h.array for h in hs"),
        ("xp.vstack(map({}))", "lambda h: h.array, hs"),
        ("xp.hstack({})", "xp.ones(2, 'f') for h in hs"),
    ],
)
def test_arrays_that_a_generator_gives_are_a_tuple_for_torch(call: str, items: str) -> None:
    """CuPy, and NumPy of Chainer's years, take generators; the NumPy here takes none, and is shown the list of them."""
    text = """
def run(xs):
    hs = [F.relu(chainer.Variable(x)) for x in xs[:2]]
    xp = chainer.backend.get_array_module(hs[0].array)
    return {}
"""
    shown = call.replace("map({})", "list(map({}))").replace("({},", "([{}],").replace("stack({})", "stack([{}])")
    theirs, _, _ = run(text.format(shown.format(items)))
    generator = call.format(items) if "axis" not in call else call.format(f"({items})")
    code = migrated(text.format(generator)).code
    ours: dict = {}
    exec(compile(code, "<migrated>", "exec"), ours)
    rng = np.random.RandomState(0)
    found = ours["run"]([torch.from_numpy(rng.randn(1, 2).astype("f")) for _ in range(4)])
    np.testing.assert_array_equal(found.numpy(), theirs)
    assert "stack(tuple(" in code
