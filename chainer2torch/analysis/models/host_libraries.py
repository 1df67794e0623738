"""What well-known libraries for data give: arrays of NumPy, and objects that hold some.

Nothing that they return is a tensor or has a graph, whatever they were handed, but for what a caffemodel computes. Only
what the code of real programs calls is listed; everything else of these libraries stays unknown. Source: the libraries'
own documentation.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from chainer2torch.analysis.kind_specs import parse_spec
from chainer2torch.analysis.kinds import (
    UNKNOWN,
    Const,
    HostArray,
    Inst,
    Kind,
    Lst,
    Method,
    Ref,
    Scalar,
    Tensor,
    Tup,
    scalar_type,
)

_JOINING = frozenset({"numpy.c_", "numpy.mgrid", "numpy.r_"})  # subscripts of them make arrays
_TABLE = "pandas.DataFrame"  # or a Series: both hold arrays, and parts of them are such again
_GROUP = "h5py.Group"  # a file, a group or a data set
_DATA = "sklearn.utils.Bunch"
_ESTIMATOR = "sklearn.base.BaseEstimator"
_PICTURE = "PIL.Image.Image"
ONLY_NUMPY_READS = frozenset({_TABLE, _PICTURE})  # np.asarray() makes an array of them, torch.as_tensor() raises
# what Chainer reads of a caffemodel, and its layers: they stay Chainer's, with arrays of NumPy
_CAFFE = "caffe.Model"

# images and sounds of the first argument's type; those of _LIKE have its rank, too
_SAME_TYPE = frozenset({"cv2.cvtColor", "cv2.merge", "cv2.add", "cv2.subtract", "cv2.addWeighted"})
_LIKE = frozenset(
    {
        *("cv2." + name for name in ("flip", "GaussianBlur", "blur", "medianBlur", "dilate", "erode", "warpAffine")),
        *("cv2." + name for name in ("warpPerspective", "copyMakeBorder", "bitwise_not", "rotate", "transpose")),
        *("cv2." + name for name in ("equalizeHist", "bilateralFilter", "remap")),
        "scipy.ndimage.gaussian_filter",
        "scipy.ndimage.zoom",
        "scipy.ndimage.rotate",
    }
)
_FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {
        "cv2.imread": "array",
        "cv2.imdecode": "array",
        "cv2.resize": "array",
        "cv2.threshold": "(unknown, array)",
        "cv2.split": "list of array",
        "cv2.getRotationMatrix2D": "array rank 2 dtype float64",
        "cv2.getPerspectiveTransform": "array rank 2 dtype float64",
        "scipy.misc.imread": "array",
        "scipy.misc.imresize": "array",
        "scipy.misc.toimage": "unknown",
        "scipy.linalg.sqrtm": "array rank 2",
        "scipy.io.loadmat": "dict of array",
        "scipy.io.wavfile.read": "(int, array)",
        "imageio.imread": "array",
        "matplotlib.pyplot.imread": "array",
        "matplotlib.image.imread": "array",
        "skimage.io.imread": "array",
        "skimage.transform.resize": "array",
        "skimage.transform.rescale": "array",
        "skimage.transform.rotate": "array",
        "skimage.color.gray2rgb": "array",
        "skimage.color.rgb2gray": "array",
        "skimage.color.rgb2lab": "array",
        "skimage.color.lab2rgb": "array",
        "skimage.color.label2rgb": "array",
        "skimage.img_as_float": "array",
        "skimage.img_as_ubyte": "array",
        "librosa.load": "(array, unknown)",
        "librosa.core.load": "(array, unknown)",
        "librosa.stft": "array",
        "librosa.istft": "array",
        "librosa.filters.mel": "array rank 2",
        "librosa.feature.mfcc": "array",
        "librosa.feature.melspectrogram": "array",
        "soundfile.read": "(array, int)",
        "pandas.read_csv": f"instance {_TABLE}",
        "pandas.read_table": f"instance {_TABLE}",
        "pandas.read_excel": f"instance {_TABLE}",
        "pandas.DataFrame": f"instance {_TABLE}",
        "pandas.get_dummies": f"instance {_TABLE}",
        "h5py.File": f"instance {_GROUP}",
        **dict.fromkeys(
            ("PIL.Image." + name for name in ("open", "new", "fromarray", "merge", "blend", "composite")),
            f"instance {_PICTURE}",
        ),
        **dict.fromkeys(
            (
                "PIL.ImageOps." + name
                for name in ("autocontrast", "equalize", "fit", "flip", "grayscale", "invert", "mirror")
            ),
            f"instance {_PICTURE}",
        ),
        "sklearn.preprocessing.normalize": "array",
        "sklearn.preprocessing.scale": "array",
        "sklearn.preprocessing.minmax_scale": "array",
        "sklearn.datasets.make_blobs": "(array, array)",
        "sklearn.datasets.make_circles": "(array, array)",
        "sklearn.datasets.make_classification": "(array, array)",
        "sklearn.datasets.make_moons": "(array, array)",
        "sklearn.datasets.make_regression": "(array, array)",
    }
)
_SPLIT = frozenset(
    f"sklearn.{module}.train_test_split"
    for module in ("cross_validation", "cross_validation._split", "model_selection")
)
_KERAS = frozenset({"mnist", "fashion_mnist", "cifar10", "cifar100"})
# others hold texts (fetch_20newsgroups, load_files) or sparse matrices
_DATA_SETS = frozenset(
    {
        *("load_iris", "load_digits", "load_wine", "load_diabetes", "load_breast_cancer", "load_boston"),
        *("fetch_mldata", "fetch_california_housing", "fetch_olivetti_faces", "fetch_lfw_people"),
    }
)
_PAIR = Tup((HostArray(2), HostArray()))  # what to learn from, and what
_ESTIMATING = frozenset(
    {"preprocessing", "decomposition", "cluster", "manifold", "linear_model", "svm", "ensemble", "neighbors", "mixture"}
)
_SPARSE = frozenset({"OneHotEncoder", "LabelBinarizer", "MultiLabelBinarizer"})
_MEMBERS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        _TABLE: {
            "values": "array",
            "loc": f"instance {_TABLE}",
            "iloc": f"instance {_TABLE}",
            "T": f"instance {_TABLE}",
        },
        _GROUP: {"value": "array"},
        _DATA: {"data": "array", "target": "array", "images": "array"},
        _PICTURE: {"size": "(int, int)", "width": "int", "height": "int", "mode": "str"},
        _CAFFE: {**dict.fromkeys(("data", "array", "avg_mean", "avg_var"), "array"), "name": "str"},
    }
)
_TABLES = (
    "drop",
    "dropna",
    "fillna",
    "astype",
    "copy",
    "reset_index",
    "sort_values",
    "sample",
    "head",
    "tail",
    "replace",
)
_METHODS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        _TABLE: {**dict.fromkeys(_TABLES, f"instance {_TABLE}"), "to_numpy": "array", "as_matrix": "array"},
        _GROUP: {"get": f"instance {_GROUP}"},
        _PICTURE: dict.fromkeys(
            ("convert", "copy", "crop", "filter", "point", "quantize", "resize", "rotate", "transform", "transpose"),
            f"instance {_PICTURE}",
        ),
        _CAFFE: dict.fromkeys(("children", "links", "params"), f"list of instance {_CAFFE}"),
        _ESTIMATOR: dict.fromkeys(
            ("fit_transform", "transform", "inverse_transform", "predict", "predict_proba", "fit_predict"), "array"
        ),
    }
)


def result(name: str, args: Sequence[Kind], keywords: Mapping[str, Kind]) -> Kind:
    """What a function of one of these libraries returns; unknown for any other."""
    package = name.split(".", 1)[0]
    if _is_loader(name):
        return Tup((Tup((HostArray(), HostArray())),) * 2)
    if name in _SPLIT:
        return Tup(tuple(_part(kind) for kind in args for _ in range(2)))
    if name in _LIKE or name in _SAME_TYPE:
        first = args[0] if args and isinstance(args[0], HostArray) else HostArray()
        return first if name in _LIKE else HostArray(None, first.dtype)
    if package == "sklearn" and name not in _FUNCTIONS:
        return _of_sklearn(name, keywords)
    return parse_spec(_FUNCTIONS.get(name, "unknown"))


def _is_loader(name: str) -> bool:
    """``keras.datasets.mnist.load_data``: a pair of arrays to train on, and one to test with."""
    parts = name.split(".")
    return parts[-4:-2] == ["keras", "datasets"] and parts[-2] in _KERAS and parts[-1] == "load_data"


def _of_sklearn(name: str, keywords: Mapping[str, Kind]) -> Kind:
    *module, last = name.split(".")
    if module == ["sklearn", "datasets"] and last in _DATA_SETS:
        if keywords.get("as_frame", Const(False)) != Const(False):
            return UNKNOWN
        pair = keywords.get("return_X_y", Const(False))
        return Inst(_DATA) if pair == Const(False) else _PAIR if pair == Const(True) else UNKNOWN
    estimates = module[1:2] and module[1] in _ESTIMATING and last[:1].isupper() and last not in _SPARSE
    return Inst(_ESTIMATOR) if estimates else UNKNOWN


def _part(kind: Kind) -> Kind:
    """A part of what ``train_test_split`` is handed: an array of an array, a list of a list."""
    return kind if isinstance(kind, (HostArray, Lst)) or kind == Inst(_TABLE) else UNKNOWN


def member(cls: str, name: str) -> Kind | None:
    """An attribute of an object of these libraries; None where its class says nothing of it."""
    spec = _MEMBERS.get(cls, {}).get(name)
    if spec is not None:
        return parse_spec(spec)
    if name in _METHODS.get(cls, {}):
        return Method(Inst(cls), name)
    return Inst(_CAFFE) if cls == _CAFFE else None  # a layer, or a parameter of one


def method(cls: str, name: str) -> Kind | None:
    """What a method of such an object returns."""
    spec = _METHODS.get(cls, {}).get(name)
    return None if spec is None else parse_spec(spec)


def called(cls: str) -> Kind | None:
    """What a call of such an object gives."""
    return Tensor() if cls == _CAFFE else None


def item(kind: Inst | Ref, node: ast.expr, index: Kind) -> Kind | None:
    """What ``table['column']``, ``file['name'][:]`` and ``np.r_[a, b]`` give."""
    if isinstance(kind, Ref):
        return HostArray() if kind.name in _JOINING else None
    if kind.cls in (_TABLE, _CAFFE):
        return kind
    if kind.cls == _DATA:
        return member(_DATA, str(index.value)) if isinstance(index, Const) else None
    if kind.cls != _GROUP:
        return None
    if scalar_type(index) == "str":
        return kind
    whole = isinstance(node, (ast.Slice, ast.Tuple)) or isinstance(node, ast.Constant) and node.value is ...
    return HostArray() if whole or index == Scalar("int") or isinstance(index, HostArray) else UNKNOWN
