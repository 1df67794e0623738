"""``L.Classifier`` as a class of the file that makes it, run beside Chainer."""

import pytest

from chainer2torch.engine import Options, migrate_sources
from tests.support.native_programs import HEAD, check, migrated

TRAIN = """
def train(net):
    model = L.Classifier(net{given})
    {first}
    optimizer = optimizers.SGD(0.1)
    optimizer.setup(model)
    seen = []
    for i in range(5):
        x = np.arange(6, dtype='f').reshape(2, 3) / 6 - i / 8
        t = {labels}
        observation = {{}}
        reporter = chainer.Reporter()
        reporter.add_observer('main', model)
        with reporter.scope(observation):
            loss = model(x, t)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        seen += [float(chainer.as_variable(observation[key]).array) for key in sorted(observation)]
        seen += [float(loss.array), {asked}]
    return seen
"""
LABELS = "np.array([i % 2, 1 if i < 3 else -1], dtype='i')"
ALL_IGNORED = "np.array([-1, -1] if i == 2 else [1, i % 2], dtype='i')"
NUMBERS = "x[:, :2] * 2"


def program(given="", labels=LABELS, first="pass", asked="0"):
    return TRAIN.format(given=given, labels=labels, first=first, asked=asked)


@pytest.mark.parametrize(
    ("text", "says", "lacks"),
    [
        (program(), ["y = self.predictor(*args[:-1])"], ["self.y", "compute_accuracy", "lossfun"]),
        (program(labels=ALL_IGNORED), [".clamp(min=1)"], []),
        (program(", lossfun=F.mean_squared_error, accfun=F.mean_absolute_error", NUMBERS), ["self.lossfun(y, t)"], []),
        (program(", F.mean_squared_error", NUMBERS, "model.compute_accuracy = False"), ["compute_accuracy: "], []),
        (program(first="model.compute_accuracy = False"), ["compute_accuracy = True", "'loss': loss.detach()}"], []),
        (program(asked="float(model.loss.array)"), ["self.loss = loss"], ["self.y = "]),
        (program(asked="float(F.sum(model.y).array), float(model.accuracy.array)"), ["self.y = y"], ["self.loss = "]),
    ],
)
def test_it_has_what_its_file_asks_for(text, says, lacks):
    code = check(text.replace("compute_accuracy: ", ""))
    assert "class Classifier(nn.Module):" in code and "compat.Classifier" not in code
    assert all(part.rstrip(": ") in code for part in says), code
    assert not any(part in code for part in lacks), code


def test_a_model_of_one_argument():
    code = check(program().replace("L.Classifier(net)", "L.Classifier(Net())\n    model.predictor = net"))
    assert "def forward(self, x, t):" in code and "y = self.predictor(x)" in code


def test_a_model_of_several_arguments():
    head = HEAD.replace("def __call__(self, x)", "def __call__(self, x, w=2.0)")
    code = check(program().replace("model(x, t)", "model(x, x, t)"), head=head)
    assert "y = self.predictor(*args[:-1])" in code


@pytest.mark.parametrize(
    "text",
    [
        program(", label_key=-1").replace("label_key=-1", "label_key=0"),
        program(", lossfun=globals()['_loss']"),
        program(asked="float(model.accfun(x[:, :2], t).array)"),
        program().replace("def train", "Classifier = None\ndef train"),
        "from lightgbm import *\n" + program(),
        program().replace("def train", "class Mine(L.Classifier):\n    pass\n\ndef train"),
        program().replace("def train", "kinds = [L.Classifier]\ndef train"),
        "import pickle\n" + program(asked="len(pickle.dumps(model))"),
    ],
)
def test_what_looks_into_it_keeps_the_helper(text):
    assert "class Classifier(" not in migrated(text).code


def test_two_files_share_the_helper():
    files = {"one.py": HEAD + program(), "two.py": "import one\n" + HEAD + program()}
    found = migrate_sources(files, options=Options(style="native"))
    assert all("compat.Classifier(" in result.code for result in found.values())
    other = "from net import *\n" + HEAD + program()  # whose classifier is another one
    files = {"one.py": other, "net.py": "class Classifier:\n    pass\n"}
    assert "compat.Classifier(" in migrate_sources(files, options=Options(style="native"))["one.py"].code
    files["net.py"] = "class Net:\n    pass\n"
    assert "class Classifier(" in migrate_sources(files, options=Options(style="native"))["one.py"].code
    alone = migrate_sources({**files, "two.py": "import one\n"}, options=Options(style="native"))
    assert "class Classifier(" in alone["one.py"].code


def test_programs_that_do_not_meet_have_one_each():
    """A class that says what is saved of it makes all files one part of the analysis, and still no one run."""
    saves = "class Kept:\n    def serialize(self, serializer):\n        pass\n"
    files = {"one.py": HEAD + program(), "two.py": HEAD + program(", F.mean_squared_error"), "three.py": saves}
    found = migrate_sources(files, options=Options(style="native"))
    assert ["class Classifier(" in found[path].code for path in files] == [True, True, False]
    assert "lossfun" in found["two.py"].code and "lossfun" not in found["one.py"].code
