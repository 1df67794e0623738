"""``model['encoder']`` of a model that nobody knows."""

import pytest

from chainer2torch.engine import Options, migrate_source
from tests.support.native_programs import both

PROGRAM = """
class Model(chainer.Chain):
    def __init__(self, encoder, head):
        super().__init__(encoder=encoder, head=head)


class Agent:
    def __init__(self, model, table):
        self.model, self.table = model, table

    def parts(self):
        return self.model['encoder'], self.model['head'], self.table['head'], self.table['other'], self.only()

    def only(self):
        return self.table['encoder']


def run(make=lambda agent: agent.parts()):
    one, two = L.Linear(3, 2), L.Linear(2, 2)
    agent = Agent(Model(one, two), {'head': 1, 'other': 2, 'encoder': 3})
    first, second, *others = agent.parts()
    return first is one, second is two, others
"""


OF_A_LIST = """
class Model(chainer.Chain):
    def __init__(self):
        super().__init__(fc=L.Linear(3, 2), other=L.Linear(2, 2))


class Both(chainer.ChainList):
    def __init__(self, *models):
        super().__init__(*models)
        self.add_link(L.Bias(1, (2,)))


def run(models):
    both = Both(*models)
    return both[0]['fc'] is models[0].fc, [both[i]['oth' + 'er'] is models[i].other for i in (0, 1)]
"""


def test_a_child_of_an_item_of_a_list_of_links() -> None:
    """Some of the items are no Chains; those that are asked for a name are."""
    theirs, ours, code = both(OF_A_LIST)
    for space in (theirs, ours):
        assert space["run"]([space["Model"](), space["Model"]()]) == (True, [True, True]), code


@pytest.mark.parametrize("given", ["Model(one, two)", "[Model(one, two)][0]"])
def test_a_module_is_asked_for_its_child(given: str) -> None:
    theirs, ours, code = both(PROGRAM.replace("Agent(Model(one, two)", f"Agent({given}"))
    assert ours["run"]() == theirs["run"]() == (True, True, [1, 2, 3]), code
    assert "self.table['head']" in code, code


@pytest.mark.parametrize("made", ["L.VGG16Layers(None)", "caffe.CaffeFunction('a.caffemodel')", "L.Classifier(target)"])
def test_a_computed_name_of_a_chain_of_chainers_is_that_of_a_child(made):
    """A second run reads `getattr(model, name)`, which the first one wrote for `model[name]`, the same."""
    text = f"""
import chainer
import chainer.links as L
from chainer.links import caffe

def copied(target):
    model = {made}
    for name in ['conv' + str(i) for i in range(3)]:
        target[name].copyparams(model[name])

class Net(chainer.Chain):
    def __init__(self):
        super().__init__(conv1=L.Linear(2, 3))

copied(Net())
"""
    first = migrate_source(text, options=Options(style="native"))
    assert first.error is None and "link_attribute" not in first.code, first.code
    assert migrate_source(first.code, options=Options(style="native")).code == first.code


MODEL = """
class Model(chainer.Chain):
    def __init__(self, model, head):
        super().__init__(model=model, head=head)

"""
READ = """
import json

def run(config):
    BEFORE
    return config['model']AFTER
"""


@pytest.mark.parametrize(
    ("before", "after", "plain"),
    [
        ("pass", "['name']", True),
        ("pass", "['head']", False),
        ("pass", "[0]", False),
        ("config.get('a', 1)", "", True),
        ("config.items()", "", True),
        ("config.namedlinks()", "", False),
        ("config = json.load(config)", "", True),
        ("config = eval('config')", "", False),
    ],
)
def test_what_is_used_as_a_dictionary_is_none_of_links(before: str, after: str, plain: bool) -> None:
    text = MODEL + READ.replace("BEFORE", before).replace("AFTER", after)
    code = migrate_source("import chainer\nimport chainer.links as L\n" + text, options=Options(style="native")).code
    assert (f"return config['model']{after}" in code) == plain


def test_a_link_with_such_a_method_may_be_meant() -> None:
    text = (
        MODEL
        + "    def get(self, a):\n        return a\n"
        + READ.replace("BEFORE", "config.get(1)").replace("AFTER", "")
    )
    code = migrate_source("import chainer\nimport chainer.links as L\n" + text, options=Options(style="native")).code
    assert "compat.chain_item(config, 'model')" in code
