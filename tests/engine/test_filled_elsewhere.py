"""Lists and dictionaries that another function fills than the one that made them hold what is put there."""

import pytest

from tests.generated import judge, printed_judge, values

_PROGRAMS = {
    "handed": "h = []\nput_into(h, loss.data)\nprint(h)\nfor v in h:\n    print(v)",
    "by keyword": "def keep(v, into):\n    into.append(v)\nh = []\nkeep(loss.data, into=h)\nprint(h)",
    "handed on": (
        "def twice(items, v):\n    put_into(items, v)\n    put_into(items, v)\nh = []\ntwice(h, loss.data)\nprint(h)"
    ),
    "extended": (
        "def walk(items, out):\n    for one in items:\n        out.extend([one])\n"
        "h = []\nwalk([loss.data], h)\nprint(h)"
    ),
    "under a key": "d = {}\nput_under(d, 'a', loss.data)\nprint(d['a'], d)\nfor k, v in d.items():\n    print(k, v)",
    "shapes": "h = []\nput_into(h, model(xs).shape)\nprint(h, h[0])",
    "by a closure": (
        "h = []\ndef end(v):\n    h.append({'v': v})\nend(loss.data)\nfor row in h:\n    print(row['v'])\nprint(h[0])"
    ),
    "by a method inside": (
        "seen = {}\nclass Hook(object):\n    def __call__(self, v):\n"
        "        seen[v.shape[0]] = v.data\n"
        "Hook()(model(xs))\nprint(seen)"
    ),
    "by a closure with keywords": (
        "d = collections.OrderedDict()\ndef note(**kw):\n    d.update(kw)\nnote(loss=loss.data)\nprint(list(d.items()))"
    ),
    "an attribute": "box = Box([])\nput_into(box.value, loss.data)\nprint(box.value)",
    "given back": (
        "def collect(v, into=None):\n    into = [] if into is None else into\n"
        "    into.append(v)\n    return into\n"
        "h = collect(loss.data)\ncollect(loss.data, h)\nprint(h)"
    ),
}


@pytest.mark.parametrize("style", ["native", "faithful"])
@pytest.mark.parametrize("name", _PROGRAMS)
def test_what_is_in_them_is_known(name, style):
    text = values.HEAD + "".join(f"    {line}\n" for line in _PROGRAMS[name].split("\n"))
    verdict, detail, both = printed_judge.judged(text, style)
    assert verdict == judge.SAME, f"{detail}\n{both}"
