"""``verify all``: rules, models and scripts of a project in one go; one outcome, one page."""

import json
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from chainer2torch.cli.app import cli
from chainer2torch.port import whole
from chainer2torch.report.verification import Check, read
from tests.support import model_batch

NET = """
import chainer
import chainer.functions as F
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(784, 10)

    def forward(self, x):
        return F.tanh(self.fc(x))


class Never(chainer.Chain):
    def __init__(self):
        super().__init__()
        raise NotImplementedError('not yet')

    def forward(self, x):
        return x
"""
TRAIN = """
import argparse
import chainer
import chainer.links as L
from net import Net


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epoch', type=int, default=20)
    args = parser.parse_args()
    train, _ = chainer.datasets.get_mnist()
    iterator = chainer.iterators.SerialIterator(train, 50)
    model = L.Classifier(Net())
    optimizer = chainer.optimizers.SGD(0.1)
    optimizer.setup(model)
    while iterator.epoch < args.epoch:
        x, t = chainer.dataset.concat_examples(iterator.next())
        optimizer.update(model, x, t)


if __name__ == '__main__':
    main()
"""
NO_DATA = "import chainer\n\nif __name__ == '__main__':\n    open('no_such_file')\n    chainer.optimizers.SGD()\n"


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    root = tmp_path_factory.mktemp("whole")
    (root / "src").mkdir()
    for name, text in (("net.py", NET), ("train.py", TRAIN), ("show.py", NO_DATA)):
        (root / "src" / name).write_text(text)
    model_batch.migrated_tree(root / "src", root / "out")
    return root


def _all(root, *options):
    arguments = ["verify", "all", str(root / "src"), str(root / "out"), "--timeout", "200", *options]
    result = CliRunner().invoke(cli, arguments, standalone_mode=False)
    assert result.exception is None, result.exception
    return result.return_value, result.stdout


def test_one_call_compares_all_and_says_it_in_three_formats(trees, tmp_path):
    files = [tmp_path / name for name in ("all.html", "all.xml", "all.json")]
    status, text = _all(trees, "--page", str(files[0]), "--junit", str(files[1]), "--report", str(files[2]))
    lines = text.splitlines()
    assert status == 0, text
    assert lines[0].startswith("rules    ") and "differ" not in lines[0]
    assert lines[1] == "models   1 of 2 proved, 1 not verified"
    assert lines[2] == "scripts  1 of 2 proved, 1 not verified"
    assert any(line.startswith("not verified net:Never: ") and "not yet" in line for line in lines)
    assert any(
        line.startswith("not verified show.py: ") and line.endswith("no_such_file' (show.py:4)") for line in lines
    )
    assert lines[-1] == "50% of the classes and scripts are proved"
    page = files[0].read_text()
    assert "net:Net" in page and "train.py --epoch 1" in page and "50% of the classes and scripts" in page
    document = json.loads(files[2].read_text())
    assert document["ok"] and document["share"] == 50.0
    assert {check["part"] for check in document["checks"]} == {"rules", "models", "scripts"}
    assert {"net:Net", "show.py"} <= {check.name for check in read(files[2])}
    suites = {suite.get("name").split()[-1]: suite for suite in ElementTree.parse(files[1]).getroot()}
    assert suites["scripts"].get("tests") == "2" and suites["scripts"].get("skipped") == "1"


def test_a_difference_and_a_share_end_it_with_one(trees):
    port = trees / "out" / "net.py"
    good = port.read_text()
    try:
        assert _all(trees, "--no-scripts", "--at-least", "60")[0] == 1
        port.write_text(good.replace("torch.tanh", "torch.sigmoid"))
        status, text = _all(trees, "--run", "train.py --epoch 1", "--iterations", "2")
    finally:
        port.write_text(good)
    assert status == 1
    assert "DIFFERENT    net:Net: " in text and "DIFFERENT    train.py --epoch 1: " in text, text


def test_what_is_not_reached_is_named():
    clock = whole.Clock(0.0)
    part = whole._scripts(None, None, [whole.Script("a.py"), whole.Script("b.py")], 1, clock, {}, print)
    assert [check.status for check in part.checks] == ["not verified"] * 2
    assert part.checks[1].message == "not reached: its time was up (--budget)"


def test_an_interrupt_keeps_what_is_there(monkeypatch, tmp_path):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("chainer2torch.verify.verify_models", interrupted)
    monkeypatch.setattr(whole, "_rules", lambda *args: whole.Part(whole.RULES, (Check("F.relu", 1, 0, 0),)))
    result = whole.verify_all(tmp_path, tmp_path, [], None, [])
    assert [part.line() for part in result.parts] == ["1 of 1 proved"] + ["0 of 1 proved, 1 not verified"] * 2
    assert "not reached: interrupted" in "\n".join(result.lines()) and result.share == 0
