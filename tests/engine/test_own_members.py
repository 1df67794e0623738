"""Members that the project's own classes give to objects known by Chainer's class are no names of Chainer's."""

import pytest

from chainer2torch.engine import migrate_sources
from chainer2torch.rules.table import load_rules

HEAD = "import chainer\nfrom chainer import training\nimport chainer.links as L\n\n\n"
UPDATER = HEAD + "class GANUpdater(training.StandardUpdater):\n    def sample(self):\n        return 1\n"
ASKS = "class Show(training.Extension):\n    def __call__(self, trainer):\n        print(trainer.updater.{name}())\n"
DATASET = (
    HEAD + "class Pairs(chainer.dataset.DatasetMixin):\n    def __init__(self, pairs, shift=2):\n        {fill}\n\n"
    "    def __len__(self):\n        return 3\n\n"
    "    def get_example(self, i):\n        return self.pairs[i] + self.shift\n"
)
FILLS = [
    "for key, value in locals().items():\n            setattr(self, key, value)",
    "self.__dict__.update(pairs=pairs, shift=shift)",
    "vars(self).update(pairs=pairs, shift=shift)",
    "self.pairs, self.shift = pairs, shift",
]


def _manual(files):
    results = migrate_sources(files)
    return {site.symbol for result in results.values() for site in result.sites if site.state == "manual"}


def test_a_method_of_a_class_derived_from_it():
    """``trainer.updater`` is a StandardUpdater for the analysis; here it is one of the project's own."""
    files = {"updater.py": UPDATER, "show.py": HEAD + ASKS.format(name="sample")}
    assert not _manual(files)


@pytest.mark.parametrize(("name", "is_chainers"), [("sampel", False), ("connect_data", False), ("setup_workers", True)])
def test_a_member_that_nobody_defines(name, is_chainers):
    """It is marked where one of Chainer's classes has it, for which there is no rule; else it was missing before."""
    files = {"updater.py": UPDATER, "show.py": HEAD + ASKS.format(name=name)}
    assert any(symbol.endswith(f".{name}") for symbol in _manual(files)) == is_chainers


@pytest.mark.parametrize("fill", FILLS)
def test_attributes_that_a_class_sets_itself(fill):
    assert not _manual({"data.py": DATASET.format(fill=fill)})


def test_an_attribute_that_no_method_sets():
    """``shift`` is none of Chainer's: it is missing on both sides."""
    assert _manual({"data.py": DATASET.format(fill="self.pairs = pairs")}) == set()


def test_a_layer_of_an_own_class():
    """A layer that some code replaces by an own one is asked for what that one has."""
    text = (
        HEAD
        + "class Words(L.EmbedID):\n    def mixed(self, x):\n        return self(x)\n\n\n"
        + "class Net(chainer.Chain):\n    def __init__(self):\n        super().__init__()\n"
        + "        with self.init_scope():\n            self.embed = L.EmbedID(5, 3)\n\n"
        + "    def forward(self, x):\n        return self.embed.{name}(x)\n"
    )
    assert not _manual({"net.py": text.replace("{name}", "mixed")})
    assert _manual({"net.py": text.replace("{name}", "mixd")})


def test_a_method_that_takes_other_arguments_than_chainers_is_the_users():
    """``self['b1'].disable_update(True, bn=False)``: no link of Chainer's takes these."""
    text = HEAD + (
        "class Part(chainer.Chain):\n    def disable_update(self, conv, bn):\n        pass\n\n\n"
        "class Net(chainer.Chain):\n"
        "    def __init__(self):\n        super().__init__()\n        self.add_link('b1', Part())\n\n"
        "    def freeze(self, i):\n        self['b{}'.format(i)].disable_update(True, bn=False)\n"
    )
    assert not _manual({"net.py": text})
    assert _manual({"net.py": text.replace("def disable_update", "def freeze")}) == {"chainer.Link.disable_update"}


def test_a_part_that_is_known_as_a_link_may_have_its_own_way():
    """``for link in self.children(): link.cleargrads()`` reaches the method that a Chain of the project has."""
    text = HEAD + (
        "class Part(chainer.Chain):\n    def cleargrads(self):\n        self.cleared = True\n\n\n"
        "class Net(chainer.Chain):\n"
        "    def __init__(self):\n        super().__init__()\n        self.add_link('b1', Part())\n\n"
        "    def clear(self):\n        for link in self.children():\n            link.cleargrads()\n"
    )
    code = migrate_sources({"net.py": text})["net.py"].code
    assert "link.zero_grad()" not in code and "cleargrads" in code
    other = text.replace("def cleargrads", "def clear_it")
    assert "link.zero_grad()" in migrate_sources({"net.py": other})["net.py"].code


@pytest.mark.parametrize("style", ["native", "faithful"])
def test_an_attribute_of_an_updater_in_another_file_may_be_a_link(style):
    """``gen`` is no member of Chainer's updater: its own members are those of an unknown value, and none is left."""
    updater = HEAD + (
        "class Updater(training.StandardUpdater):\n    def __init__(self, *args, **kwargs):\n"
        "        self.gen, self.dis = kwargs.pop('models')\n        super().__init__(*args, **kwargs)\n"
    )
    show = HEAD + (
        "@training.make_extension(trigger=(1, 'epoch'))\ndef show(trainer):\n    gen = trainer.updater.gen\n"
        "    xp = gen.xp\n    gen.cleargrads()\n    return gen(xp.asarray(gen.sample(3)))\n"
    )
    code = migrate_sources({"updater.py": updater, "show.py": show}, rules=load_rules(style=style))["show.py"].code
    assert "gen.xp" not in code and "cleargrads()" not in code.replace("compat.cleargrads", "")
