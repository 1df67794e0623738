"""``chain.__getitem__(name)``, which says what ``chain[name]`` does."""

import pytest

from tests.support import native_programs

SOURCE = """
class Net(chainer.Chain):
    def __init__(self, sizes=(3, 5, 4, 2)):
        super().__init__()
        self.count = len(sizes) - 1
        for i in range(self.count):
            self.add_link('link{}'.format(i), L.Linear(sizes[i], sizes[i + 1]))

    def __call__(self, x):
        for i in range(self.count - 1):
            x = F.relu(ITEM(x))
        i = self.count - 1
        return ITEM(x)


def train(model):
    optimizer = optimizers.SGD(0.1)
    optimizer.setup(model)
    x = np.arange(6, dtype='f').reshape(2, 3) / 5
    found = []
    for i in range(3):
        model.cleargrads()
        loss = F.sum(model(x) ** 2)
        loss.backward()
        optimizer.update()
        found.append(float(loss.array))
    return [*found, float(abs(model.__getitem__('link0').W.array).sum())]
"""


@pytest.mark.parametrize("item", ["self.__getitem__('link{}'.format(i))", "self['link{}'.format(i)]"])
def test_a_child_by_its_name(item):
    code = native_programs.check(SOURCE.replace("ITEM", item), head=native_programs.HEAD.split("class ")[0])
    assert "getattr(self, 'link{}'.format(i))" in code and "getattr(model, 'link0').weight" in code
    assert "__getitem__" not in code and "TODO" not in code


@pytest.mark.parametrize("asked", ["model.__getitem__('0')", "model['0']"])
def test_a_class_that_has_the_method_keeps_its_calls(asked):
    own = "    def __getitem__(self, name):\n        return super().__getitem__('link' + name)\n\n    def __call__"
    source = SOURCE.replace("    def __call__", own).replace("ITEM", "self.__getitem__(str(i))")
    source = source.replace("model.__getitem__('link0')", asked)
    code = native_programs.check(source, head=native_programs.HEAD.split("class ")[0])
    assert "self.__getitem__(str(i))" in code and asked in code
