"""Sources that define scenarios and records call nothing whose last bit differs between machines.

What ``tests/ulp.py`` cannot replace is found here in the sources: the operators ``@`` and ``**`` (Python's ``x ** 2``
is libm's ``pow``, which differs from ``x * x`` in one of a thousand cases), the draws of a ``Generator``, sorting that
is not stable, products of arrays by ``.dot``, parts of SciPy that nobody has looked at, and every function that has a
counterpart in ``sidestep._util.exact``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import sidestep
from tests.ulp import MATH, NUMPY

ROOT = Path(sidestep.__file__).parent
PACKAGES = (
    "scenes", "simulation", "policies", "prediction", "suites", "kernels", "datasets", "types", "records", "runs",
)  # fmt: skip
DRAWS = frozenset(
    {
        "normal", "lognormal", "exponential", "poisson", "uniform", "standard_normal", "standard_exponential", "gamma",
        "beta", "vonmises", "triangular", "multivariate_normal", "binomial", "geometric", "weibull", "laplace",
    }
)  # fmt: skip
SCIPY = frozenset(
    {
        "scipy.spatial.KDTree", "scipy.spatial.cKDTree", "scipy.spatial.Voronoi", "scipy.sparse.csr_matrix",
        "scipy.sparse.csgraph.dijkstra", "scipy.sparse.csgraph.connected_components",
        "scipy.ndimage.distance_transform_edt",
    }
)  # fmt: skip
"""Used so that no last bit matters: ``tests/ulp.py`` moves the trees, the others add or count whole numbers."""
WHOLE_SUMS = frozenset(
    {
        "scenes/intersections/opendrive/network.py", "simulation/referee.py", "simulation/crowd/synthetic/people.py",
        "simulation/crowd/behaviour/journeys.py", "policies/cadrl/network.py", "prediction/predictors/network_input.py",
        "records/read.py", "datasets/eth_ucy.py", "datasets/annotations.py", "leaderboard/unpack.py",
        "runs/finished.py", "runs/remote/guest_keeper.py", "runs/results_table.py",
    }
)  # fmt: skip
"""Files that use Python's ``sum`` for whole numbers; of floats it has other last bits from Python 3.12 on."""
ORDERS = ("argsort", "argpartition", "partition")
COMPILED = frozenset({"kernel", "inlined", "njit", "jit"})

ALLOWED = {
    "datasets/sanity.py": "judges recordings for people; nothing in them changes",
    "policies/visual": "neural networks over pictures: ONNX differs between machines anyway",
    "runs/remote/client.py": "runs in the process of a policy from elsewhere",
    "runs/remote/joystick_state.py": "what a SocNavBench client is told",
    **dict.fromkeys(
        (f"prediction/data/{name}.py" for name in ("assemble", "corridor", "from_records", "recorded", "samples")),
        "reads recordings and records to data for predictors; no scenario or record follows from it",
    ),
    **dict.fromkeys(
        (
            f"prediction/{name}.py"
            for name in ("bootstrap", "forecasts", "loop", "loop_summary", "roc", "scores", "toy")
        ),
        "scores of predictors and of finished runs",
    ),
    "prediction/ground.py": "pictures for networks, whose answers differ between machines anyway",
    **dict.fromkeys(("prediction/plots.py", "prediction/training"), "plots and training"),
    **dict.fromkeys(("records/exports", "records/lerobot_layout.py"), "written for other programs"),
    "render/raster/surface.py": "pictures",
}
"""Folders and files that define nothing at run time, with the reason."""


def _is_compiled(function: ast.FunctionDef) -> bool:
    names = [node.func if isinstance(node, ast.Call) else node for node in function.decorator_list]
    return any(isinstance(node, ast.Name) and node.id in COMPILED for node in names)


