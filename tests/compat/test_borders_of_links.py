"""Links at the borders of what they take, and just beyond them: Chainer says which raise and what the others give.

A link that Chainer cannot make or call has to raise here, too; the others, with Chainer's weights, give its values.
"""

import importlib
import pkgutil
import warnings

import chainer
import chainer.links as L
import numpy as np
import pytest
import torch

import chainer2torch.compat.links as helpers
from chainer2torch.compat.links import link_names
from chainer2torch.compat.serializers.serializers import load_npz
from chainer2torch.native import small_links
from tests.compat.test_borders_of_functions import a, cut, i, parts, plain, tensor, variable
from tests.support.links import arrays_of, npz_of

ROOMS = [importlib.import_module(f"{helpers.__name__}.{room.name}") for room in pkgutil.iter_modules(helpers.__path__)]
X2, X3, X4, X5 = a(4, 6), a(3, 4, 5), a(2, 4, 6, 5), a(2, 4, 3, 5, 4)
SEQUENCES = [a(3, 4), a(2, 4, seed=1), a(1, 4, seed=2)]


def each(*ways):
    """Keywords of a link in several ways."""
    return list(ways)


# name: (arguments of the constructor, keywords in several ways, arguments of several calls)
CASES = [
    ("Linear", (6, 3), each({}, {"nobias": True}, {"initial_bias": 0.5}), [(X2,), (X3,), (a(2, 3, 2),), (a(6),)]),
    ("Linear", (None, 3), each({}), [(X3,), (X3, 2), (X3, 1), (X3, 0), (a(4, 20),)]),
    ("Linear", (5,), each({}), [(X3, 2), (a(2, 4),)]),
    (
        "Bilinear",
        (3, 4, 2),
        each({}, {"nobias": True}),
        [(a(5, 3), a(5, 4)), (a(5, 3), a(4, 4)), (a(5, 3, 1), a(5, 4))],
    ),
    ("Bias", (1, (4,)), each({}), [(X4,), (X4, a(4)), (X2,)]),
    ("Bias", (2,), each({}), [(X4, a(6)), (X4, a(6, 5)), (X4,), (X4, a(4))]),
    ("Bias", (0, (4, 6)), each({}), [(X2,)]),
    ("Scale", (1, (4,)), each({}, {"bias_term": True}, {"bias_term": True, "bias_shape": (4,)}), [(X4,), (X4, a(4))]),
    ("Scale", (1,), each({}, {"bias_term": True}, {"bias_term": True, "bias_shape": (4,)}), [(X4, a(4)), (X4,)]),
    ("EmbedID", (5, 3), each({}, {"ignore_label": -1}, {"ignore_label": 2}), [(i(2, 3),), (np.array([0, 4], "i"),)]),
    ("EmbedID", (5, 3), each({"ignore_label": -1}), [(np.array([-1, 4], "i"),)]),
    ("PReLU", (), each({}, {"shape": (4,)}, {"init": 0.5}), [(X4,), (a(2, 3),)]),
    ("Swish", (), each({"beta_shape": (4,)}, {"beta_shape": (4, 6, 5), "beta_init": 0.3}), [(X4,)]),
    ("Maxout", (6, 3, 2), each({}, {"initial_bias": 0.5}), [(X2,), (a(4, 2, 3),), (a(4, 5),)]),
    ("Highway", (6,), each({}, {"nobias": True}), [(X2,), (a(4, 5),)]),
    ("Inception", (4, 2, 3, 2, 2, 3, 2), each({}), [(X4,)]),
    ("InceptionBN", (4, 2, 3, 2, 2, 3, "avg", 2), each({}, {"stride": 2}), [(X4,)]),
    ("InceptionBN", (4, 0, 3, 2, 2, 3, "max"), each({"stride": 2}, {}, {"proj_pool": 2}), [(X4,)]),
    ("InceptionBN", (4, 2, 3, 2, 2, 3, "max"), each({}, {"stride": 2, "proj_pool": 1}), [(X4,)]),
    ("InceptionBN", (4, 0, 3, 2, 2, 3, "mean"), each({}), [(X4,)]),
    ("MLPConvolution2D", (4, (3, 2), 2), each({}, {"stride": 2}, {"pad": 1}), [(X4,)]),
    ("MLPConvolution2D", (4, (), 2), each({}), [(X4,)]),
    ("LocalConvolution2D", (4, 3), each({"in_size": (6, 5), "ksize": 3}, {"in_size": 6, "ksize": 3}), [(X4,)]),
    ("LocalConvolution2D", (4, 3, (6, 5), 2), each({}, {"stride": 2}, {"stride": (2, 1), "nobias": True}), [(X4,)]),
    ("Convolution1D", (4, 6, 2), each({}, {"stride": 2}, {"groups": 2}, {"groups": 4}, {"groups": 3}), [(X3,), (X4,)]),
    ("Convolution2D", (4, 6, 2), each({}, {"dilate": 2}, {"groups": 2}, {"groups": 4}, {"groups": 3}), [(X4,), (X3,)]),
    ("Convolution2D", (6, 2), each({}, {"pad": 1, "stride": 2}), [(X4,)]),
    ("Convolution2D", (None, 6, (2, 3)), each({"pad": (1, 0)}, {"pad": (1, 0, 2)}, {"groups": 2}), [(X4,)]),
    ("Convolution3D", (4, 6, 2), each({}, {"pad": (0, 1, 0)}, {"ksize": (2, 2)}), [(X5,), (X4,)]),
    ("ConvolutionND", (2, 4, 6, 2), each({}, {"cover_all": True, "stride": 3}, {"groups": 2}), [(X4,), (X5,)]),
    ("ConvolutionND", (4, 4, 6, 2), each({}), [(X4,)]),
    ("DilatedConvolution2D", (4, 6, 2), each({}, {"dilate": 2}, {"dilate": (1, 3), "pad": 1}), [(X4,)]),
    ("DepthwiseConvolution2D", (4, 2, 2), each({}, {"nobias": True}, {"stride": 2, "pad": 1}), [(X4,)]),
    ("Deconvolution1D", (4, 6, 2), each({}, {"stride": 2}, {"groups": 2}, {"groups": 3}), [(X3,), (X4,)]),
    (
        "Deconvolution2D",
        (4, 6, 3),
        each(
            {}, {"stride": 2, "pad": 1}, {"groups": 2}, *({"stride": 2, "outsize": (n, 11)} for n in (12, 13, 14, 15))
        ),
        [(X4,)],
    ),
    ("Deconvolution2D", (None, 6, 2), each({"stride": 2, "dilate": 2}), [(X4,)]),
    ("Deconvolution3D", (4, 2, 2), each({}, {"pad": 1}), [(X5,)]),
    ("DeconvolutionND", (1, 4, 2, 3), each({}, {"stride": 2}, {"outsize": (7,)}, {"outsize": (9,)}), [(X3,)]),
    (
        "BatchNormalization",
        (4,),
        each({}, {"decay": 0.5}, {"eps": 0.1}, {"use_gamma": False}),
        [(X4,), (a(3, 4),), (X2,)],
    ),
    ("BatchNormalization", (), each({"axis": (0, 2, 3)}, {"axis": 0}, {"axis": (2, 0)}, {"axis": (1, 2)}), [(X4,)]),
    ("BatchNormalization", (), each({}, {"size": (4, 6, 5)}, {"axis": ()}), [(X4,)]),
    ("BatchNormalization", (4,), each({"initial_gamma": 2, "initial_beta": 0.5}, {"initial_avg_mean": 0.3}), [(X4,)]),
    ("BatchRenormalization", (4,), each({}, {"rmax": 1.5, "dmax": 0.2}, {"decay": 0.5}), [(X4,), (a(3, 4),)]),
    ("LayerNormalization", (6,), each({}, {"eps": 0.1}), [(X2,), (a(4, 2, 3),), (a(2, 5),)]),
    ("LayerNormalization", (), each({}, {"initial_gamma": 2}), [(X2,), (a(6),)]),
    ("GroupNormalization", (2,), each({}, {"eps": 0.1}, {"size": 4}), [(X4,), (X3,), (a(4, 4),), (a(4),), (a(4, 3),)]),
    ("GroupNormalization", (3,), each({}), [(X4,), (X2,)]),
    ("DecorrelatedBatchNormalization", (4,), each({}, {"groups": 2}, {"eps": 0.1}), [(X2[:, :4],), (X4,)]),
    ("StatelessLSTM", (6, 3), each({}), [(None, None, X2), (a(4, 3), a(4, 3, seed=1), X2), (a(4, 2), a(4, 2), X2)]),
    ("LSTM", (6, 3), each({}, {"forget_bias_init": 2.0}, {"bias_init": 0.5}), [(X2,), (a(2, 6),), (a(5, 5),)]),
    ("StatefulPeepholeLSTM", (6, 3), each({}), [(X2,)]),
    ("StatelessGRU", (6, 3), each({}, {"inner_init": 0.5}), [(a(4, 3), X2), (a(4, 2), X2)]),
    ("StatefulGRU", (6, 3), each({}, {"bias_init": 0.5}), [(X2,)]),
    ("StatelessMGU", (6, 3), each({}), [(a(4, 3), X2)]),
    ("StatefulMGU", (6, 3), each({}), [(X2,)]),
    ("ChildSumTreeLSTM", (6, 3), each({}), [(a(4, 3), a(4, 3, seed=1), a(4, 3, seed=2), a(4, 3, seed=3), X2), (X2,)]),
    ("ChildSumTreeLSTM", (6, 3), each({}), [(a(4, 3), X2), (None, None, X2), (None, a(4, 3), a(4, 3), None, None)]),
    ("NaryTreeLSTM", (6, 3), each({}, {"n_ary": 1}, {"n_ary": 0}, {"n_ary": 3}), [(a(4, 3), a(4, 3, seed=1), X2)]),
    ("NaryTreeLSTM", (6, 3), each({}), [(a(4, 3),) * 4 + (X2,), (None,) * 4 + (X2,), (None,) * 5]),
    ("NStepLSTM", (2, 4, 3, 0.0), each({}), [(None, None, SEQUENCES), (a(2, 3, 3), a(2, 3, 3, seed=1), SEQUENCES)]),
    ("NStepBiLSTM", (1, 4, 3, 0.0), each({}), [(None, None, SEQUENCES), (None, None, SEQUENCES[0])]),
    ("NStepGRU", (2, 4, 3, 0.0), each({}), [(None, SEQUENCES), (a(2, 3, 3), SEQUENCES), (None, tuple(SEQUENCES))]),
    ("NStepBiGRU", (1, 4, 3, 0.0), each({}), [(None, SEQUENCES)]),
    ("NStepRNNTanh", (2, 4, 3, 0.0), each({}), [(None, SEQUENCES), (a(2, 3, 3), SEQUENCES)]),
    ("NStepBiRNNTanh", (1, 4, 3, 0.0), each({}), [(None, SEQUENCES)]),
    ("NStepRNNReLU", (2, 4, 3, 0.0), each({}), [(None, SEQUENCES)]),
    ("NStepBiRNNReLU", (1, 4, 3, 0.0), each({}), [(None, SEQUENCES)]),
    ("CRF1d", (4,), each({}), [(SEQUENCES, [i(3), i(2), i(1)]), ([a(2, 5)], [i(2)])]),
]


