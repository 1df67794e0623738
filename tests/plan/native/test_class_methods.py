"""``cls(...)`` in a class method of a base makes one of the class by which the method is called."""

from tests.support.native_programs import both

PROGRAM = """
class Base(chainer.Chain):
    size = 3

    @classmethod
    def make(cls, **options):
        return cls(cls.size, **options)

    @classmethod
    def again(cls, n=1):
        model = cls.make(n_out=n)
        model.again_made = True
        return model


class Deep(Base):
    def __init__(self, n_in, n_out=2):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(n_in, 4)
            self.b = L.Linear(4, n_out)

    def forward(self, x):
        return self.b(F.relu(self.a(x)))


class Flat(Base):
    size = 5

    def __init__(self, n_in, n_out=2):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(n_in, n_out)


def run():
    x = np.ones((2, 3), 'f')
    deep, flat = Deep.make(), Flat.again(3)
    y = deep.b(F.relu(deep.a(x)))  # arrays of NumPy go to layers that are known
    z = flat.l(np.ones((2, 5), 'f'))
    return y.shape, z.shape, flat.again_made, Deep.again().b(deep.a(x)).shape, type(flat).__name__
"""


def test_layers_of_what_a_class_method_makes_are_known() -> None:
    theirs, ours, code = both(PROGRAM)
    assert ours["run"]() == theirs["run"](), code
    assert code.count("torch.as_tensor(") >= 2, code
