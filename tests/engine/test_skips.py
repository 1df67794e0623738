"""``# chainer2torch: skip`` on a line, a statement, a block, a file."""

import pytest

from chainer2torch import migrate_source
from chainer2torch.engine import migrate_sources

HEAD = "import chainer\nimport chainer.functions as F\nimport chainer.links as L\n\n\n"


def migrated(body, head=HEAD):
    result = migrate_source(head + body, "m.py")
    assert result.error is None
    compile(result.code, "m.py", "exec")
    again = migrate_source(result.code, "m.py")
    assert again.code == result.code, "twice is once"
    return result


def states(result):
    return [(site.state, site.code) for site in result.sites]


LEAKY = "F.leaky_relu(x)"
DONE = "negative_slope=0.2"


@pytest.mark.parametrize(
    "body, kept, done",
    [
        (f"def f(x):\n    y = {LEAKY}  # chainer2torch: skip\n    return {LEAKY}\n", 1, 1),
        (
            f"def f(x):  # chainer2torch: skip\n    y = {LEAKY}\n    return {LEAKY}\n\ndef g(x):\n    return {LEAKY}\n",
            2,
            1,
        ),
        (f"def f(x):\n    # chainer2torch: skip\n    y = {LEAKY}\n    return {LEAKY}\n", 1, 1),
        (f"# chainer2torch: skip\n@str\ndef f(x):\n    y = {LEAKY}\n    return {LEAKY}\n", 2, 0),
        (
            f"def f(x):\n    # chainer2torch: skip-start\n    y = {LEAKY}\n    z = {LEAKY}\n    # chainer2torch: skip-end\n"  # noqa: E501
            f"    return {LEAKY}\n",
            2,
            1,
        ),
        (f"def f(x):\n    y = {LEAKY}\n    # chainer2torch: skip-start\n    return {LEAKY}\n", 1, 1),
        (f"# chainer2torch: skip-file\ndef f(x):\n    y = {LEAKY}\n    return {LEAKY}\n", 2, 0),
        (
            f"def f(x):\n    y = g(\n        {LEAKY},\n        x,  # chainer2torch: skip\n    )\n    return {LEAKY}\n",
            1,
            1,
        ),
        (f"def f(x):\n    s = '# chainer2torch: skip-file'\n    return {LEAKY}\n", 0, 1),
        (
            f"class A:  # chainer2torch: skip\n    def f(self, x):\n        return {LEAKY}\n\ndef g(x):\n    return {LEAKY}\n",  # noqa: E501
            1,
            1,
        ),
        (
            f"def f(x):\n    if x:  #  chainer2torch:  skip - it is old\n        return {LEAKY}\n    return {LEAKY}\n",
            1,
            1,
        ),
    ],
)
def test_what_is_skipped(body, kept, done):
    result = migrated(body)
    assert states(result).count(("manual", "C2T012")) == kept
    assert len(result.sites) == kept + done and result.code.count(DONE) == done
    assert result.left >= kept, "what is skipped still needs Chainer, and is counted"
    assert "TODO" not in result.code
    assert ("import chainer.functions as" in result.code) == bool(kept)


def test_a_skipped_file_is_untouched():
    text = HEAD + "# chainer2torch: skip-file\nclass N(chainer.Chain):\n    def __call__(self, x):\n"
    text += f"        return {LEAKY}\n"
    result = migrate_source(text, "m.py")
    assert result.code == text and {site.code for site in result.sites} == {"C2T012"} and not result.helpers


def test_a_skipped_class_beside_a_migrated_one():
    net = (
        "class {0}(chainer.Chain):{1}\n    def __init__(self):\n        super().__init__()\n"
        "        with self.init_scope():\n            self.l = L.Linear(3, 4)\n\n\n"
    )
    skipped = net.format("Old", "  # chainer2torch: skip")
    result = migrated(skipped + net.format("New", ""))
    assert skipped.rstrip() in result.code and "class New(nn.Module):" in result.code


def test_a_skipped_import_stays():
    result = migrated(f"def f(x):\n    return {LEAKY}\n", HEAD.replace("as L\n", "as L  # chainer2torch: skip\n"))
    assert "import chainer.links as L  # chainer2torch: skip" in result.code and DONE in result.code


def test_a_skipped_branch_is_not_folded_away():
    body = "import six\nif chainer.__version__ < '2':\n    a = F.relu(1)  # chainer2torch: skip\nelse:\n    a = 2\n"
    assert "a = F.relu(1)  # chainer2torch: skip" in migrated(body).code


def test_check_says_the_same():
    text = HEAD + f"y = {LEAKY}  # chainer2torch: skip\n"
    sites = migrate_sources({"m.py": text}, rewrite=False)["m.py"].sites
    assert [(site.state, site.code) for site in sites] == [("manual", "C2T012")]
