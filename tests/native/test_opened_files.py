"""What a constructor reads from a file that a `with` opens: known whenever the path of the file is known."""

import numpy as np
import pytest

from tests.support.native_snippets import run

PROGRAM = """
import os
import tempfile

{imports}

class Part:
    def __init__(self, path):
        with {opened} as f:
            self.images = {images}
            self.views = {views}

    def __getitem__(self, indices):
        return self.images[indices], self.views[indices]

class Parts:
    def __init__(self, folder):
        self.folder, self.names, self.at = folder, sorted(os.listdir(folder)), 0

    def __iter__(self):
        self.at = 0
        return self

    def __next__(self):
        if self.at >= len(self.names):
            raise StopIteration
        self.at += 1
        return self.read(self.at - 1)

    def read(self, i):
        return Part(os.path.join(self.folder, self.names[i]))

class Model:
    def rows(self, x, v):
        v = F.reshape(v, v.shape + (1, 1))
        return F.sum(F.concat((x, F.broadcast_to(v, v.shape[:2] + x.shape[2:])), axis=1), axis=(1, 2, 3))

def run(xs):
    folder = tempfile.mkdtemp()
    rng = np.random.RandomState(0)
    for i in range(2):
        images, views = rng.rand(4, 3, 2, 2).astype('f'), rng.rand(4, 5).astype('f')
        {write}
    found = []
    for part in Parts(folder):
        images, views = part[[0, 2]]
        found.append(Model().rows(images, views).array.tolist())
    return found
"""
FILES = {
    "h5py": {
        "imports": "import h5py",
        "opened": "h5py.File(path, 'r')",
        "images": "f['images'][()]",
        "views": "f['views'][:]",
        "write": "with h5py.File(os.path.join(folder, '%d.h5' % i), 'w') as f:\n"
        "            f['images'], f['views'] = images, views",
    },
    "numpy": {
        "imports": "",
        "opened": "np.load(path)",
        "images": "f['images']",
        "views": "f['views']",
        "write": "np.savez(os.path.join(folder, '%d.npz' % i), images=images, views=views)",
    },
}


@pytest.mark.parametrize("kind", FILES)
def test_arrays_of_it_become_tensors_where_functions_take_them(kind):
    theirs, ours, code = run(PROGRAM.format(**FILES[kind]))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert "torch.as_tensor(v)" in code or "from_host" in code or "from_numpy" in code
