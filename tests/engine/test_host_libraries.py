"""What libraries for data give is an array of NumPy: it becomes a tensor where a model gets it, and has no graph."""

import pytest

from chainer2torch.engine import Options, migrate_source

HEAD = """import chainer
import chainer.functions as F
import chainer.links as L
import keras, tensorflow as tf
import cv2, h5py, librosa, numpy as np, pandas as pd, scipy.misc, skimage.io, sklearn.datasets
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
net = L.Linear(4, 3)
"""


def migrated(body):
    result = migrate_source(HEAD + body, options=Options(style="native"))
    assert result.error is None
    return result.code


@pytest.mark.parametrize(
    "value",
    [
        "cv2.imread('a.png')[0]",
        "cv2.resize(a, (2, 2))",
        "cv2.flip(np.zeros((2, 4), 'f'), 1)",
        "cv2.threshold(a, 0, 1)[1]",
        "scipy.misc.imread('a.png')",
        "skimage.io.imread('a.png')",
        "librosa.load('a.wav')[0]",
        "sklearn.datasets.load_iris().data",
        "sklearn.datasets.load_iris()['target']",
        "sklearn.datasets.load_iris(return_X_y=True)[0]",
        "sklearn.datasets.load_digits(return_X_y=True, as_frame=False)[1]",
        "sklearn.datasets.load_wine(return_X_y=False).data",
        "keras.datasets.mnist.load_data()[1][0]",
        "tf.keras.datasets.cifar10.load_data()[0][1]",
        "sklearn.datasets.make_moons()[0]",
        "StandardScaler().fit_transform(a)",
        "pd.read_csv('a.csv').values",
        "pd.read_csv('a.csv')[['a', 'b']].dropna().to_numpy()",
        "h5py.File('a.h5')['group']['x'][:]",
        "h5py.File('a.h5')['x'][...]",
        "h5py.File('a.h5')['x'].value",
        "train_test_split(np.zeros((8, 4), 'f'), np.zeros(8, 'i'))[1]",
    ],
)
def test_an_array_becomes_a_tensor_where_a_model_gets_it(value):
    code = migrated(f"def f(a):\n    y = {value}\n    return net(y[0:2])\n")
    assert "torch.as_tensor(y[0:2])" in code


@pytest.mark.parametrize(
    "value",
    [
        "cv2.other(a)",
        "pd.read_csv('a.csv').other",
        "h5py.File('a.h5')['x']",
        "sklearn.datasets.load_iris(return_X_y=a)[0]",
        "sklearn.datasets.load_iris(return_X_y=True, as_frame=True)[0]",
        "keras.datasets.imdb.load_data()[0][0]",
        "sklearn.datasets.load_files('d').data",
        "sklearn.datasets.fetch_20newsgroups().data",
        "sklearn.preprocessing.OneHotEncoder().fit_transform(a)",
        "train_test_split(a, a)[0]",
        "train_test_split(a)",
        "cv2.threshold(a, 0, 1)[0]",
    ],
)
def test_what_is_not_listed_stays_unknown(value):
    code = migrated(f"def f(a):\n    y = {value}\n    return F.relu(y)\n")
    assert "F.relu(torch.as_tensor(y))" not in code


def test_the_rank_and_the_type_of_an_image_stay():
    code = migrated("y = cv2.flip(np.zeros((2, 4), 'f'), 1)\nnet(y)\n")
    assert "net(torch.from_numpy(y))" in code or "net(torch.as_tensor(y))" in code
    assert "flatten" not in code


def test_a_step_over_such_arrays_keeps_no_graph():
    code = migrated("""iris = sklearn.datasets.load_iris()
x, _, t, _ = train_test_split(iris.data.astype('f'), iris.target.astype('i'))
optimizer = chainer.optimizers.SGD()
optimizer.setup(net)
for i in range(3):
    net.cleargrads()
    loss = F.softmax_cross_entropy(net(x[i:i + 2]), t[i:i + 2])
    loss.backward()
    optimizer.update()
""")
    assert "loss.backward()\n    optimizer.step()\n" in code and "compat" not in code


def test_a_module_of_the_project_by_such_a_name_is_its_own():
    code = migrated("import mycv as cv2\ny = cv2.imread('a.png')\nnet(y)\n")
    assert "net(y)" in code or "flatten(y" in code
