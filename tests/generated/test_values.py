"""Values of each sort, on each way, come out the same; the judge tells what does not.

All ways are gone here, each with two of the sorts; other pairs and longer ways are a nightly run's.
"""

import pytest

from tests.generated import judge, printed_judge, values

_ENDS = {
    "rows": ("model(xs).array", "print(V.sum(), V.dtype)\nw = V.copy()\nw += 1\nprint(w.astype(np.int32))"),
    "number": ("loss.data", "print(V)\nprint('%s' % (V,))"),
    "index": ("model(xs).array.argmax(axis=1)[1]", "print({0: 'a', 1: 'b', 2: 'c'}[V])\nprint(V in {0, 1, 2})"),
    "shape": ("model(xs).shape", "print((V, 2))"),
    "labels": ("model(xs).array.argmax(axis=1)", "print(np.mean(V == ts), V.argmax(axis=0))\nprint(len(set(V)))"),
    "variable": ("model(xs)", "print(F.sum(V).data, V.shape)"),
}


_SORTS = tuple(_ENDS)


def _program(way, sort):
    source, end = _ENDS[sort]
    lines = [f"v = {source}", *values.named(way, N="w", V="v"), *values.named(end, V="w")]
    return values.HEAD + "".join(f"    {line}\n" for line in lines)


# a third of the sorts on each way: whatever breaks a way breaks most of them
@pytest.mark.parametrize("number, way", enumerate(values.WAYS), ids=values.WAYS)
def test_values_come_out_the_same_on_every_way(number, way):
    for sort in _SORTS[number % 3 :: 3]:
        verdict, detail, text = printed_judge.judged(_program(way, sort))
        assert verdict == judge.SAME, f"{detail}\n{text}"


@pytest.mark.parametrize("seed", range(20))
def test_values_on_several_ways_come_out_the_same(seed):
    verdict, detail, text = printed_judge.of(seed, ("native", "faithful")[seed % 2])
    assert verdict not in judge.WRONG, f"{detail}\n{text}"


@pytest.mark.parametrize("seed", range(20))
def test_values_in_a_function_that_nobody_calls_come_out_the_same(seed):
    verdict, detail, text = printed_judge.of(seed, ("native", "faithful")[seed % 2], library=True)
    assert verdict not in judge.WRONG, f"{detail}\n{text}"


def test_a_wrong_migration_is_seen(monkeypatch):
    migrate = printed_judge.migrate_source
    program = _program("N = V", "rows")
    for old, new, verdict in (
        (".sum()", ".amax()", judge.DIFFERENT),
        ("compat.", "compta.", judge.LOUD),
    ):

        def changed(text, *, options, old=old, new=new):
            result = migrate(text, options=options)
            assert old in result.code
            result.code = result.code.replace(old, new)
            return result

        monkeypatch.setattr(printed_judge, "migrate_source", changed)
        assert printed_judge.judged(program)[0] == verdict, new