def outcomes(make, calls, wrap, given=None):
    """The link, and what each call of it gives: arrays, or None where it raises."""
    try:
        link = make()
    except Exception:
        return None, []
    if given is not None:
        load_npz(given, link)
    found = []
    for args in calls:
        if hasattr(link, "reset_state"):
            link.reset_state()
        try:
            found.append([plain(part) for part in parts(link(*[ready(arg, wrap) for arg in args]))])
        except Exception:
            found.append(None)
    return link, found


def ready(value, wrap):
    if isinstance(value, (list, tuple)):
        return type(value)(ready(one, wrap) for one in value)
    return wrap(value.copy()) if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: f"{CASES[number][0]}-{number}")
def test_links_at_the_borders(number):
    check(number, next(getattr(room, CASES[number][0]) for room in ROOMS if hasattr(room, CASES[number][0])))


@pytest.mark.parametrize(
    "number",
    [number for number, (name, *_) in enumerate(CASES) if hasattr(small_links, name)],
    ids=lambda number: f"{CASES[number][0]}-{number}",
)
def test_short_links_at_the_borders(number):
    check(number, getattr(small_links, CASES[number][0]))


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: f"{CASES[number][0]}-{number}")
def test_links_of_single_examples(number):
    """Of one example the second one is not there. What Chainer refuses is not asked."""
    name, _, _, calls = CASES[number]
    single = [cut(call, 0) for call in calls[:2]]
    check(number, next(getattr(room, name) for room in ROOMS if hasattr(room, name)), single)


