"""``self.model.train = False`` of version 1, on what nobody knows but that is called as a model."""

from tests.support.native_snippets import migrated

PROGRAM = """
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__(fc=L.Linear(3, 2))
        self.train = True

    def __call__(self, x):
        return F.dropout(self.fc(x), train=self.train)


class Data(object):
    def __init__(self, train):
        self.train = train
    MORE


class Trainer(object):
    def __init__(self, model, data):
        self.model, self.data = model, data

    def train(self, x):
        return self.model(x)

    def evaluate(self, x):
        self.model.train = False
        y = USE
        self.model.train = True
        return y


def main(name):
    return Trainer(globals()[name](), Data(True))
"""


def code(use: str, more: str = "") -> str:
    return migrated(PROGRAM.replace("USE", use).replace("MORE", more)).code


def test_what_is_called_as_a_model_is_one_whose_attribute_has_another_name() -> None:
    text = code("self.model(x)")
    assert "self.model.train_ = False" in text and "self.model.train_ = True" in text and "C2T202" not in text, text


def test_what_is_not_called_or_may_be_something_else_is_asked_for() -> None:
    other = "def __call__(self, i):\n        return i"
    for text in (code("self.data"), code("self.model(x)", other)):
        assert "self.model.train = False" in text and "C2T202" in text, text
