"""Classes that are built like chains on a base that is not in the project: exact layers in a class of Chainer's."""

import pytest

from chainer2torch.engine import migrate_sources

HEAD = "import chainer\nimport chainer.links as L\nfrom toolbox.models import Model\nfrom base import Own, Near\n\n\n"
BASE = (
    "import toolbox.models\nimport chainer\n\n\nclass Own(chainer.Chain):\n    pass\n\n\n"
    "class Near(toolbox.models.Model):\n    def count(self):\n        return 1\n"
)
BUILT = {
    "handed": "        super({cls}, self).__init__(fc=L.Linear(3, 2), rate=2)\n",
    "scope": "        super().__init__()\n        with self.init_scope():\n            self.fc = L.Linear(3, 2)\n",
    "added": "        super().__init__()\n        self.add_link('fc', L.Linear(3, 2))\n",
    "parameter": "        super().__init__()\n        self.add_param('w', (3, 2))\n",
}
OTHERWISE = {
    "holds": "        super().__init__()\n        self.model = L.Classifier(L.Linear(3, 2))\n",
    "numbers": "        super().__init__(rate=2)\n",
}


def marked(base: str, body: str) -> list[str]:
    text = f"{HEAD}class Net({base}):\n    def __init__(self):\n{body.format(cls='Net')}"
    result = migrate_sources({"net.py": text, "base.py": BASE})["net.py"]
    found = [site.message for site in result.sites if "not in this project" in site.message]
    assert result.code.count("# TODO(chainer2torch C2T200): chainer.Chain: a base") == len(found)
    again = migrate_sources({"net.py": result.code, "base.py": BASE})["net.py"]
    assert again.code == result.code
    return found


@pytest.mark.parametrize("base", ["Model", "Near", "object, Model"])
@pytest.mark.parametrize("body", BUILT.values(), ids=BUILT)
def test_what_is_built_as_a_chain_on_a_base_nobody_sees_is_marked(base: str, body: str) -> None:
    (message,) = marked(base, body)
    assert "migrate its package" in message


@pytest.mark.parametrize(
    ("base", "body"),
    [
        *(("Model", body) for body in OTHERWISE.values()),
        *((base, body) for base in ("Own", "chainer.Chain", "Model, chainer.Chain") for body in BUILT.values()),
    ],
)
def test_other_classes_are_not(base: str, body: str) -> None:
    assert not marked(base, body)


def test_a_base_that_is_made_by_a_call_is_not_looked_through() -> None:
    for base in ("six.with_metaclass(abc.ABCMeta, chainer.Chain)", "Made"):
        text = "import abc\nimport six\nclass Made(six.with_metaclass(abc.ABCMeta, chainer.Chain)): pass\n"
        text += f"class Net({base}):\n    def __init__(self):\n{BUILT['scope']}"
        result = migrate_sources({"net.py": HEAD + text, "base.py": BASE})["net.py"]
        assert not [site for site in result.sites if "not in this project" in site.message]
