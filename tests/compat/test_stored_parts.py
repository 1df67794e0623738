"""Writers of snapshots and summaries of reports, against Chainer's: the same calls, the same entries in files."""

import os

import chainer
import numpy as np
import pytest
from chainer.training.extensions import snapshot_writers as chainer_writers
from pytorch_pfn_extras.reporting import DictSummary

from chainer2torch.compat.training import snapshot, summary
from chainer2torch.compat.serializers import state_io
from tests.compat.test_trainer import BOTH, Ours, Theirs, set_up
from tests.support.serialized import same_entries

Writers = {Theirs: chainer_writers, Ours: snapshot}


@pytest.mark.parametrize("api", BOTH)
def test_the_base_writer_asks_for_what_is_missing(api):
    with pytest.raises(NotImplementedError):
        Writers[api].Writer()("name", ".", {})


def test_own_writers(tmp_path):
    stored = []
    for api in BOTH:
        calls = []

        class Listed(Writers[api].Writer):
            def __call__(self, filename, outdir, target, calls=calls):
                calls.append((filename, outdir, sorted(target)))
                self.save(filename, outdir, target, lambda path, entries: np.savez(open(path, "wb"), **entries))

            def finalize(self, calls=calls):
                calls.append("finalized")

        made = set_up(api, tmp_path / api.__name__, epochs=3)
        writer = Listed()
        made.extend(api.extensions.snapshot(writer=writer, n_retains=2), trigger=(1, "epoch"))
        made.run()
        assert sorted(os.listdir(tmp_path / api.__name__)) == ["snapshot_iter_11", "snapshot_iter_8"]
        assert calls.pop() == "finalized" and {call[1] for call in calls} == {str(tmp_path / api.__name__)}
        stored.append([(call[0], call[2]) for call in calls])
    assert stored[0] == stored[1] and len(stored[0]) == 3


@pytest.mark.parametrize("name", ["SimpleWriter", "ThreadWriter"])
def test_writers_call_the_function_with_path_and_entries(tmp_path, name):
    for api in BOTH:
        calls = []

        def save(path, entries, *args, calls=calls, **kwargs):
            calls.append((os.path.basename(path), entries, args, kwargs))
            with open(path, "wb") as stream:
                stream.write(b"x")

        writer = getattr(Writers[api], name)(save, compression=False)
        writer("snap", str(tmp_path), {"a": 1})
        writer.finalize()
        assert calls == [("snap", {"a": 1}, (), {})]
        assert os.listdir(tmp_path) == ["snap"]


def test_summaries_are_stored_as_in_chainer():
    pair = chainer.DictSummary(), DictSummary()
    for each in pair:
        for value in (1.0, 2.5, -3.0):
            each.add({"main/loss": value, "weighted": (value, 2), "b": np.float32(value)})
    theirs = chainer.serializers.DictionarySerializer()
    pair[0].serialize(theirs)
    theirs = {key.lstrip("/"): value for key, value in theirs.target.items()}
    ours = state_io.StateWriter()
    summary.serialize_summary(ours, pair[1])
    same_entries(theirs, ours.entries)
    assert str(theirs["_names"]) == str(ours.entries["_names"])
    read = DictSummary()
    read.add({"gone": 1.0})
    summary.serialize_summary(state_io.StateReader(theirs), read)
    reference = chainer.DictSummary()
    reference.serialize(chainer.serializers.NpzDeserializer(ours.entries))
    for each in (read, reference, *pair):
        each.add({"main/loss": 10.0})
    expected = pair[0].make_statistics()
    for each in (read, reference, pair[1]):
        found = each.make_statistics()
        assert set(found) == set(expected)
        for key, value in expected.items():
            assert float(found[key]) == pytest.approx(float(value), rel=1e-6), key
    empty = DictSummary()
    summary.serialize_summary(state_io.StateReader({}), empty)
    assert empty.compute_mean() == {}
