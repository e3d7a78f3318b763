"""The referee's rules of the road: markings that wheels cross, lanes that are left, and the side on which an area is
left. All follows from the poses of a robot alone.

``simulation.road_judge`` packs a scenario's rules as ``rule (ROAD_RULES,)`` and the roads of scenes as ``RoadLines``;
``mark`` and ``note`` are the robot's rows of the referee's arrays, with the places named here.
"""

from __future__ import annotations

from math import sqrt

from sidestep.kernels import layout as at
from sidestep.kernels.approx import sincos64, wrap_angle
from sidestep.kernels.jit import kernel
from sidestep.kernels.layout import FloatArray, IntArray, RoadLines

# rule (ROAD_RULES,) float64
KINDS, X_MIN, Y_MIN, X_MAX, Y_MAX, SIDE, EXIT_X, EXIT_Y, EXIT_HEADING, EXIT_SINE, EXIT_COSINE = range(11)
MOST_BESIDE, MOST_ANGLE, MOST_INVASIONS, ROAD_RULES = 11, 12, 13, 14
HAS_EXIT, HAS_LANES, COUNTS_ANY, INVASION_ENDS = 1, 2, 4, 8  # bits of KINDS

# mark (ROAD_MARKS,) int32
CROSSED = 0  # bits: the kinds of marking crossed in the last step, a second in no lane, a time beyond the kerb
INVASIONS = 1  # how many steps and times counted so far
OFF_LANE_STEPS = 2  # in no lane, since a second of it was counted
BEYOND_KERB = 3  # which wheels are beyond a kerb, bits
BEYOND_KERB_STEPS = 4
HAS_INVADED = 5  # 1 once there were more invasions than are allowed
IS_OVER = 6  # 1 once something happened that ends the episode
EXIT_SIDE = 7  # where the area was left: east, north, west, south
ROAD_MARKS = 8

# note (ROAD_NOTES,) float64
FROM_X, FROM_Y, FROM_HEADING = 0, 1, 2  # the pose in which the last step began
EXIT_BESIDE, EXIT_ANGLE = 3, 4  # how the area was left: m to the left of the expert's pose, rad to the left of it
ROAD_NOTES = 5

# bits of CROSSED; those of markings in the order of ``types.road.MarkingKind``
BROKEN, SOLID, DOUBLE_SOLID, KERB, OFF_LANE, TIME_BEYOND_KERB = 1, 2, 4, 8, 16, 32
ILLEGAL = SOLID | DOUBLE_SOLID | KERB
EAST, NORTH, WEST, SOUTH = range(4)

# bits of the referee's NEWS
LANE_NEWS, INVASION_NEWS, EXITED_NEWS, WRONG_EXIT_NEWS = 1024, 2048, 4096, 8192

OFF_LANE_S = 1.0
BEYOND_KERB_S = 0.25
SAME_WAY = 0.26  # cosine of the largest angle between heading and lane, 75 degrees
TIME_TOLERANCE_S = 1e-9
WHEELS = 4


@kernel
def begin_road(x: float, y: float, heading: float, mark: IntArray, note: FloatArray) -> None:
    """A new episode of a robot at this pose."""
    for k in range(ROAD_MARKS):
        mark[k] = 0
    for k in range(ROAD_NOTES):
        note[k] = 0.0
    note[FROM_X], note[FROM_Y], note[FROM_HEADING] = x, y, heading


@kernel
def judge_road(
    x: float, y: float, heading: float, body: FloatArray, dt: float, rule: FloatArray, lines: RoadLines, road: int,
    mark: IntArray, note: FloatArray,
) -> int:  # fmt: skip
    """News of the step of ``dt`` seconds that led to this pose, on road number ``road`` of ``lines``."""
    kinds, news = int(rule[KINDS]), 0
    sine, cosine = sincos64(heading)
    middle = body[at.MIDDLE, 0]
    middle_x, middle_y = x + middle * cosine, y + middle * sine
    if kinds & HAS_LANES:
        cross_lines(x, y, sine, cosine, body, kinds, lines, road, mark, note)
        news = _judge_lanes(middle_x, middle_y, sine, cosine, dt, rule, lines, road, mark)
    if kinds & HAS_EXIT and mark[IS_OVER] == 0:
        side = side_left(rule, middle_x, middle_y)
        if side >= 0:
            beside, angle = exit_deviation(rule, middle_x, middle_y, heading)
            mark[EXIT_SIDE], note[EXIT_BESIDE], note[EXIT_ANGLE] = side, beside, angle
            is_right = side == int(rule[SIDE]) and abs(beside) <= rule[MOST_BESIDE] and abs(angle) <= rule[MOST_ANGLE]
            news |= EXITED_NEWS if is_right else WRONG_EXIT_NEWS
            mark[IS_OVER] = 1
    note[FROM_X], note[FROM_Y], note[FROM_HEADING] = x, y, heading
    return news


