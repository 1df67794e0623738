"""What is written only by the way: keys of dictionaries, items of ``map(str, ...)``, NumPy's numbers in parameters."""

import pytest

from tests.generated import judge, printed_judge, values

_SAME = {
    "a shape in a display": (
        "print({model(xs).shape: 1}, {s.shape: 1 for s in [model(xs)]}, {s.shape for s in [model(xs)]})"
    ),
    "a shape that is stored": (
        "d = {}\nd[model(xs).shape] = 'a'\nprint(d)\nc = collections.Counter()\nc[model(xs).shape] += 1\nprint(c)"
    ),
    "a shape that is added": (
        "seen = set()\nseen.add(model(xs).shape)\nprint(seen)\nd = {}\nd.setdefault(model(xs).shape, 1)\nprint(d)"
    ),
    "a shape of a defaultdict": "d = collections.defaultdict(list)\nd[model(xs).shape].append(1)\nprint(list(d))",
    "a shape in a tuple": "d = {}\nd['a', model(xs).shape] = 1\nprint(d)",
    "mapped texts": (
        "def log(*parts):\n    print(' '.join(map(str, parts)))\nlog('loss', loss.data)\n"
        "log('x', model(xs).array)\nlog(1)"
    ),
    "mapped arrays": "print(' '.join(map(str, [loss.data, loss.data])), ','.join(map(repr, model(xs).array[0])))",
    "numbers of NumPy's": "model.fc.b.array[0] = np.float32(0.5)\nn = np.int64(2)\nmodel.fc.b.array[1] = n\n"
    "for p in model.params():\n    p.data[0] = np.float32(2)\nprint(model.fc.b.array, model.fc.W.array)",
    "out of a dictionary of its own": "print(vars(Box(loss.data))['value'], Box(loss.data).__dict__['value'])",
}


@pytest.mark.parametrize("style", ["native", "faithful"])
@pytest.mark.parametrize("name", _SAME)
def test_it_looks_as_it_did(name, style):
    text = values.HEAD + "".join(f"    {line}\n" for line in _SAME[name].split("\n"))
    verdict, detail, both = printed_judge.judged(text, style)
    assert verdict == judge.SAME, f"{detail}\n{both}"


def test_the_class_of_an_array_is_marked_where_its_name_is_asked():
    text = values.HEAD + "    print(type(model(xs).array).__name__, type(xs).__name__)\n"
    assert printed_judge.judged(text)[0] == judge.MARKED