def check(number, ours_class, single=None):
    name, args, ways, calls = CASES[number]
    wrong, calls = [], single or calls
    for keywords in ways:
        for (
            call
        ) in calls:  # alone: a lazy link takes its shape from the first one, and a refused one may have an effect
            for train in (True, False):
                np.random.seed(0)
                torch.manual_seed(0)
                with warnings.catch_warnings(), np.errstate(all="ignore"), chainer.using_config("train", train):
                    warnings.simplefilter("ignore")
                    link, theirs = outcomes(lambda: getattr(L, name)(*args, **keywords), [call], variable)  # noqa: B023
                    fresh = None
                    if theirs and theirs[0] is not None:
                        made = getattr(L, name)(*args, **keywords)
                        with chainer.using_config("train", False):
                            made(*[ready(arg, variable) for arg in call])  # a lazy one gets its shapes
                        if hasattr(made, "reset_state"):
                            made.reset_state()
                        fresh = npz_of(made)
                        theirs = [[plain(part) for part in parts(made(*[ready(arg, variable) for arg in call]))]]
                    module, ours = outcomes(
                        lambda: ours_class(*args, **keywords).train(train),  # noqa: B023
                        [call],
                        tensor,
                        fresh,
                    )
                shapes = [getattr(one, "shape", type(one).__name__) for one in call]
                what = f"{keywords} {shapes} {'train' if train else 'test'}"
                refused = link is None or theirs == [None], module is None or ours == [None]
                if single and refused[0]:
                    continue
                if refused[0] != refused[1]:
                    wrong.append(f"{what}: raises: {refused[0]} there, {refused[1]} here")
                elif not refused[0]:
                    wrong += [f"{what}: {text}" for text in differences(theirs[0], ours[0])]
    assert not wrong, "\n".join(wrong)


