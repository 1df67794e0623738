"""What an object's ``serialize`` stores, the same for Chainer's objects and for ours."""

import chainer
import numpy as np

from chainer2torch.compat.serializers import state, state_io


def entries_of(part):
    """``{key: array}`` that an object's ``serialize`` stores."""
    if isinstance(part, state.SerializableEntries):
        writer = state_io.StateWriter()
        part.serialize(writer)
        return writer.entries
    writer = chainer.serializers.DictionarySerializer()
    part.serialize(writer)
    return {key.lstrip("/"): value for key, value in writer.target.items()}


def read_into(part, entries):
    """Calls ``serialize`` with a reader of these entries."""
    part.serialize(
        state_io.StateReader(entries)
        if isinstance(part, state.SerializableEntries)
        else chainer.serializers.NpzDeserializer(entries)
    )


def same_entries(theirs, ours, rtol=1e-9):
    assert set(theirs) == set(ours)
    for key, value in theirs.items():
        value, other = np.asarray(value), np.asarray(ours[key])
        assert value.shape == other.shape and value.dtype.kind == other.dtype.kind, key
        if value.dtype.kind in "biuf" and "elapsed" not in key:
            np.testing.assert_allclose(other, value, rtol=rtol, atol=1e-7, err_msg=key)
