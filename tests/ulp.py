"""Moves the last bit of every floating-point function that differs between machines, to show what depends on it.

``with perturbed(seed): …`` moves each result of NumPy's, ``math``'s, GEOS's (shapely) and Qhull's (SciPy) functions by
-1, 0 or +1 unit in the last place, drawn anew for every number of every call. Search trees get limits and places that
are moved likewise, and answer in another order. Whatever defines a scenario or a record must have the same bits inside
and outside of it::

    expected = digest()
    with perturbed(seed=1):
        assert digest() == expected

Rules for its use:

- Run the code once outside first: kernels that are compiled inside would see the moved functions, which Numba cannot
  compile. Clear caches (``make_town.cache_clear()``) before the second run, or it computes nothing.
- Modules that are imported for the first time inside keep the originals of names taken with ``from math import …``;
  the run outside has imported them.
- Zeros, infinities and NaN stay as they are. Of geometries only coordinates that the operation made move; those that
  it copied from its arguments are the same on every machine, as are results that are rounded to a grid
  (``grid_size=``, ``set_precision``).
- ``np.sqrt``, ``+ - * /``, rounding, sums and comparisons are defined to the bit by IEEE 754 or by NumPy's order of
  summation, and stay. The operators ``@`` and ``**`` and the draws of a ``Generator`` cannot be replaced here:
  ``tests/test_portable_sources.py`` finds them in the sources.
"""

from __future__ import annotations

import contextlib
import functools
import math
import random
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.spatial
import shapely

NUMPY = (
    "sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "hypot", "sinh", "cosh", "tanh", "arcsinh", "arccosh",
    "arctanh", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "logaddexp2", "power",
    "float_power", "pow", "cbrt", "sinc", "angle", "dot", "vdot", "inner", "matmul", "vecdot", "matvec", "vecmat",
    "tensordot", "einsum", "interp", "convolve", "correlate", "cov", "corrcoef", "arange",
)  # fmt: skip
LINALG = ("norm", "det", "inv", "solve", "lstsq", "pinv", "vector_norm", "matmul", "matrix_power", "multi_dot")
MATH = (
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "hypot", "dist", "sinh", "cosh", "tanh", "asinh", "acosh",
    "atanh", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "pow", "cbrt", "erf", "erfc", "gamma", "lgamma",
    "sumprod",
)  # fmt: skip
GEOMETRIES = (
    "buffer", "centroid", "clip_by_rect", "coverage_union", "difference", "disjoint_subset_union", "intersection",
    "intersection_all", "line_interpolate_point", "line_interpolate_point_normalized", "make_valid_with_params",
    "maximum_inscribed_circle", "minimum_bounding_circle", "minimum_clearance_line", "node", "offset_curve",
    "oriented_envelope", "point_on_surface", "segmentize", "shortest_line", "symmetric_difference",
    "symmetric_difference_all", "unary_union", "union", "voronoi_polygons",
)  # fmt: skip
MEASURES = (
    "area", "distance", "frechet_distance", "hausdorff_distance", "length", "line_locate_point",
    "line_locate_point_normalized", "minimum_bounding_radius", "minimum_clearance", "minimum_width",
)  # fmt: skip


LIMITS = ("dwithin", "simplify", "simplify_preserve_topology")
"""Of geometries and a distance that decides: that distance moves."""