def differences(theirs, ours):
    if len(theirs) != len(ours):
        yield "another number of results"
        return
    for one, other in zip(theirs, ours, strict=True):
        if (one is None) != (other is None) or one is not None and one.shape != other.shape:
            yield f"another shape: {getattr(one, 'shape', None)}, {getattr(other, 'shape', None)}"
        elif one is not None and not np.allclose(one, other, rtol=1e-3, atol=1e-4, equal_nan=True):
            yield f"another value: {np.abs(one - other).max()}"


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: f"{CASES[number][0]}-{number}")
def test_first_values(number):
    """Of what is constant in Chainer; what is drawn has its deviation, as far as so few numbers show it."""
    name, args, ways, calls = CASES[number]
    ours_class = next(getattr(room, name) for room in ROOMS if hasattr(room, name))
    for keywords in ways:
        with warnings.catch_warnings(), np.errstate(all="ignore"), chainer.using_config("train", False):
            warnings.simplefilter("ignore")
            link, theirs = outcomes(lambda: getattr(L, name)(*args, **keywords), calls[:1], variable)  # noqa: B023
            module, _ = outcomes(lambda: ours_class(*args, **keywords).eval(), calls[:1], tensor)  # noqa: B023
        if link is None or theirs == [None]:
            continue
        expected, found = arrays_of(link), arrays_of(module)
        assert set(expected) == set(found)
        for key, array in expected.items():
            if array.dtype.kind != "f" or not array.size:
                continue
            if np.ptp(array) == 0 or array.size < 48:
                assert np.ptp(array) != 0 or np.array_equal(found[key], array), (keywords, key)
            else:
                assert 0.5 < found[key].std() / array.std() < 2, (keywords, key)


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: f"{CASES[number][0]}-{number}")
def test_attributes_by_name(number):
    """What Chainer's link calls its parameters and values, asked of a module whose own names may be others."""
    name, args, ways, calls = CASES[number]
    ours_class = next(getattr(room, name) for room in ROOMS if hasattr(room, name))
    for keywords in ways:
        with warnings.catch_warnings(), np.errstate(all="ignore"), chainer.using_config("train", False):
            warnings.simplefilter("ignore")
            link, theirs = outcomes(lambda: getattr(L, name)(*args, **keywords), calls[:1], variable)  # noqa: B023
            if link is None or theirs == [None]:
                continue
            module, _ = outcomes(lambda: ours_class(*args, **keywords).eval(), calls[:1], tensor, npz_of(link))  # noqa: B023
        for key in ("W", "b", "gamma", "beta", "avg_mean", "avg_var", "N", *link._params, *link._persistent):
            expected, found = getattr(link, key, "none"), link_names.link_attribute(module, key, "none")
            if isinstance(expected, str):
                assert found == "none", key
            elif expected is None or found is None:
                assert expected is found, key
            elif isinstance(expected, chainer.Link):
                assert isinstance(found, torch.nn.Module), key
            else:
                np.testing.assert_allclose(plain(found), plain(expected), err_msg=key)
