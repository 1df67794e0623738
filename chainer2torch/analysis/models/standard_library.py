"""What functions of Python's standard library return, where programs do arithmetic or index with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from chainer2torch.analysis.kind_specs import parse_spec
from chainer2torch.analysis.kinds import Kind, Lst
from chainer2torch.analysis.lattice import element_of

_BY_TYPE: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "float": {
            "time": "time clock perf_counter monotonic process_time",
            "math": "sqrt exp log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh pow fabs fmod hypot "
            "radians degrees erf gamma lgamma expm1 fsum",
            "random": "random uniform gauss normalvariate betavariate expovariate triangular lognormvariate",
            "os.path": "getmtime",
        },
        "int": {
            "math": "ceil floor trunc factorial gcd",
            "random": "randint randrange getrandbits",
            "os": "getpid cpu_count",
            "os.path": "getsize",
            "multiprocessing": "cpu_count",
        },
        "str": {
            "os": "getcwd getenv",
            "os.path": "join basename dirname abspath expanduser realpath relpath normpath",
            "time": "strftime ctime asctime",
            "json": "dumps",
        },
        "bool": {"os.path": "exists isfile isdir isabs", "math": "isnan isinf isfinite isclose"},
        "list of str": {"os": "listdir", "glob": "glob"},
        "(str, str)": {"os.path": "splitext split"},
    }
)
_ONE, _SEVERAL = "random.choice", frozenset({"random.sample", "random.choices"})


def _listed() -> Iterator[tuple[str, str]]:
    for spec, modules in _BY_TYPE.items():
        for module, names in modules.items():
            yield from ((f"{module}.{name}", spec) for name in names.split())


_FUNCTIONS: Mapping[str, str] = MappingProxyType(dict(_listed()))


def result(name: str, args: Sequence[Kind]) -> Kind | None:
    """What a function returns; None for one that is not listed."""
    if args and isinstance(args[0], Lst) and (name == _ONE or name in _SEVERAL):
        element = element_of(args[0])
        return element if name == _ONE else Lst(element)
    spec = _FUNCTIONS.get(name)
    return None if spec is None else parse_spec(spec)