class _Moved:
    """A function whose results are moved; everything else (``np.hypot.reduce``, ``nin``) is the original's."""

    def __init__(self, original: Callable[..., Any], move: Callable[[Any, tuple[Any, ...]], Any]) -> None:
        self._original, self._move = original, move
        functools.update_wrapper(self, original, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._move(self._original(*args, **kwargs), args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


class _Mover:
    """Draws the moves. Its own arithmetic uses nothing that is moved."""

    def __init__(self, seed: int) -> None:
        self._many, self._one = np.random.default_rng(seed), random.Random(seed)

    def number(self, value: float) -> float:
        step = self._one.randrange(-1, 2)
        if step == 0 or value == 0.0 or not math.isfinite(value):
            return value
        return math.nextafter(value, step * math.inf)

    def array(self, values: Any) -> Any:
        step = self._many.integers(-1, 2, values.shape)
        moved = np.nextafter(values, np.where(step > 0, np.inf, -np.inf).astype(values.dtype))
        return np.where((step == 0) | (values == 0.0) | ~np.isfinite(values), values, moved)

    def result(self, value: Any, _: tuple[Any, ...] = ()) -> Any:
        """Of a numerical function: floats and float arrays move, everything else stays."""
        if isinstance(value, np.floating):
            return value.dtype.type(self.array(np.asarray(value))[()])
        if isinstance(value, float):
            return self.number(value)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            value[...] = self.array(value)  # in place: it may be the caller's ``out``
        elif isinstance(value, tuple):
            return (
                type(value)(*(self.result(item) for item in value))
                if hasattr(value, "_fields")
                else tuple(self.result(item) for item in value)
            )
        return value

    def limit(self, value: Any) -> Any:
        """An argument that others are compared with."""
        return self.array(np.asarray(value, np.float64)) if np.ndim(value) else self.number(float(value))

    def places(self, values: Any) -> Any:
        """Where a search tree is asked for what is near."""
        return self.array(np.asarray(values, np.float64))

    def order(self, values: Any) -> Any:
        """Rows in another order."""
        return values[self._many.permutation(len(values))]

    def geometry(self, value: Any, args: tuple[Any, ...]) -> Any:
        """Of a geometrical function: coordinates move that are in none of the arguments."""
        given = [np.asarray(arg, dtype=object) for arg in args if _holds_geometries(arg)]
        known = {pair for arg in given for pair in map(tuple, shapely.get_coordinates(arg).tolist())}

        def move(coordinates: Any) -> Any:
            new = np.array([pair not in known for pair in map(tuple, coordinates.tolist())], bool)
            moved = self.array(coordinates)
            ring: dict[tuple[float, float], Any] = {}  # the last corner of a ring stays the first one
            for k in np.flatnonzero(new).tolist():
                moved[k] = ring.setdefault(tuple(coordinates[k].tolist()), moved[k])
            moved[~new] = coordinates[~new]
            return moved

        return value if not _holds_geometries(value) else shapely.transform(value, move)


def _holds_geometries(value: Any) -> bool:
    if isinstance(value, shapely.Geometry):
        return True
    return isinstance(value, np.ndarray | list) and np.asarray(value, dtype=object).dtype == object


@contextlib.contextmanager
def perturbed(seed: int) -> Iterator[None]:
    """Every function named in this file with results that are off by at most one unit in the last place."""
    mover = _Mover(seed)
    replaced: dict[int, tuple[Any, Any]] = {}  # by the id of the original
    undo: list[tuple[Any, str, Any]] = []

    def patch(module: Any, name: str, move: Callable[[Any, tuple[Any, ...]], Any]) -> None:
        original = getattr(module, name, None)
        if original is None:
            return  # of a newer or older version
        replace(module, name, replaced.get(id(original), (None, _Moved(original, move)))[1])

    def replace(module: Any, name: str, other: Any) -> None:
        original = getattr(module, name)
        replaced[id(original)] = (original, other)
        undo.append((module, name, original))
        setattr(module, name, other)

    for module, names in ((np, NUMPY), (np.linalg, LINALG), (math, MATH)):
        for name in names:
            patch(module, name, mover.result)
    for name in MEASURES:
        for spelling in (name, f"{name}_scalar"):
            patch(shapely.lib, spelling, mover.result)
    for name in GEOMETRIES:
        for spelling in (name, f"{name}_scalar"):
            patch(shapely.lib, spelling, mover.geometry)
    for name in LIMITS:
        for spelling in (name, f"{name}_scalar"):
            replace(shapely.lib, spelling, partial(_with_moved_limit, getattr(shapely.lib, spelling), mover))
    tree = _moved_tree(mover)
    replace(scipy.spatial, "KDTree", tree)
    replace(scipy.spatial, "cKDTree", tree)
    replace(shapely, "STRtree", _moved_rectangles(mover))
    patch(scipy.spatial, "Voronoi", lambda diagram, _: _with_moved_vertices(diagram, mover))
    for module in [m for n, m in list(sys.modules.items()) if n.split(".")[0] in ("sidestep", "tests") and m]:
        for name, value in list(vars(module).items()):
            if id(value) in replaced and replaced[id(value)][0] is value and module is not sys.modules[__name__]:
                undo.append((module, name, value))
                setattr(module, name, replaced[id(value)][1])
    try:
        yield
    finally:
        for module, name, original in reversed(undo):
            setattr(module, name, original)


def _with_moved_limit(function: Callable[..., Any], mover: _Mover, *args: Any, **kwargs: Any) -> Any:
    *given, limit = args
    return function(*given, mover.limit(limit), **kwargs)


def _moved_tree(mover: _Mover) -> type[Any]:
    """SciPy's search tree: distances are rounded as the compiler likes, and which of two points at one place is found
    depends on how the standard library sorts. Of its searches only those that are used here."""

    class Tree(scipy.spatial.KDTree):
        def __init__(self, data: Any) -> None:
            self._number = mover.order(np.arange(len(data)))
            super().__init__(np.asarray(data, np.float64)[self._number])

        def query(self, x: Any, k: int = 1) -> Any:
            distance, index = super().query(mover.places(x), k)
            return mover.result(distance), self._number[index]

        def query_ball_point(self, x: Any, r: float) -> Any:
            return self._number[super().query_ball_point(x, mover.limit(r))].tolist()

        def query_pairs(self, r: float, output_type: str) -> Any:
            return np.sort(self._number[super().query_pairs(mover.limit(r), output_type=output_type)], axis=1)

    return Tree


def _moved_rectangles(mover: _Mover) -> type[Any]:
    """GEOS's search tree, whose order depends on how the standard library sorts."""

    class Tree(shapely.STRtree):
        def query(self, geometry: Any, predicate: Any = None, distance: Any = None) -> Any:
            limit = None if distance is None else mover.limit(distance)
            found = super().query(geometry, predicate, limit)
            if found.ndim == 1:
                return mover.order(found)
            shuffled = mover.order(found.T)
            return shuffled[np.argsort(shuffled[:, 0], kind="stable")].T

        def nearest(self, geometry: Any) -> Any:
            return super().nearest(shapely.transform(geometry, mover.array))

    return Tree


def _with_moved_vertices(diagram: Any, mover: _Mover) -> Any:
    """Moved, and with ridges in another order: Qhull's depends on last bits where many points lie on a circle."""
    diagram.vertices = mover.array(np.asarray(diagram.vertices))
    order = np.random.default_rng(len(diagram.vertices)).permutation(len(diagram.ridge_points))
    diagram.ridge_points = diagram.ridge_points[order]
    diagram.ridge_vertices = [diagram.ridge_vertices[k] for k in order]
    return diagram
