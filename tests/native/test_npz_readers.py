"""Files of weights that a program opens with NumPy and hands to Chainer's reader."""

import chainer
import numpy as np
import pytest
import torch
from tests.support.native_programs import HEAD, both, check

PROGRAM = """
def save(file, model):
    serializers.save_npz(file, model)


def load(file, model, strict=False):
    with np.load(file) as f:
        {body}
    return model
"""
TWO = "d = serializers.NpzDeserializer(f, strict=strict)\n        d.load(model)"
ONE = "serializers.NpzDeserializer(f, strict=strict).load(model)"
NONE = "serializers.NpzDeserializer(f).load(model)"


@pytest.mark.parametrize("body", [TWO, ONE, NONE])
def test_a_reader_loads_what_was_saved(tmp_path, body: str) -> None:
    theirs, ours, code = both(PROGRAM.replace("{body}", body))
    assert "with np.load" not in code and "NpzDeserializer" not in code and "compat.NpzDeserializer" not in code
    for names in (theirs, ours):
        file = str(tmp_path / names["__name__"]) + ".npz"
        saved, loaded = names["Net"](), names["Net"]()
        names["save"](file, saved)
        assert names["load"](file, loaded) is loaded
        before, after = ((m.l1.weight if isinstance(m, torch.nn.Module) else m.l1.W.array) for m in (saved, loaded))
        assert bool((before == after).all())


@pytest.mark.parametrize("strict", [True, False])
def test_what_a_file_lacks(tmp_path, strict: bool) -> None:
    """Strict readers refuse, others leave the value as it is."""
    theirs, ours, _ = both(PROGRAM.replace("{body}", TWO))
    part = chainer.Chain(l1=theirs["Net"]().l1)
    chainer.serializers.save_npz(tmp_path / "part.npz", part)
    model = ours["Net"]()
    torch.save({k: v for k, v in model.state_dict().items() if k.startswith("l1")}, tmp_path / "part.pt")
    other, link = ours["Net"](), theirs["Net"]()
    kept = other.l2.weight.clone()
    for load, file, to in ((theirs["load"], "part.npz", link), (ours["load"], "part.pt", other)):
        if strict:
            with pytest.raises((KeyError, RuntimeError)):
                load(str(tmp_path / file), to, True)
        else:
            load(str(tmp_path / file), to)
    if not strict:
        assert torch.equal(other.l1.weight, model.l1.weight) and torch.equal(other.l2.weight, kept)
        np.testing.assert_array_equal(link.l1.W.array, part.l1.W.array)


PART = """
def train(model):
    import os
    import tempfile

    file = os.path.join(tempfile.mkdtemp(), 'model.npz')
    serializers.save_npz(file, model)
    other, again = Net(), Net()
    try:
        serializers.load_npz(file, other.l1)
    except KeyError:
        with np.load(file) as f:
            reader = serializers.NpzDeserializer(f, path='l1/')
            reader.load(other.l1)
    try:
        serializers.load_npz(file, again)
    except KeyError:
        print('a part')
    return [float(F.sum(p).array) for p in (other.l1.W, other.l1.b, again.l1.W, again.l2.W)]
"""


def test_a_part_is_read_where_the_whole_is_refused() -> None:
    code = check(PART)
    assert "other.l1.load_state_dict(compat.state_part(file, 'l1/'))" in code
    assert "compat.load_except(file, again, ())" in code and "np.load" not in code


@pytest.mark.parametrize(
    "body",
    [
        "d = serializers.NpzDeserializer(f, path='l1/', strict=strict)\n        d.load(model.l1)",
        "d = serializers.NpzDeserializer(f)\n        print(f.files)\n        d.load(model)",
        "d = serializers.NpzDeserializer(f)\n        d.load(model)\n    print(d)",
    ],
)
def test_what_does_more_stays(body: str) -> None:
    _, _, code = both(PROGRAM.replace("{body}", body), head=HEAD)
    assert "with np.load" in code and "compat.NpzDeserializer" in code