def _is_whole(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _spelled(node: ast.expr) -> str:
    """``np.linalg.norm`` of an attribute, else an empty text."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (start := _spelled(node.value)):
        return f"{start}.{node.attr}"
    return ""


def _counts(node: ast.expr) -> bool:
    """Whether the values of a sum are lengths or comparisons: ``len(x) for x in …``, ``x > 0 for x in …``."""
    if isinstance(node, ast.GeneratorExp):
        element = node.elt
        return isinstance(element, ast.Compare) or (isinstance(element, ast.Call) and _spelled(element.func) == "len")
    return isinstance(node, ast.Call) and _spelled(node.func) == "map" and _spelled(node.args[0]) == "len"


class _Finder(ast.NodeVisitor):
    def __init__(self) -> None:
        self.found: set[str] = set()
        self._compiled = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        compiled = _is_compiled(node)
        self._compiled += compiled
        self.generic_visit(node)
        self._compiled -= compiled

    def _operator(self, operator: ast.operator, base: ast.expr | None, right: ast.expr) -> None:
        if isinstance(operator, ast.MatMult):
            self.found.add("@")
        if isinstance(operator, ast.Pow):
            whole = _is_whole(right) and (self._compiled > 0 or (base is not None and _is_whole(base)))
            if not whole:  # compiled code multiplies for whole powers
                self.found.add("**")

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self._operator(node.op, node.left, node.right)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._operator(node.op, None, node.value)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = _spelled(node)
        module, _, rest = name.partition(".")
        if module in ("np", "numpy"):
            if rest.startswith("linalg.") or (rest in NUMPY and rest != "arange"):
                self.found.add(name)
        elif module == "math" and rest in MATH:
            self.found.add(name)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute) and node.func.attr in DRAWS and _spelled(node.func.value) != "exact":
            self.found.add(f"draw {node.func.attr}")
        if isinstance(node.func, ast.Attribute) and node.func.attr in ORDERS:
            stable = any(
                word.arg == "kind" and isinstance(word.value, ast.Constant) and word.value.value == "stable"
                for word in node.keywords
            )
            if not stable and not (node.func.attr == "partition" and not _spelled(node.func).startswith("np.")):
                self.found.add(node.func.attr)  # vector instructions put equal values into another order
        if isinstance(node.func, ast.Name) and node.func.id == "sum" and not _counts(node.args[0]):
            self.found.add("sum")
        if isinstance(node.func, ast.Attribute) and node.func.attr == "dot":
            self.found.add("dot")
        if _spelled(node.func) == "np.arange" and (
            len(node.args) > 2 or any(isinstance(a, ast.Constant) and isinstance(a.value, float) for a in node.args)
        ):
            step = node.args[2] if len(node.args) > 2 else None
            if step is None or not _is_whole(step):
                self.found.add("np.arange")
        self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module == "math":
            self.found.update(f"math.{alias.name}" for alias in node.names if alias.name in MATH)
        if (node.module or "").split(".")[0] == "scipy":
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            self.found.update(names - SCIPY)

    def visit_Import(self, node: ast.Import) -> None:
        self.found.update(alias.name for alias in node.names if alias.name.startswith("scipy."))


def offenders(source: str) -> set[str]:
    """Names of what the source calls and should not."""
    finder = _Finder()
    finder.visit(ast.parse(source))
    return finder.found


def _sources() -> Iterator[tuple[str, set[str]]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not any(name == allowed or name.startswith(f"{allowed}/") for allowed in ALLOWED):
                found = offenders(path.read_text(encoding="utf-8"))
                yield name, found - {"sum"} if name in WHOLE_SUMS else found


def test_every_package_is_looked_at_or_known_to_define_nothing():
    """A new package is either listed above or does not make scenarios, commands or records."""
    reads_only = {"_util", "cli", "gym", "leaderboard", "learning", "metrics", "render", "report", "studies"}
    found = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert found == reads_only | set(PACKAGES)


def test_nothing_is_allowed_without_need():
    unneeded = [
        name for name in ALLOWED if (ROOT / name).is_file() and not offenders((ROOT / name).read_text(encoding="utf-8"))
    ]
    assert unneeded == []
    assert all((ROOT / name).exists() for name in ALLOWED)


def test_sources_use_functions_with_the_same_bits_everywhere():
    found = {name: names for name, names in _sources() if names}
    assert not found, "use sidestep._util.exact (or kernels.approx in kernels) instead: " + "; ".join(
        f"{name}: {', '.join(sorted(names))}" for name, names in found.items()
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a @ b", {"@"}),
        ("a @= b", {"@"}),
        ("x ** 2", {"**"}),
        ("x **= 0.5", {"**"}),
        ("2 ** 10", set()),
        ("@kernel\ndef f(x):\n    return x ** 2", set()),
        ("@kernel(allocates=True)\ndef f(x):\n    return x ** 0.5 + math.exp(x)", {"**", "math.exp"}),
        ("np.sin(x) + np.sqrt(x) + math.sqrt(x)", {"np.sin"}),
        ("np.linalg.norm(x)", {"np.linalg.norm"}),
        ("from math import atan2, sqrt", {"math.atan2"}),
        ("rng.normal(0, 1) + exact.normal(rng)", {"draw normal"}),
        ("self.rng.uniform(0, 1)", {"draw uniform"}),
        ("np.arange(0, length, step) + np.arange(n) + np.arange(0, 9, 2)", {"np.arange"}),
        ("from scipy.special import ndtri", {"scipy.special.ndtri"}),
        ("from scipy.spatial import KDTree, distance", {"scipy.spatial.distance"}),
        ("import scipy.signal", {"scipy.signal"}),
        ("a.dot(b) + np.dot(a, b)", {"dot", "np.dot"}),
        ("np.partition(x, 3) + name.partition('.')", {"partition"}),
        ("sum(x) + sum(len(a) for a in b) + sum(map(len, b)) + sum(a > 0 for a in b) + x.sum()", {"sum"}),
        ("sum(a.length for a in b)", {"sum"}),
        ("np.argsort(x) + y.argsort(kind='stable')", {"argsort"}),
    ],
)
def test_the_search_finds_them(source, expected):
    assert offenders(source) == expected
