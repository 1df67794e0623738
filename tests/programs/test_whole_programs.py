"""Small whole programs come out the same in both styles: values, gradients, parameters, printed text, files."""

from pathlib import Path

import pytest

from tests.support import whole_programs

_PROGRAMS = sorted((Path(__file__).parent / "whole").glob("*.txt"))


@pytest.mark.parametrize("style", ["native", "faithful"])
@pytest.mark.parametrize("program", _PROGRAMS, ids=lambda path: path.stem)
def test_a_program_comes_out_the_same(program, style, tmp_path):
    source = whole_programs.HEAD + program.read_text()
    found = whole_programs.differences(source, style, tmp_path)
    assert found == _KNOWN.get((program.stem, style), []), "\n".join(found)


_KNOWN = {
    # a cut of the graph is asked about in the faithful style
    ("truncated_cell", "faithful"): ["line 44: review chainer.Variable.unchain_backward"],
    # the name of an array's class is marked
    ("written_text", "faithful"): ["line 33: review chainer.Variable.__class__"],
    ("written_text", "native"): ["line 33: review chainer.Variable.__class__"],
    ("adversarial_updater", "faithful"): ["line 27: review chainer.Variable.unchain_backward"],
}


def test_a_wrong_migration_is_seen(tmp_path, monkeypatch):
    migrate = whole_programs.migrate_source

    def changed(source, **options):
        result = migrate(source, **options)
        result.code = result.code.replace("2.0", "2.5")
        return result

    monkeypatch.setattr(whole_programs, "migrate_source", changed)
    source = "def main():\n    print('so')\n    return [L.Linear(2, 1, initialW=1)(np.ones((1, 2), 'f')) * 2.0]\n"
    assert whole_programs.differences(whole_programs.HEAD + source, "native", tmp_path) == [
        "main.0.0: [[5.]] instead of [[4.]]"
    ]
