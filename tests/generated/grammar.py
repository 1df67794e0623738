"""Composes whole small programs of Chainer: a model, a way to train it, and what they say on the way.

A value is tracked as text with its sort (``images``, ``vectors``, ``rows``) and sizes, so that nearly all programs run.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable

from tests.generated import endings, loops, stacks

HEAD = """\
import collections
import contextlib
import copy
import itertools
import json

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import iterators, optimizers, training
from chainer.dataset import concat_examples

"""
_SMOOTH = ("tanh", "sigmoid", "softplus", "elu", "relu", "leaky_relu", "arctan", "sin", "erf", "hard_sigmoid")
N = 6


@dataclasses.dataclass
class Value:
    """What ``h`` is at a place of ``forward``."""

    sort: str
    sizes: list[int]  # without the batch


class Program:
    """One program, from a seed."""

    def __init__(self, seed: int):
        self.draw = random.Random(seed)
        self.links: list[str] = []
        self.lines: list[str] = []
        self.value = Value("vectors", [4])
        self.words = False
        self.tied: list[str] = []  # statements behind the links

    # -- the model ---------------------------------------------------------------------------------------------------

    def link(self, call: str) -> str:
        """A new link's name."""
        name = f"{self.draw.choice(['l', 'fc', 'layer'])}{len(self.links)}"
        self.links.append(f"self.{name} = {call}")
        return name

    def say(self, line: str) -> None:
        """A line of ``forward``."""
        self.lines.append(line)

    def text(self) -> str:
        """The whole program."""
        draw = self.draw
        self.begin = draw.choice(["vectors", "vectors", "images", "words", "signals"])
        shape = {"vectors": [draw.randint(3, 6)], "images": [draw.randint(1, 3), 8, 8], "words": [5], "signals": [3, 8]}
        self.shape = shape[self.begin]
        self.value = Value(self.begin, list(self.shape))
        if self.begin == "words":
            size = draw.randint(3, 5)
            name = self.link(f"L.EmbedID(7, {size}{draw.choice(['', ', ignore_label=-1'])})")
            self.say(f"h = self.{name}(x)")
            self.value = Value("rows", [5, size])
        elif self.begin == "signals":
            size = draw.randint(2, 4)
            name = self.link(f"L.ConvolutionND(1, 3, {size}, 3, pad=1)")
            self.say(f"h = self.{name}(x)")
            self.value = Value("rows", [size, 8])
        else:
            self.say("h = x")
        for _ in range(draw.randint(2, 6)):
            self.step()
        self.to_vectors()
        self.classes = draw.randint(2, 4)
        last = self.link(f"L.Linear({self.value.sizes[0]}, {self.classes})")
        self.last = last
        self.say(f"return self.{last}(h)")
        return HEAD + loops.FUNCTIONS + endings.FUNCTIONS + self.model() + self.training()

    def step(self) -> None:
        """One more operation on ``h``."""
        moves: dict[str, list[Callable[[], None]]] = {
            "vectors": [
                self.linear,
                self.linear,
                self.norm,
                self.activate,
                self.arithmetic,
                self.shuffle_axes,
                self.gate,
                self.block,
                self.stack,
                self.modes,
            ],
            "images": [
                self.convolve,
                self.convolve,
                self.pool,
                self.norm,
                self.activate,
                self.arithmetic,
                self.modes,
            ],
            "rows": [self.recur, self.pool_rows, self.activate, self.arithmetic, self.attend, self.modes],
        }
        self.draw.choice(moves[self.value.sort])()

    def activate(self) -> None:
        name = self.draw.choice(_SMOOTH)
        form = self.draw.choice(["h = F.{}(h)", "h = F.{}(h) + h", "act = F.{}\n        h = act(h)", "h = h * F.{}(h)"])
        self.say(form.format(name))

    def arithmetic(self) -> None:
        axis = self.draw.randint(1, len(self.value.sizes))
        self.say(
            self.draw.choice(
                [
                    "h = h * 0.5 + 1",
                    "h = 1 - h",
                    "h = h / (1 + F.absolute(h))",
                    f"h = h - F.broadcast_to(F.mean(h, axis={axis}, keepdims=True), h.shape)",
                    f"h = F.softmax(h, axis={axis})",
                    f"h = F.log_softmax(h, axis={axis})",
                    "h = F.clip(h, -1.0, 1.5)",
                    "h = F.where(h.array > 0, h, 0.1 * h)",
                    "h = F.sqrt(F.square(h) + 1e-3)",
                    "h = F.maximum(h, 0.3 * h)",
                    "h = F.minimum(h, h * h)",
                    "h = -h ** 2",
                    f"h = F.normalize(h, axis={axis})",
                    "h = F.exp(-F.absolute(h))",
                    "h = sum([h, 0.5 * h])",
                    "for i in range(2):\n            h = h + 0.1 * F.tanh(h) * i",
                    "if h.shape[0] > 2:\n            h = F.relu(h)\n        else:\n            h = -h",
                    "xp = self.xp\n        h = h * xp.ones(h.shape, dtype=h.dtype)",
                    "h = h + chainer.Variable(h.array)",
                    "self.seen = float(F.sum(h).array)\n        h = h * 1.0",
                    f"h = F.cumsum(h, axis={axis})",
                    "h = F.flip(h, axis=1)",
                    "h = F.dropout(h, ratio=0.0)",
                    "h = bell(h, 0.5)",
                    "h = bell(h, h.array.mean())",
                    "with chainer.no_backprop_mode():\n            g = F.mean(h)\n        h = h + g.array",
                ]
            )
        )

    def linear(self) -> None:
        size, out = self.value.sizes[0], self.draw.randint(2, 6)
        call = self.draw.choice(
            [
                f"L.Linear({size}, {out})",
                f"L.Linear(None, {out})",
                f"L.Linear({out})",
                f"L.Linear({size}, {out}, nobias=True)",
                f"L.Linear(in_size={size}, out_size={out}, initialW=chainer.initializers.HeNormal())",
                f"L.Linear({size}, {out}, initialW=chainer.initializers.Normal(0.1, dtype=np.float32))",
                f"L.Maxout({size}, {out}, 2)",
                f"L.Highway({size})",
                f"L.GRU({size}, {out})",
                f"L.LSTM({size}, {out})",
            ]
        )
        name = self.link(call)
        self.value.sizes = [size if "Highway" in call else out]
        if "GRU" in call or "LSTM" in call:
            self.say(f"self.{name}.reset_state()")
        self.say(f"h = self.{name}(h)")

    def block(self) -> None:
        """Links that another holds."""
        size = self.value.sizes[0]
        inner = f"L.Linear({size}, 3), L.Linear(3, {size})"
        held, call = self.draw.choice(
            [
                (f"chainer.Sequential({inner.replace('), L', '), F.tanh, L')})", "h = self.NAME(h)"),
                (f"chainer.ChainList({inner})", "for link in self.NAME:\n            h = F.tanh(link(h))"),
                (f"chainer.ChainList({inner})", "a, b = self.NAME\n        h = b(F.relu(a(h)))"),
                (f"chainer.ChainList({inner})", "h = self.NAME[1](F.tanh(self.NAME[0](h)))"),
                (
                    f"chainer.ChainList({inner})",
                    "for i, link in enumerate(self.NAME.children()):\n            h = link(h) * (i + 1)",
                ),
                (f"L.Linear({size}, {size}).repeat(2)", "h = self.NAME(h)"),
                (f"chainer.Sequential(L.Linear({size}, {size}), F.tanh).repeat(2)", "h = self.NAME(h)"),
                (f"L.Linear({size}, {size}).copy(mode='init')", "h = F.tanh(self.NAME(h))"),
            ]
        )
        self.say(call.replace("NAME", self.link(held)))

    def stack(self) -> None:
        """Links under computed names."""
        begin, size = f"s{len(self.tied)}_", str(self.value.sizes[0])
        made, taken = (self.draw.choice(texts).replace("K", begin) for texts in (stacks.MADE, stacks.TAKEN))
        self.tied.append(made.replace("N", size))
        self.say(taken)

    def modes(self) -> None:
        """Dropout that never drops: only where the mode is wrong it does."""
        self.say(
            self.draw.choice(
                [
                    "with chainer.using_config('train', False):\n            h = F.dropout(h, ratio=0.5)",
                    "off = h.shape[0] < 0\n        with chainer.using_config('train', off):\n"
                    "            h = F.dropout(h, 0.6) * 1.0",
                    "if not chainer.config.train:\n            h = F.dropout(h)",
                    "h = F.dropout(h, 0.0 if chainer.config.train else 0.5)",
                    "def noisy(v):\n            return F.dropout(v, 0.5)\n"
                    "        with chainer.using_config('train', False):\n            h = noisy(h)",
                    "try:\n            with chainer.using_config('train', False):\n"
                    "                h = stopped(F.dropout(h, 0.5))\n"
                    "        except ValueError:\n            h = F.dropout(h, 0.0 if chainer.config.train else 0.9)",
                    "with chainer.using_config('train', False):\n            for f in (F.tanh, F.dropout):\n"
                    "                h = f(h)",
                    "with chainer.using_config('train', False):\n            for f in self.kept:\n"
                    "                h = f(h)",
                    "with chainer.using_config('train', False):\n            h = self.noise(h)",
                    "with chainer.using_config('train', False):\n"
                    "            h = applied({'drop': F.dropout}['drop'], h)",
                ]
            )
        )
        used = ("self.kept = [F.relu, F.dropout]", "self.noise = lambda v: F.dropout(v, 0.5)")
        self.tied += [line for line in used if line.split(" ")[0] in self.lines[-1] and line not in self.tied]

    def gate(self) -> None:
        size = self.value.sizes[0]
        left, right = self.link(f"L.Linear({size}, {size})"), self.link(f"L.Linear({size}, {size})")
        if self.draw.random() < 0.2:
            self.tied.append(f"self.{right}.W = self.{left}.W")
        self.say(
            self.draw.choice(
                [
                    f"h = F.sigmoid(self.{left}(h)) * self.{right}(h)",
                    f"h = F.concat((self.{left}(h), self.{right}(h)), axis=1)[:, :{size}]",
                    f"a, b = self.{left}(h), self.{right}(h)\n        h = a + b * F.sigmoid(a - b)",
                    f"h = F.stack([self.{left}(h), self.{right}(h)], axis=1)\n        h = F.max(h, axis=1)",
                    f"h = F.bilinear(h, self.{right}(h), np.ones(({size}, {size}, {size}), 'f') * 0.1)",
                    f"h = F.vstack([self.{left}(h), self.{right}(h)])[:h.shape[0]]",
                ]
            )
        )

    def shuffle_axes(self) -> None:
        size = self.value.sizes[0]
        self.say(
            self.draw.choice(
                [
                    "h = h[:, ::-1]",
                    "h = F.transpose(F.transpose(h))",
                    "h = h.reshape(len(h), -1, 1)\n        h = F.squeeze(h, axis=2)",
                    f"h = F.reshape(F.tile(h, (1, 2)), (h.shape[0], 2, {size}))[:, 0]",
                    "h = F.expand_dims(h, 1)\n        h = F.sum(h, axis=1)",
                    "parts = F.split_axis(h, [1], axis=1)\n        h = F.concat(parts[::-1])",
                    f"h = F.get_item(h, (slice(None), slice(0, {size})))",
                    "h = F.matmul(F.matmul(h, h, transb=True), h) * 0.1",
                    "h = F.rollaxis(F.expand_dims(h, 2), 2, 1)\n        h = h[:, 0]",
                    "h = F.swapaxes(F.swapaxes(h, 0, 1), 0, 1)",
                    f"h = F.repeat(h, 2, axis=1)[:, :{size}]",
                    "h = F.pad(h, ((0, 0), (1, 0)), 'constant')[:, 1:]",
                ]
            )
        )

    def norm(self) -> None:
        size = self.value.sizes[0]
        choices = [f"L.BatchNormalization({size})", f"L.BatchNormalization({size}, decay=0.8, eps=1e-3)"]
        if self.value.sort == "vectors":
            choices += [
                f"L.LayerNormalization({size})",
                f"L.Bias(1, ({size},))",
                f"L.Scale(1, ({size},), bias_term=True)",
            ]
        else:
            choices += ["L.GroupNormalization(1)", "L.PReLU()"]
        self.say(f"h = self.{self.link(self.draw.choice(choices))}(h)")

    def convolve(self) -> None:
        channels, side, other = self.value.sizes
        out, ksize, pad = self.draw.randint(1, 4), self.draw.choice([1, 3]), self.draw.randint(0, 1)
        stride = self.draw.choice([1, 1, 2])
        after = (side + 2 * pad - ksize) // stride + 1
        if after < 2:
            return self.activate()
        more = self.draw.choice(["", ", nobias=True", ", dilate=1"])
        inner = self.draw.choice([str(channels), "None"])
        call = f"L.Convolution2D({inner}, {out}, {ksize}, stride={stride}, pad={pad}{more})"
        self.value.sizes = [out, after, (other + 2 * pad - ksize) // stride + 1]
        self.say(f"h = self.{self.link(call)}(h)")

    def pool(self) -> None:
        channels, side, other = self.value.sizes
        if side < 4 or side != other:
            return self.activate()
        form, after = self.draw.choice(
            [
                ("F.max_pooling_2d(h, 2)", (side + 1) // 2),
                ("F.max_pooling_2d(h, 3, stride=2, cover_all=False)", (side - 3) // 2 + 1),
                ("F.average_pooling_2d(h, 2)", side // 2),
                ("F.average_pooling_2d(h, 3, stride=1, pad=1)", side),
                ("F.unpooling_2d(h, 2, cover_all=False)", side * 2),
                ("F.local_response_normalization(h)", side),
                ("F.depth2space(F.space2depth(h, 1), 1)", side),
            ]
        )
        self.value.sizes = [channels, after, after]
        self.say(f"h = {form}")

    def recur(self) -> None:
        length, size = self.value.sizes
        out = self.draw.randint(2, 4)
        if self.draw.random() < 0.5:
            name = self.link(f"L.NStep{self.draw.choice(['LSTM', 'GRU', 'RNNTanh', 'BiLSTM'])}(1, {size}, {out}, 0.0)")
            result = self.links[-1]
            states = "hy, cy, ys" if "LSTM" in result else "hy, ys"
            given = "None, None, xs" if "LSTM" in result else "None, xs"
            self.say("xs = [F.squeeze(v, axis=0) for v in F.split_axis(h, h.shape[0], axis=0)]")
            self.say(f"{states} = self.{name}({given})")
            self.say("h = F.stack(ys)")
            self.value.sizes = [length, out * (2 if "Bi" in result else 1)]
            return
        name = self.link(f"L.{self.draw.choice(['LSTM', 'StatefulGRU'])}({size}, {out})")
        self.say(f"self.{name}.reset_state()")
        self.say(f"ys = []\n        for i in range(h.shape[1]):\n            ys.append(self.{name}(h[:, i]))")
        self.say("h = F.stack(ys, axis=1)")
        self.value.sizes = [length, out]

    def attend(self) -> None:
        self.say(
            self.draw.choice(
                [
                    "a = F.softmax(F.matmul(h, h, transb=True), axis=2)\n        h = F.matmul(a, h)",
                    "h = F.transpose(F.transpose(h, (0, 2, 1)), (0, 2, 1))",
                    "h = F.batch_matmul(F.batch_matmul(h, h, transb=True), h) * 0.1",
                    "h = F.einsum('bij,bkj->bik', h, h)[:, :, :1] * h",
                ]
            )
        )

    def pool_rows(self) -> None:
        length, size = self.value.sizes
        forms = ["h = F.sum(h, axis=1)", "h = F.max(h, axis=1)", "h = h[:, -1]", "h = F.average(h, axis=1)"]
        # of a word that stands there twice, the last bit decides which is the largest
        self.say(self.draw.choice([form for form in forms if self.begin != "words" or "max" not in form]))
        self.value = Value("vectors", [size])

    def to_vectors(self) -> None:
        """Makes ``h`` vectors, for the last layer."""
        if self.value.sort == "rows":
            self.pool_rows()
        elif self.value.sort == "images":
            self.say(
                self.draw.choice(
                    [
                        "h = F.mean(h, axis=(2, 3))",
                        "h = F.max(F.max(h, axis=3), axis=2)",
                        # nothing takes the largest of these: which of equal values is that, rounding decides
                        "h = F.mean(F.resize_images(h, (5, 5)), axis=(2, 3))",
                    ]
                )
            )
            self.value = Value("vectors", [self.value.sizes[0]])

    def model(self) -> str:
        style = self.draw.choice(["scope", "scope", "keywords"])
        init = "    def __init__(self):\n        super().__init__("
        if style == "keywords":
            init += ", ".join(link.removeprefix("self.").replace(" = ", "=", 1) for link in self.links) + ")\n"
        else:
            inner = "\n            ".join(self.links)
            init += f")\n        with self.init_scope():\n            {inner}\n"
        init += "".join(f"        {line}\n" for line in self.tied)
        name = self.draw.choice(["forward", "__call__"])
        body = "\n        ".join(self.lines)
        return f"\nclass Net(chainer.Chain):\n{init}\n    def {name}(self, x):\n        {body}\n\n"

    # -- training ----------------------------------------------------------------------------------------------------

    def training(self) -> str:
        draw = self.draw
        x = (
            "rng.randint(0, 7, (24, 5)).astype('i')"
            if self.begin == "words"
            else f"rng.rand({', '.join(map(str, [24, *self.shape]))}).astype('f')"
        )
        hooks = "".join(
            f"    optimizer.add_hook({hook})\n"
            for hook in draw.sample([*loops.HOOKS, *endings.HOOKS], draw.choice([0, 0, 1, 2]))
        )
        if draw.random() < 0.15:
            hooks += draw.choice(endings.FREEZING)
        loss, target = draw.choice(
            [
                ("F.softmax_cross_entropy({y}, t)", f"rng.randint(0, {self.classes}, 24).astype('i')"),
                ("F.mean_squared_error({y}, t)", f"rng.rand(24, {self.classes}).astype('f')"),
                ("F.sum(F.huber_loss({y}, t, 1.0)) / len(t)", f"rng.rand(24, {self.classes}).astype('f')"),
                ("F.mean_absolute_error({y}, t)", f"rng.rand(24, {self.classes}).astype('f')"),
                ("F.sigmoid_cross_entropy({y}, t)", f"rng.randint(0, 2, (24, {self.classes})).astype('i')"),
            ]
        )
        loop = draw.choice(loops.LOOPS)
        if loop is loops.SHAKEN and any("dropout" in line for line in self.lines):
            loop = loops.PLAIN  # masks come from NumPy's generator on one side only
        if loop is loops.SUMMED and "softmax" in loss and draw.random() < 0.5:
            loop = loops.PADDED + loop
        text = "def train():\n    rng = np.random.RandomState(3)\n    model = Net()\n    begin(model)\n"
        # Signs that cancel: what is left of a gradient is rounding, by whose size some optimizers divide.
        fitting = loops.OPTIMIZERS[:3] if "absolute" in loss else loops.OPTIMIZERS
        text += f"    xs, ts = {x}, {target}\n    optimizer = {draw.choice(fitting)}\n"
        text += f"    optimizer.setup(model)\n{hooks}"
        said = {"LOSS": loss.replace("{y}", "model(x)"), "CLASSES": str(self.classes), "N": str(N)}
        for word, meant in said.items():
            loop = loop.replace(word, meant)
        if draw.random() < 0.2 and (rate := _rate(text)):
            loop += loops.SLOWER.replace("RATE", rate) + loop
        text += "    said = []\n" + loop
        text += draw.choice(loops.EVALUATION).replace("GRAD", f"{self.last}.W")
        text += "".join(draw.sample(endings.ENDINGS, draw.choice([0, 1, 2])))
        normalized = any("Normalization" in link for link in self.links)
        return text.replace("LAST", self.last).replace("NORMALIZED", str(normalized)) + "    return said\n"


def _rate(text: str) -> str:
    """The rate of the optimizer of a program; empty where it has none."""
    return "" if "AdaDelta" in text else "alpha" if "optimizers.Adam(" in text else "lr"
