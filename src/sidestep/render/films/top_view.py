"""Top-view stills and film strips of an episode record, and of a scene alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from sidestep.errors import BadInput
from sidestep.metrics.series import speed
from sidestep.records.exports.episode_log import contacts_of, step_at
from sidestep.render.top_view import TopView, palette
from sidestep.render.top_view.canvas import Bounds, Picture, bounds_around
from sidestep.types.record import EpisodeRecord, others
from sidestep.types.scene import CompiledScene, SceneSpec

TRAIL_S = 2.5  # how long a person's trail lasts
TRAIL_POINTS_PER_S = 10
SCENE_PX = 1000  # the longer side of a picture of a scene
GAP_PX = 6  # between the pictures of a film strip

Size = tuple[int, int]


class EpisodeView:
    """A record, ready to be painted at any step.

    ``bounds`` (m) defaults to a view of the whole path and the goal. ``ring_touched`` puts a red ring about everybody
    whom the robot touches at any time of the episode. ``label`` defaults to policy and scenario.
    """

    def __init__(
        self,
        record: EpisodeRecord,
        size: Size = (640, 640),
        *,
        bounds: Bounds | None = None,
        velocities: bool = False,
        personal_space: bool = False,
        ring_touched: bool = False,
        label: str | None = None,
        blind: bool = False,
    ) -> None:
        """``blind``: without policy, outcome and contacts, for films that people rate."""
        self.record, self.blind = record, blind
        self.label = f"{record.policy.name} · {record.scenario.name}" if label is None else label
        self.label = "" if blind else self.label
        self.velocities, self.personal_space = velocities, personal_space
        scene = record.scenario.scene
        inline = scene if isinstance(scene, SceneSpec) else None
        self.top = TopView(inline, record.walls, bounds or view_of(record), size)
        touched = {contact.subject for contact in contacts_of(record)}
        self._ringed = np.array([ring_touched and f"person:{number}" in touched for number in record.person_id], bool)
        self._contacts = np.array([(c.x, c.y, c.time) for c in contacts_of(record)]).reshape(-1, 3)
        self._other_footprints = [user.footprint for user in others(record)]
        self._trail_every = max(1, round(1 / (TRAIL_POINTS_PER_S * record.step_s)))

    def frame(self, step: int) -> Picture:
        """The picture (H, W, 3) of state ``step``, 0 … T; negative steps count from the end."""
        record = self.record
        if not -record.steps - 1 <= step <= record.steps:
            raise BadInput(f"step {step} is outside the record: it has states 0 to {record.steps}")
        step %= record.steps + 1
        now = float(record.time[step])
        begun = self._contacts[self._contacts[:, 2] <= (-np.inf if self.blind else now + 1e-9)]
        last = step == record.steps and not self.blind
        outcome = str(record.outcome)
        return self.top.frame(
            record.robot_pose[step],
            record.robot.footprint,
            people=record.person_position[step],
            headings=record.person_heading[step],
            radii=record.person_radius,
            velocities=record.person_velocity[step] if self.velocities else None,
            groups=record.person_group[step],
            people_trails=record.person_position[self._recent(step, TRAIL_S)],
            robot_trail=record.robot_pose[self._recent(step, np.inf), :2],
            robot_trail_speed=speed(record)[self._recent(step, np.inf)] / record.robot.limits.max_speed,
            start=(float(record.robot_pose[0, 0]), float(record.robot_pose[0, 1])),
            goal=record.scenario.ego.goal,
            goal_radius=record.scenario.rules.goal_radius_m,
            route=np.array(record.scenario.ego.route) if record.scenario.ego.route else None,
            others=record.other_pose[step],
            other_footprints=self._other_footprints,
            collisions=np.column_stack([begun[:, :2], now - begun[:, 2]]),
            ringed=self._ringed,
            personal_space=self.personal_space,
            time=now,
            label=f"{self.label} · {outcome.replace('_', ' ')}" if last else self.label,
            label_colour=palette.OUTCOMES[outcome] if last else palette.ROBOT,
        )

    def frame_at(self, time: float | None) -> Picture:
        """The picture at ``time``, s; None: the end."""
        return self.frame(self.record.steps if time is None else step_at(self.record, time))

    def _recent(self, step: int, seconds: float) -> Sequence[int]:
        """Steps of a trail up to ``step``, oldest first.

        On a fixed raster, so that a trail does not shimmer.
        """
        every = self._trail_every
        first = 0 if np.isinf(seconds) else max(0, step - round(seconds / self.record.step_s))
        return [*range(-(-first // every) * every, step, every), step]


def view_of(record: EpisodeRecord) -> Bounds:
    """The robot's path, start and goal with a margin, m."""
    return bounds_around(np.vstack([record.robot_pose[:, :2], record.scenario.ego.goal]))


def draw_png(
    record: EpisodeRecord,
    path: Path | str | None = None,
    time: float | None = None,
    size: Size = (900, 900),
    *,
    bounds: Bounds | None = None,
) -> Picture:
    """The picture at ``time`` (s; None: the end), written to ``path`` if given."""
    picture = EpisodeView(record, size, bounds=bounds).frame_at(time)
    if path is not None:
        Image.fromarray(picture).save(path, optimize=True)
    return picture


def draw_strip(
    record: EpisodeRecord,
    times: Sequence[float],
    path: Path | str | None = None,
    size: Size = (420, 420),
    *,
    bounds: Bounds | None = None,
    ring_touched: bool = False,
    label: str | None = None,
) -> Picture:
    """Several instants side by side, each ``size`` px, written to ``path`` if given."""
    if not times:
        raise BadInput("a film strip needs at least one time")
    view = EpisodeView(record, size, bounds=bounds, ring_touched=ring_touched, label=label)
    gap = np.full((size[1], GAP_PX, 3), 255, dtype=np.uint8)
    pieces = [piece for time in times for piece in (gap, view.frame_at(time))][1:]
    strip: Picture = np.concatenate(pieces, axis=1)
    if path is not None:
        Image.fromarray(strip).save(path, optimize=True)
    return strip


def draw_scene(scene: CompiledScene, path: Path, size: Size | None = None, axes: bool = False) -> Picture:
    """A scene alone from above, written to ``path``; with ``axes`` in metres, to read coordinates from."""
    corners = [point for region in scene.spec.regions for point in region.polygon]
    points = np.array([*corners, *scene.wall_points.tolist()]).reshape(-1, 2)
    x0, y0, x1, y1 = bounds = bounds_around(points, margin=1.0)
    if size is None:
        longer = SCENE_PX / max(x1 - x0, y1 - y0)
        size = max(64, 2 * round((x1 - x0) * longer / 2)), max(64, 2 * round((y1 - y0) * longer / 2))
    view = TopView(scene.spec, scene.segments, bounds, size)
    picture: Picture = view.background
    if not axes:
        Image.fromarray(picture).save(path)
        return picture
    from matplotlib.figure import Figure

    left, low, right, high = view.view.shown
    figure = Figure(figsize=(size[0] / 100 + 1.0, size[1] / 100 + 0.8), layout="constrained")
    shown = figure.add_subplot()
    shown.imshow(picture, extent=(left, right, low, high), interpolation="antialiased")
    shown.set(xlabel="x (m)", ylabel="y (m)", title=scene.spec.name)
    shown.grid(color="0.5", alpha=0.25, linewidth=0.5)
    figure.savefig(path, dpi=120)
    return picture
