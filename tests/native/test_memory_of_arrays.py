"""``x.data`` of an array of NumPy is its memory; what it becomes is a tensor."""

import pytest

from tests.support.native_snippets import migrated

BODIES = {
    "    return np.argwhere(seq.data == 1)": True,
    "    values = seq.data\n    return values": True,
    "    return seq.data if isinstance(seq, chainer.Variable) else seq": False,
    "    if hasattr(seq, 'data'):\n        seq = seq.data\n    return seq": False,
    "    return len(seq.data), seq.data.shape": False,
}


@pytest.mark.parametrize("body", BODIES)
def test_a_person_is_asked(body):
    result = migrated(f"def f(seq):\n{body}\n\n\ndef run(xs):\n    return f(chainer.Variable(xs[0]).data)\n")
    asked = [site for site in result.sites if site.symbol == "numpy.ndarray.data"]
    assert bool(asked) == BODIES[body] and all(site.state == "review" for site in asked), result.code
    assert "argwhere" not in body or ".cpu().numpy()" in result.code
