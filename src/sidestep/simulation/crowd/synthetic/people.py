"""People drawn from the fitted statistics of a crowd: who comes when, from where to where, how fast and with whom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.simulation.crowd.people import draw_in_box
from sidestep.simulation.crowd.synthetic import QUANTILES, CrowdStatistics, GateFlow, Spacing, Standing
from sidestep.types.base import BoolArray, FloatArray, Point
from sidestep.types.scenario import Box

BODY_M = 0.2
"""Radius of a body, m."""
ALONE_M = 0.3
"""Radius that a person without company claims, m: strangers pass at 0.5 m and more."""
ROOM_M = 0.45
"""Least distance between centres of companions, and of people at time 0."""
CLEAR_M = 1.0
"""Least distance of people at time 0 from where a robot starts."""
SLOWEST, FASTEST = 0.35, 2.5
"""Walking speeds are cut at these, m/s."""
LATER_S = 1.0
"""When a party comes in that found no room at time 0, s."""
TRIES = 40

_CENTRE = (
    (2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
     1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080),
    (5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
     5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0),
)  # fmt: skip
_TAIL = (
    (7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258,
     3.64784832476320460504, 5.76949722146069140550, 4.63033784615654529590, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
     6.89767334985100004550e-1, 1.67638483018380384940, 2.05319162663775882187, 1.0),
)  # fmt: skip

FreeMask = Callable[[FloatArray, float], BoolArray]
"""Which of the points (K, 2) are free for a disc of this radius."""
FindRoute = Callable[[FloatArray, FloatArray], FloatArray]
"""Waypoints (K, 2) from a start (excluded) to a goal (included) round the walls."""


@dataclass(frozen=True, eq=False)
class SyntheticPerson:
    """One person. A follower has the number of its leader, who comes before it, and its place in the leader's frame."""

    start: FloatArray
    route: FloatArray  # (K, 2); empty for who stands
    speed: float
    enter_s: float
    radius: float
    party: int
    leader: int  # -1: leads
    offset: tuple[float, float] = (0.0, 0.0)  # m ahead of the leader, m to its left
    pause_at_s: float = np.inf
    """After coming in."""
    pause_s: float = 0.0
    leave_s: float = np.inf


