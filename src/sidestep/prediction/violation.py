"""The probability that people will be in a vehicle's comfort zone, and the least deceleration that keeps the zone free.

The probability of a Gaussian in a polygon has a closed form. In coordinates in which the Gaussian is a standard normal,

    P = W - Σ_edges [T(d, b / d) - T(d, a / d)],

with W the polygon's winding number about the mean, d the signed distance of an edge's line from it, a and b the signed
positions of the edge's ends on that line, and T Owen's function (Owen, Annals of Mathematical Statistics 27, 1956).
``owens_t`` has the same bits on every machine, as drivers need it; SciPy's is several times as fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.prediction.comfort_zone import ComfortZone, DrivingPath, Motion, join_crossings, move
from sidestep.types.base import BoolArray, FloatArray
from sidestep.types.forecast import Forecast, MixtureForecast

FAR_SD = 6.0
"""A polygon farther away than this many standard deviations holds less than 1e-8 of a Gaussian: taken as nothing."""
FLAT = 1e-12
"""Edges whose line passes this near to the mean bound no area with it (in standard deviations)."""


NODES = 20
"""Points of the quadrature of Owen's function; its error is below 1e-10."""
_FARTHEST = 7.0
"""The normal distribution beyond this is below 1e-11."""

OwensT = Callable[[FloatArray, FloatArray], FloatArray]


def _gauss_legendre(count: int) -> tuple[FloatArray, FloatArray]:
    """Points and weights on (0, 1), by Newton's method."""
    points, weights = [], []
    for k in range(count):
        x = float(exact.cos(np.pi * (k + 0.75) / (count + 0.5)))
        for _ in range(20):
            before, value = 1.0, x
            for n in range(2, count + 1):
                before, value = value, ((2 * n - 1) * x * value - (n - 1) * before) / n
            slope = count * (x * value - before) / (x * x - 1.0)
            x -= value / slope
        points.append((x + 1.0) / 2.0)
        weights.append(1.0 / ((1.0 - x * x) * slope * slope))
    return np.array(points), np.array(weights)


_POINTS, _WEIGHTS = _gauss_legendre(NODES)


def _normal_tail(x: FloatArray) -> FloatArray:
    """(n,) probability of a standard normal above ``x`` ≥ 0."""
    x = np.minimum(x, _FARTHEST)
    total = np.zeros(x.shape)
    for point, weight in zip(_POINTS.tolist(), _WEIGHTS.tolist(), strict=True):
        at = x * point
        total += weight * exact.exp(-0.5 * at * at)
    found: FloatArray = 0.5 - x * total / np.sqrt(2.0 * np.pi)
    return found


def owens_t(h: FloatArray, a: FloatArray) -> FloatArray:
    """(n,) Owen's function T(h, a) = 1 / 2π ∫₀ᵃ exp(-h² (1 + x²) / 2) / (1 + x²) dx, for a above 1 by that of 1 / a."""
    h, size = np.abs(h), np.abs(a)
    steep = size > 1.0
    ratio = np.where(steep, 1.0 / np.where(steep, size, 1.0), size)
    height = np.minimum(np.where(steep, h * size, h), 30.0)
    total = np.zeros(height.shape)
    for point, weight in zip(_POINTS.tolist(), _WEIGHTS.tolist(), strict=True):
        at = ratio * point
        widened = 1.0 + at * at
        total += weight * exact.exp(-0.5 * height * height * widened) / widened
    found: FloatArray = ratio * total / (2.0 * np.pi)
    one, other = _normal_tail(h[steep]), _normal_tail(h[steep] * size[steep])
    found[steep] = 0.5 * (one + other) - one * other - found[steep]
    return np.where(a < 0.0, -found, found)


def gaussian_in_polygon(
    mean: FloatArray, covariance: FloatArray, corners: FloatArray, owens: OwensT = owens_t
) -> FloatArray:
    """(…) probability of Gaussians ``mean (…, 2)``, ``covariance (…, 2, 2)`` in simple polygons ``corners (…, V, 2)``,
    counter-clockwise; repeated corners do no harm. Shapes broadcast. ``owens``: Owen's function."""
    shape = np.broadcast_shapes(mean.shape[:-1], corners.shape[:-2])
    near = np.broadcast_to(_is_near(mean, covariance, corners), shape)
    found = np.zeros(shape)
    if near.any():
        mean = np.broadcast_to(mean, (*shape, 2))[near]
        covariance = np.broadcast_to(covariance, (*shape, 2, 2))[near]
        corners = np.broadcast_to(corners, (*shape, *corners.shape[-2:]))[near]
        found[near] = _standard_normal_in(_whitened(mean, covariance, corners), owens)
    return found


