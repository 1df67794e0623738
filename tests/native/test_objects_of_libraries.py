"""Objects that a library of NumPy's made get arrays of NumPy's, whatever their methods are called."""

import sys
import textwrap
import types

import pytest
import torch

from tests.generated import judge, printed_judge, values


class Thing:
    """Any object of such a library: it takes everything but tensors, and gives others of its kind."""

    def __init__(self, *args, **keywords):
        for value in (*args, *keywords.values()):
            _refuse_tensors(value)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Thing()

    def __call__(self, *args, **keywords):
        return Thing(*args, **keywords)

    def __getitem__(self, key):
        return Thing()

    def __setitem__(self, key, value):
        _refuse_tensors(value)

    def __iter__(self):
        return iter([Thing(), Thing()])

    def __enter__(self):
        return self

    def __exit__(self, *args):
        return False


def _refuse_tensors(value):
    if isinstance(value, torch.Tensor):
        raise TypeError("a tensor reaches the library")
    if isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            _refuse_tensors(item)


@pytest.fixture(autouse=True)
def _libraries(monkeypatch):
    for name in ("cv2", "gym", "h5py", "pandas", "sklearn", "sklearn.decomposition"):
        module = types.ModuleType(name)
        module.__getattr__ = lambda attribute: Thing()
        module.__path__ = []
        monkeypatch.setitem(sys.modules, name, module)


USES = [
    "from sklearn.decomposition import PCA\nprint(PCA(2).fit_transform(y) is None)\np = PCA(2)\np.fit(model(xs).array)",
    "import gym\nenv = gym.make('x')\nenv.step(y[0])\na, b = env.step(y.argmax(axis=1)[0])",
    "import h5py\nwith h5py.File('x', 'w') as f:\n    f['x'] = y\n    f['y'][...] = y\n"
    "    f.create_dataset('z', data=y)",
    "import cv2\nclass Video(object):\n    def __init__(self):\n        self.out = cv2.VideoWriter('x', 30)\n"
    "    def put(self, frame):\n        self.out.write(frame)\nVideo().put(y)",
    "import pandas\ntable = pandas.DataFrame({'t': ts})\ntable['p'] = y[:, 0]\ntable.insert(0, 'k', y.argmax(axis=1))",
    "import pandas\nrows = []\nfor i in range(2):\n    rows.append({'loss': loss.data, 'mean': y.mean()})\n"
    "pandas.DataFrame(rows)",
]


@pytest.mark.parametrize("use", USES)
def test_they_get_arrays_of_the_host(use):
    body = f"y = F.softmax(model(xs)).array\n{use}\nprint('end')\n"
    verdict, detail, text = printed_judge.judged(values.HEAD + textwrap.indent(body, "    "))
    assert verdict == judge.SAME, f"{detail}\n{text}"