class CrowdSampler:
    """Draws the people of one synthetic crowd."""

    def __init__(
        self,
        statistics: CrowdStatistics,
        free: FreeMask,
        find_route: FindRoute,
        rng: np.random.Generator,
        keep_clear: tuple[Point, ...] = (),
    ) -> None:
        """Nobody is at ``keep_clear`` at time 0: the robots start there."""
        self._fit = statistics
        self._free = free
        self._find_route = find_route
        self._rng = rng
        self._keep_clear = keep_clear
        self._people: list[SyntheticPerson] = []
        self._parties = 0

    def people(self) -> list[SyntheticPerson]:
        """Everybody who is there at time 0 or comes within the fitted window."""
        walking_now = self._party_sizes(self._fit.at_start)
        standing_now = self._party_sizes(self._fit.standing.at_start)
        coming = self._arrivals()
        stands = self._even(len(coming)) < self._fit.standing.share
        if not self._fit.standing.places:
            stands[:] = False
        walkers = len(walking_now) + len(coming) - int(stands.sum())
        flow, pace, pause = iter(self._flows(walkers)), iter(self._even(walkers)), iter(self._even(walkers))
        for size in standing_now:
            self._stand(size, 0.0)
        for size in walking_now:
            self._walk(size, 0.0, next(flow), next(pace), next(pause), self._progress())
        for (time, size), stays in zip(coming, stands, strict=True):
            if stays:
                self._stand(size, time)
            else:
                self._walk(size, time, next(flow), next(pace), next(pause), 0.0)
        return self._people

    def _even(self, count: int) -> FloatArray:
        """``count`` numbers in [0, 1), one in each ``count``-th part, in random order."""
        numbers: FloatArray = (self._rng.permutation(count) + self._rng.random(count)) / max(count, 1)
        return numbers

    def _party_size(self) -> int:
        law = np.cumsum(self._fit.party_sizes)
        return int(np.searchsorted(law, self._rng.random() * law[-1], side="right")) + 1

    def _party_sizes(self, people: int) -> list[int]:
        """Sizes of parties that add up to ``people``."""
        sizes: list[int] = []
        while sum(sizes) < people:
            sizes.append(min(self._party_size(), people - sum(sizes)))
        return sizes

    def _arrivals(self) -> list[tuple[float, int]]:
        """Times and sizes of the parties that come. A party stays whole: what it exceeds its bin by, the next lacks."""
        found, owed = [], 0.0
        for number, expected in enumerate(self._fit.arrivals):
            owed += expected
            sizes: list[int] = []
            while owed >= 0.5:
                sizes.append(self._party_size())
                owed -= sizes[-1]
            times = self._fit.bin_s * (number + np.sort(self._rng.random(len(sizes))))
            found += list(zip(times.tolist(), sizes, strict=True))
        return found

    def _flows(self, count: int) -> list[GateFlow]:
        law = np.cumsum([flow.share for flow in self._fit.flows])
        return [self._fit.flows[int(np.searchsorted(law, u * law[-1], side="right"))] for u in self._even(count)]

    def _progress(self) -> float:
        """Share of the way done, even about the fitted mean."""
        mean = self._fit.progress_at_start
        reach = min(mean, 1.0 - mean)
        return float(mean + reach * (2.0 * self._rng.random() - 1.0))

    def _walk(self, size: int, time: float, flow: GateFlow, pace: float, pause: float, progress: float) -> None:
        speed = float(np.clip(flow.speed_mean + flow.speed_sd * _normal_quantile(pace), SLOWEST, FASTEST))
        origin, destination = self._fit.gates[flow.origin], self._fit.gates[flow.destination]
        for _ in range(TRIES):
            gate = self._place(origin)
            whole = self._find_route(gate, self._place(destination))
            start, route = _advance(gate, whole, progress)
            if self._free(start[None], ALONE_M)[0] and (time > 0 or self._apart(start)):
                break
        else:  # no room on the way: the party comes in at the gate, a little later
            start, route, time = gate, whole, max(time, LATER_S)
        ways = np.diff(np.concatenate([start[None], route]), axis=0)
        length = float(exact.hypot(ways[:, 0], ways[:, 1]).sum())
        pauses = pause < self._fit.pause_share
        rest = float(exact.interp(self._rng.random(), QUANTILES, self._fit.pause_s)) if pauses else 0.0
        when = float(self._rng.random()) * length / speed if pauses else np.inf
        toward = route[0] - start
        heading = float(exact.arctan2(toward[1], toward[0]))
        self._join(
            start, route, speed, time, size, heading, _abreast(size, self._fit.spacing, self._rng), when, rest, np.inf
        )

    def _stand(self, size: int, time: float) -> None:
        standing: Standing = self._fit.standing
        law = np.cumsum([place.share for place in standing.places])
        box = standing.places[int(np.searchsorted(law, self._rng.random() * law[-1], side="right"))].box
        for _ in range(TRIES):
            start = self._place(box)
            if time > 0 or self._apart(start):
                break
        stay = float(exact.interp(self._rng.random(), QUANTILES, standing.stay_s))
        heading = 2 * np.pi * float(self._rng.random())
        offsets = _round_circle(size, self._fit.spacing.distance_mean)
        self._join(start, np.zeros((0, 2)), 0.0, time, size, heading, offsets, np.inf, 0.0, time + stay)

    def _join(
        self,
        start: FloatArray,
        route: FloatArray,
        speed: float,
        time: float,
        size: int,
        heading: float,
        offsets: FloatArray,
        pause_at_s: float,
        pause_s: float,
        leave_s: float,
    ) -> None:
        """Add a leader and the companions who find room beside it."""
        leader, party = len(self._people), self._parties if size > 1 else -1
        self._parties += size > 1
        radius = BODY_M if size > 1 else ALONE_M
        self._people.append(
            SyntheticPerson(start, route, speed, time, radius, party, -1, (0.0, 0.0), pause_at_s, pause_s, leave_s)
        )
        forward = np.array([exact.cos(heading), exact.sin(heading)])
        left = np.array([-forward[1], forward[0]])
        for ahead, aside in offsets[1:]:
            for a, b in ((ahead, aside), (ahead, -aside), (-abs(ahead) - ROOM_M, aside), (-2 * ROOM_M, 0.0)):
                place = start + a * forward + b * left
                if self._free(place[None], BODY_M)[0]:
                    free_now = time > 0 or self._apart(place)
                    self._people.append(
                        SyntheticPerson(
                            place, place[None], speed, time if free_now else 0.05, radius, party, leader,
                            (float(a), float(b)), leave_s=leave_s,
                        )
                    )  # fmt: skip
                    break

    def _place(self, box: Box) -> FloatArray:
        for _ in range(TRIES):
            points = draw_in_box(box, 16, self._rng)
            free = np.flatnonzero(self._free(points, ALONE_M))
            if len(free):
                place: FloatArray = points[free[0]]
                return place
        raise BadInput(f"synthetic crowd {self._fit.name}: no free place in the box {box}")

    def _apart(self, place: FloatArray) -> bool:
        """Whether the place is clear of the robots and of everybody who is there at time 0."""
        if any(exact.hypot(place[0] - x, place[1] - y) < CLEAR_M for x, y in self._keep_clear):
            return False
        return all(exact.hypot(*(place - person.start)) > ROOM_M for person in self._people if person.enter_s <= 0)