def _is_near(mean: FloatArray, covariance: FloatArray, corners: FloatArray) -> BoolArray:
    """(…) whether the boxes about the polygon and about the Gaussian meet, and the polygon has an extent."""
    low, high = corners.min(axis=-2), corners.max(axis=-2)
    near: BoolArray = (high > low).all(axis=-1)
    for axis in (0, 1):
        reach = FAR_SD * np.sqrt(covariance[..., axis, axis])
        at = mean[..., axis]
        near = near & (low[..., axis] <= at + reach) & (high[..., axis] >= at - reach)
    return near


def _whitened(mean: FloatArray, covariance: FloatArray, corners: FloatArray) -> FloatArray:
    """(N, V, 2) corners in coordinates in which the Gaussian is a standard normal: L⁻¹ (x - mean)."""
    first = np.sqrt(covariance[:, 0, 0])
    mixed = covariance[:, 1, 0] / first
    second = np.sqrt(covariance[:, 1, 1] - mixed * mixed)
    x = (corners[..., 0] - mean[:, None, 0]) / first[:, None]
    y = (corners[..., 1] - mean[:, None, 1] - mixed[:, None] * x) / second[:, None]
    return np.stack([x, y], axis=-1)


def _standard_normal_in(corners: FloatArray, owens: OwensT) -> FloatArray:
    """(N,) probability of the standard normal in polygons (N, V, 2): the signed sum over the triangles that each edge
    forms with the origin."""
    a, b = corners, np.roll(corners, -1, axis=1)
    edge = b - a
    length = np.sqrt(edge[..., 0] * edge[..., 0] + edge[..., 1] * edge[..., 1])
    safe = np.where(length > 0.0, length, 1.0)
    distance = (a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]) / safe
    use = (length > 0.0) & (np.abs(distance) > FLAT)
    scale = safe[use] * distance[use]
    from_foot, to_foot = ((end[use] * edge[use]).sum(axis=-1) / scale for end in (a, b))
    angle = (exact.arctan(to_foot) - exact.arctan(from_foot)) / (2 * np.pi)
    triangle = np.zeros(use.shape)
    triangle[use] = angle - (owens(distance[use], to_foot) - owens(distance[use], from_foot))
    found: FloatArray = np.clip(triangle.sum(axis=1), 0.0, 1.0)
    return found


def mixture_in_polygon(
    means: FloatArray, covariances: FloatArray, weights: FloatArray, corners: FloatArray, owens: OwensT = owens_t
) -> FloatArray:
    """(…) probability of mixtures of M Gaussians, ``means (…, M, 2)``, ``weights (…, M)``, in polygons (…, V, 2)."""
    each = gaussian_in_polygon(means, covariances, corners[..., None, :, :], owens)
    found: FloatArray = (weights * each).sum(axis=-1)
    return found


def violation_probability(
    forecast: Forecast,
    path: DrivingPath,
    motion: Motion,
    zone: ComfortZone,
    body_m: float = 0.0,
    crossings: Sequence[FloatArray] = (),
) -> FloatArray:
    """(N, H) probability that each person is in the zone at each horizon.

    ``motion`` has shape (N, H) or (H,): where the vehicle is at the horizons. Mixtures: closed form with the zone's
    polygon. Samples: the weight of those in the zone. ``crossings``: zebra crossings that extend the zone where it
    meets them (``comfort_zone.join_crossings``).
    """
    begin, end = zone.extent(motion, body_m)
    if crossings:
        shape = (len(forecast), len(forecast.horizons_s))
        low, high = (np.broadcast_to(each, shape).ravel() for each in (begin, end))
        outlines = path.outlines(low, high, zone.half_width)
        rings = [join_crossings(outline, crossings) for outline in outlines]
        return _in_rings(forecast, rings)
    return strip_probability(forecast, path, begin, end, zone.half_width)


