"""A model that one branch makes and another reads from a file of pickle: the file holds such a model."""

from chainer2torch.engine import Options, migrate_source
from tests.support.native_programs import both

PROGRAM = """
import pickle


def trained(path=None, x=np.ones((2, 3), 'f')):
    if path is None:
        model = chainer.Chain(l1=L.Linear(3, 4), l2=L.Linear(4, 2))
        for p in model.params():
            p.array[...] = 0.5
    else:
        with open(path, 'rb') as f:
            model = pickle.load(f)

    def forward(batch):
        return model.l2(F.tanh(model.l1(chainer.Variable(batch))))

    y = forward(x)
    model.cleargrads()
    F.sum(y).backward()
    model.to_cpu()
    return float(F.sum(y).array), float(model.l1.W.array.sum()), model


def run(path):
    first, weight, model = trained()
    with open(path, 'wb') as f:
        pickle.dump(model, f)
    again, kept, _ = trained(path)
    images, _, _ = trained(path, np.ones((2, 1, 3), 'f'))
    return first, weight, again, kept, images
"""


def test_it_is_one_of_the_same_class(tmp_path):
    theirs, ours, code = both(PROGRAM)
    found = ours["run"](tmp_path / "ours.pkl")
    assert found == theirs["run"](tmp_path / "theirs.pkl")
    assert found[0] == found[2] == found[4]
    assert "compat." not in code, code
    assert "model.cpu()" in code and "nn.ModuleDict(dict(l1=" in code


def test_what_is_read_alone_stays_unknown():
    text = "import pickle\nimport chainer\nmodel = pickle.load(open('a', 'rb'))\nmodel.to_cpu()\n"
    beside = "import pickle\nimport chainer\nx = chainer.Variable(a) if a else pickle.load(f)\nx.to_cpu()\n"
    for code in (text, beside):
        assert "compat.to_cpu_of(" in migrate_source(code, options=Options(style="native")).code


def test_an_optimizer_that_is_read_is_set_up():
    """It holds the parameters of the model that was read with it, and no others."""
    text = (
        "import pickle\nimport chainer\nimport chainer.links as L\nmodel = L.Linear(3, 2)\n"
        "if a:\n    optimizer = pickle.load(f)\nelse:\n    optimizer = chainer.optimizers.Adam()\n"
        "optimizer.setup(model)\noptimizer.update()\n"
    )
    code = migrate_source(text, options=Options(style="native")).code
    assert "setup(model)" in code or "set_up(optimizer, model)" in code, code
