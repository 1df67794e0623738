"""Models found in registries that classes fill themselves get tensors, as those that are made by name do."""

import pytest

from tests.generated import judge, printed_judge, values

MODEL = """
DECORATOR
class Mlp(BASE):
    def __init__(self, n):
        super(Mlp, self).__init__()
        with self.init_scope():
            self.fc = L.Linear(3, n)

    def __call__(self, x):
        return F.relu(self.fc(x))


"""
HEARD = """
REG = {}


class Base(chainer.Chain):
    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        REG[cls.__name__] = cls
"""
LISTED = """
class Plugin(object):
    plugins = []

    def __init_subclass__(cls):
        cls.plugins.append(cls)
"""
DICTIONARY = """
class Registry(dict):
    def register(self, cls):
        self[cls.__name__] = cls
        return cls


REG = Registry()
"""
OBJECT = """
class Registry(object):
    def __init__(self):
        self.models = {}

    def __call__(self, cls):
        self.models[cls.__name__] = cls
        return cls

    def build(self, name, *args):
        return self.models[name](*args)


register = Registry()
"""
BASE = """
class Base(chainer.Chain):
    registry = {}

    @classmethod
    def register(cls, sub):
        cls.registry[sub.__name__] = sub
        return sub
"""
# what fills it, the decorator and the base of the class, and how a model is made
REGISTRIES = [
    (HEARD, "", "Base", "REG['Mlp'](2)"),
    (HEARD, "", "Base", "Base.__subclasses__()[0](2)"),
    (LISTED, "", "Plugin, chainer.Chain", "Plugin.plugins[0](2)"),
    (DICTIONARY, "@REG.register", "chainer.Chain", "REG['Mlp'](2)"),
    (OBJECT, "@register", "chainer.Chain", "register.build('Mlp', 2)"),
    (BASE, "@Base.register", "Base", "Base.registry['Mlp'](2)"),
]


@pytest.mark.parametrize("registry, decorator, base, made", REGISTRIES)
def test_their_inputs_are_tensors(registry, decorator, base, made):
    model = MODEL.replace("DECORATOR\n", f"{decorator}\n" if decorator else "").replace("BASE", base)
    head = values.HEAD.replace("def train():", f"{registry}{model}def train():")
    body = f"    m = {made}\n    print(m(xs).shape)\n    print(F.sum(m(np.ones((2, 3), 'f'))).shape)\n"
    verdict, detail, text = printed_judge.judged(head + body)
    assert verdict == judge.SAME, f"{detail}\n{text}"