def _advance(start: FloatArray, route: FloatArray, share: float) -> tuple[FloatArray, FloatArray]:
    """Place and remaining route after ``share`` of the way."""
    ways = np.diff(np.concatenate([start[None], route]), axis=0)
    lengths = exact.hypot(ways[:, 0], ways[:, 1])
    left = share * float(lengths.sum())
    for index, length in enumerate(lengths):
        if left < length:
            return start + ways[index] * (left / length), route[index:]
        left -= float(length)
        start = route[index]
    return start, route[-1:]


def _abreast(size: int, spacing: Spacing, rng: np.random.Generator) -> FloatArray:
    """Places (size, 2) ahead and to the left of the first: in rows of at most three, each as far from the one before as
    fitted, in a direction that is even within an angle about abreast."""
    rows = ceil(size / 3)
    per_row = ceil(size / rows)
    places = np.zeros((size, 2))
    side = 1.0 if rng.random() < 0.5 else -1.0
    spread = _half_angle(spacing.abreast)
    for k in range(1, size):
        row, column = divmod(k, per_row)
        distance = max(spacing.distance_mean + spacing.distance_sd * exact.normal(rng), ROOM_M)
        angle = spread * (2.0 * rng.random() - 1.0)
        if column == 0:
            places[k] = (-row * max(spacing.distance_mean, 2 * ROOM_M), 0.0)
        else:
            places[k] = places[k - 1] + distance * np.array([exact.sin(angle), side * exact.cos(angle)])
    return places


def _half_angle(mean_cosine: float) -> float:
    """The angle a in (0, π/2] such that the cosine of angles even in [-a, a] has this mean: sin(a) / a."""
    if mean_cosine <= 2 / np.pi:
        return float(np.pi / 2)
    if mean_cosine >= 1:
        return 0.0
    low, high = 0.0, np.pi / 2
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if exact.sin(middle) > mean_cosine * middle else (low, middle)
    return low


def _normal_quantile(share: float) -> float:
    """The value that ``share`` of a standard normal population is below; shares below 0.001 and above 1 - 1e-10 are set
    to these. Rational approximations AS 241 (M. J. Wichura, Applied Statistics 37(3), 1988), error 1e-15."""
    share = min(max(share, 1e-3), 1.0 - 1e-10)
    off = share - 0.5
    if abs(off) <= 0.425:
        z = 0.180625 - off * off
        return off * _ratio(_CENTRE, z)
    tail = share if off < 0 else 1.0 - share
    value = _ratio(_TAIL, sqrt(-exact.log(tail)) - 1.6)
    return -value if off < 0 else value


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], x: float) -> float:
    """A quotient of two polynomials, highest power first."""
    above = below = 0.0
    for a, b in zip(*coefficients, strict=True):
        above, below = above * x + a, below * x + b
    return above / below


def _round_circle(size: int, spacing: float) -> FloatArray:
    """Places (size, 2) of people who stand in a circle, relative to the first."""
    if size == 1:
        return np.zeros((1, 2))
    radius = max(spacing, ROOM_M) / (2 * exact.sin(np.pi / size))
    angle = 2 * np.pi * np.arange(size) / size
    ring = radius * np.stack([exact.cos(angle), exact.sin(angle)], axis=1)
    places: FloatArray = ring - ring[0]
    return places
