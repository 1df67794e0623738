"""Methods ``serialize`` of users: which questions and calls have a counterpart, and which stay for a person."""

import textwrap

from chainer2torch.engine import migrate_source
from tests.support.both_sides import both

HEAD = "import chainer\nimport chainer.links as L\nfrom chainer import training\n"


def migrated(source):
    result = migrate_source(HEAD + textwrap.dedent(source))
    assert result.error is None
    return result.code, {(s.symbol, s.state) for s in result.sites if "erializ" in s.symbol}


def test_an_extension_tells_saving_from_loading():
    code, states = migrated("""
        from chainer import serializer as s
        class Mine(training.Extension):
            def serialize(self, serializer):
                if isinstance(serializer, s.Serializer):
                    serializer('a', 1)
                elif isinstance(serializer, (chainer.Deserializer, int)):
                    self.a = serializer('a', 0)
        """)
    assert "isinstance(serializer, compat.StateWriter)" in code
    assert "isinstance(serializer, (compat.StateReader, int))" in code
    assert states == {("chainer.Serializer", "exact"), ("chainer.Deserializer", "exact")}


def test_saving_and_loading_take_the_same_branches(tmp_path):
    """chainer.Serializer and chainer.Deserializer as compat.StateWriter and compat.StateReader, run in both."""
    found = []
    for i, side in enumerate(
        both("""
            from chainer import training

            class Mine(training.Extension):
                a, seen = 1, ''
                def __init__(self, model):
                    self.model = model
                def serialize(self, serializer):
                    if isinstance(serializer, chainer.Serializer):
                        self.seen += 'saves'
                    if isinstance(serializer, chainer.Deserializer):
                        self.seen += 'loads'
                    self.a = serializer('a', self.a)
                    self.model.serialize(serializer['model'])

            def run(path):
                mine, other = Mine(L.Linear(2, 2)), Mine(L.Linear(2, 2))
                mine.a = 5
                chainer.serializers.save_npz(path, mine)
                chainer.serializers.load_npz(path, other)
                x = np.ones((1, 2), 'f')
                with np.load(path) as f:
                    return mine.seen, other.seen, other.a, sorted(f.files), bool(
                        (mine.model(x).array == other.model(x).array).all())
            """)
    ):
        found.append(side["run"](str(tmp_path / f"{i}.npz")))
    assert found[0] == found[1] == ("saves", "loads", 5, ["a", "model/W", "model/b"], True)


def test_a_serializer_of_ones_own_stays():
    _, states = migrated("""
        class Mine(chainer.Serializer):
            pass
        def writes(x):
            return issubclass(type(x), chainer.Deserializer)
        """)
    assert states == {("chainer.Serializer", "manual"), ("chainer.Deserializer", "manual")}


def test_a_model_is_handed_the_serializer():
    code, states = migrated("""
        class Mine(training.Extension):
            def __init__(self):
                self.model = L.Linear(2, 3)
            def serialize(self, serializer):
                self.model.serialize(serializer['model'])
        """)
    assert "compat.serialize_part(serializer['model'], self.model)" in code
    assert states == {("chainer.Link.serialize", "exact")}


def test_a_link_with_a_serialize_of_its_own():  # run in tests/weights/test_own_serialize.py
    code, states = migrated("""
        class Net(chainer.Chain):
            def serialize(this, serializer):
                super(Net, this).serialize(serializer)
                this.n = serializer('n', this.n)
                save = this.serialize
        """)
    assert "compat.serialize_link(this, serializer)" in code and "this.n = serializer('n', this.n)" in code
    assert ("chainer.Link.serialize", "exact") in states


def test_serialize_as_a_value_is_for_a_person():
    _, states = migrated("""
        def save(serializer):
            link = L.Linear(2, 3)
            return map(link.serialize, [serializer])
        """)
    assert states == {("chainer.Link.serialize", "manual")}


def test_a_part_that_nobody_knows_is_looked_at_when_the_program_runs():
    code, states = migrated("""
        class Mine(training.StandardUpdater):
            def __init__(self, *args, **kwargs):
                self.ema = kwargs.pop('model')
                super().__init__(*args, **kwargs)

            def serialize(self, serializer):
                super().serialize(serializer)
                self.ema.serialize(serializer['ema'])
                self.ema.serialize(other)
        """)
    assert "compat.serialize_part(serializer['ema'], self.ema)" in code
    assert "self.ema.serialize(other)" in code and ("?.serialize", "exact") in states
    assert migrate_source(code).code == code