def strip_probability(
    forecast: Forecast, path: DrivingPath, begin: FloatArray, end: FloatArray, half_width: float
) -> FloatArray:
    """(N, H) probability that each person is in the strip of the path from ``begin`` to ``end``, (N, H) or (H,)."""
    if isinstance(forecast, MixtureForecast):
        outlines = path.outlines(np.ravel(begin), np.ravel(end), half_width)
        corners = outlines.reshape(*np.shape(begin), *outlines.shape[1:])
        means, covariances = np.moveaxis(forecast.paths, 1, 2), np.moveaxis(forecast.covariances, 1, 2)
        return mixture_in_polygon(means, covariances, forecast.weights[:, None], corners)
    along, aside = path.project(forecast.paths)
    low, high = (each[..., None, :] for each in (begin, end))
    inside = (along >= low) & (along <= high) & (np.abs(aside) <= half_width) & (high > low)
    found: FloatArray = (forecast.weights[..., None] * inside).sum(axis=1)
    return found


def _in_rings(forecast: Forecast, rings: list[list[FloatArray]]) -> FloatArray:
    """(N, H) probability in unions of rings that do not overlap; one union per person and horizon."""
    found = np.zeros((len(forecast), len(forecast.horizons_s)))
    for (person, h), parts in zip(np.ndindex(found.shape), rings, strict=True):
        points, weights = forecast.paths[person, :, h], forecast.weights[person]
        for ring in parts:
            if isinstance(forecast, MixtureForecast):
                share = gaussian_in_polygon(points, forecast.covariances[person, :, h], ring[None])
            else:
                share = _is_inside(points, ring).astype(np.float64)
            found[person, h] += float((weights * share).sum())
    return found


def _is_inside(points: FloatArray, ring: FloatArray) -> BoolArray:
    from shapely import Polygon, intersects_xy

    found: BoolArray = intersects_xy(Polygon(ring), points[:, 0], points[:, 1])
    return found


@dataclass(frozen=True, eq=False)
class Reaction:
    """The reaction of a driver."""

    deceleration: float
    """m/s²; 0: nothing."""
    sufficient: bool
    """Whether all violation probabilities stay below their thresholds."""
    probability: FloatArray  # (H,) that anybody is in the zone at each horizon, with this deceleration


def least_deceleration(
    forecast: Forecast,
    path: DrivingPath,
    bumper: float,
    speed: float,
    thresholds: FloatArray,
    zone: ComfortZone,
    body_m: float = 0.0,
    strongest: float = 6.0,
    step: float = 0.25,
) -> Reaction:
    """The smallest constant deceleration with which the probability that anybody is in the zone stays below
    ``thresholds (H,)`` at every horizon; the strongest where none does.

    People are taken as independent: 1 - Π (1 - P). The zone of a horizon begins where the bumper was at the horizon
    before (now, for the first): what the vehicle drives over between two horizons has to be free as well. Braking does
    not only shorten the zone, it also keeps the vehicle back, behind people whom it would have passed. Decelerations
    are therefore tried from 0 upwards in steps, and the first sufficient one is refined by bisection.
    """
    thresholds = np.asarray(thresholds, np.float64)
    if thresholds.shape != forecast.horizons_s.shape:
        raise BadInput(f"thresholds have shape {thresholds.shape}; give one for each of the forecast's horizons")
    if not (strongest > 0.0 and step > 0.0):
        raise BadInput(f"strongest is {strongest} and step {step} m/s²; both must be above 0")

    def anybody(deceleration: float) -> FloatArray:
        motion = move(np.array(bumper), np.array(speed), forecast.horizons_s, deceleration)
        begin, end = zone.extent(motion, body_m)
        before = np.concatenate([[bumper], motion.bumper[:-1]])
        each = strip_probability(forecast, path, np.minimum(begin, before), end, zone.half_width)
        found: FloatArray = 1.0 - np.prod(1.0 - each, axis=0)
        return found

    none = np.zeros(len(thresholds))
    if not len(forecast) or speed <= 0.0:
        return Reaction(0.0, True, none)
    low = 0.0
    steps = range(int(strongest / step) + 1)
    for tried in [*(step * number for number in steps if step * number < strongest), strongest]:
        probability = anybody(tried)
        if (probability < thresholds).all():
            break
        low = tried
    else:
        return Reaction(strongest, False, probability)
    high = tried
    while high - low > 1e-3:
        middle = (low + high) / 2
        attempt = anybody(middle)
        if (attempt < thresholds).all():
            high, probability = middle, attempt
        else:
            low = middle
    return Reaction(high, True, probability)