@kernel
def cross_lines(
    x: float, y: float, sine: float, cosine: float, body: FloatArray, kinds: int, lines: RoadLines, road: int,
    mark: IntArray, note: FloatArray,
) -> None:  # fmt: skip
    """Note which markings the wheels crossed, whether that is an invasion, and which wheels are beyond the kerb."""
    first, last = lines.offsets[road, 0], lines.offsets[road + 1, 0]
    from_sine, from_cosine = sincos64(note[FROM_HEADING])
    crossed, over_kerb = 0, 0
    for w in range(WHEELS):
        along = body[at.WHEELS, 1] if w >= 2 else 0.0
        aside = body[at.WHEELS, 0] if w % 2 == 1 else -body[at.WHEELS, 0]
        ax = (from_cosine * along - from_sine * aside) + note[FROM_X]
        ay = (from_sine * along + from_cosine * aside) + note[FROM_Y]
        bx, by = (cosine * along - sine * aside) + x, (sine * along + cosine * aside) + y
        of_wheel = crossed_markings(ax, ay, bx, by, lines.segments, lines.kinds, first, last)
        crossed |= of_wheel
        if of_wheel & KERB:
            over_kerb |= 1 << w
    mark[CROSSED] = crossed
    if crossed & (BROKEN | ILLEGAL if kinds & COUNTS_ANY else ILLEGAL):
        mark[INVASIONS] += 1
    mark[BEYOND_KERB] ^= over_kerb


@kernel
def _judge_lanes(
    x: float, y: float, sine: float, cosine: float, dt: float, rule: FloatArray, lines: RoadLines, road: int,
    mark: IntArray,
) -> int:  # fmt: skip
    """News of lanes after the wheels were followed; (x, y) is the middle of the body."""
    in_lane = in_some_lane(x, y, cosine, sine, lines.lanes, lines.offsets[road, 1], lines.offsets[road + 1, 1])
    mark[OFF_LANE_STEPS] = 0 if in_lane else mark[OFF_LANE_STEPS] + 1
    if mark[OFF_LANE_STEPS] * dt >= OFF_LANE_S - TIME_TOLERANCE_S:
        mark[OFF_LANE_STEPS] = 0
        mark[INVASIONS] += 1
        mark[CROSSED] |= OFF_LANE
    mark[BEYOND_KERB_STEPS] = mark[BEYOND_KERB_STEPS] + 1 if mark[BEYOND_KERB] != 0 else 0
    if mark[BEYOND_KERB_STEPS] * dt >= BEYOND_KERB_S - TIME_TOLERANCE_S:
        mark[BEYOND_KERB_STEPS] = 0
        mark[INVASIONS] += 1
        mark[CROSSED] |= TIME_BEYOND_KERB
    news = LANE_NEWS if mark[CROSSED] != 0 else 0
    if mark[INVASIONS] > rule[MOST_INVASIONS] and mark[HAS_INVADED] == 0:
        mark[HAS_INVADED] = 1
        if int(rule[KINDS]) & INVASION_ENDS:
            mark[IS_OVER] = 1
        news |= INVASION_NEWS
    return news


@kernel
def crossed_markings(
    ax: float, ay: float, bx: float, by: float, segments: FloatArray, kinds: IntArray, first: int, last: int
) -> int:
    """The kinds, as bits, of those segments ``first`` … ``last`` - 1 that a wheel crosses from a to b. A line belongs
    to the side on its right: a wheel that comes from there and ends exactly on the line crosses it with the step that
    leaves it on the left."""
    low_x, high_x, low_y, high_y = min(ax, bx), max(ax, bx), min(ay, by), max(ay, by)
    found = 0
    for m in range(first, last):
        x0, y0, x1, y1 = segments[m, 0], segments[m, 1], segments[m, 2], segments[m, 3]
        if max(x0, x1) < low_x or min(x0, x1) > high_x or max(y0, y1) < low_y or min(y0, y1) > high_y:
            continue
        ex, ey = x1 - x0, y1 - y0
        before, after = ex * (ay - y0) - ey * (ax - x0), ex * (by - y0) - ey * (bx - x0)
        if (before > 0.0) == (after > 0.0):
            continue
        dx, dy = bx - ax, by - ay
        start, end = dx * (y0 - ay) - dy * (x0 - ax), dx * (y1 - ay) - dy * (x1 - ax)
        if (start > 0.0) != (end > 0.0):
            found |= 1 << kinds[m]
    return found


@kernel
def in_some_lane(x: float, y: float, cosine: float, sine: float, pieces: FloatArray, first: int, last: int) -> bool:
    """Whether (x, y) is in a lane that leads along (cosine, sine), among the pieces ``first`` … ``last`` - 1."""
    for k in range(first, last):
        x0, y0 = pieces[k, 0], pieces[k, 1]
        ex, ey = pieces[k, 2] - x0, pieces[k, 3] - y0
        length = sqrt(ex * ex + ey * ey)
        if ex * cosine + ey * sine < SAME_WAY * length:
            continue
        share = min(max(((x - x0) * ex + (y - y0) * ey) / (length * length), 0.0), 1.0)
        dx, dy = x - x0 - share * ex, y - y0 - share * ey
        if dx * dx + dy * dy <= pieces[k, 4] * pieces[k, 4]:
            return True
    return False


@kernel
def side_left(rule: FloatArray, x: float, y: float) -> int:
    """The side on which (x, y) is outside the area, the one farther away at a corner; -1: inside."""
    side, most = EAST, x - rule[X_MAX]
    if y - rule[Y_MAX] > most:
        side, most = NORTH, y - rule[Y_MAX]
    if rule[X_MIN] - x > most:
        side, most = WEST, rule[X_MIN] - x
    if rule[Y_MIN] - y > most:
        side, most = SOUTH, rule[Y_MIN] - y
    return side if most > 0.0 else -1


@kernel
def exit_deviation(rule: FloatArray, x: float, y: float, heading: float) -> tuple[float, float]:
    """Signed metres beside the expert's pose, to its left, and signed angle from its heading, rad."""
    beside = rule[EXIT_COSINE] * (y - rule[EXIT_Y]) - rule[EXIT_SINE] * (x - rule[EXIT_X])
    return beside, wrap_angle(heading - rule[EXIT_HEADING])
