"""Interactions from episode records of a car among people."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.prediction.data.assemble import STEP_S, ClipFrames, ClipTracks, assemble, cut_tracks
from sidestep.prediction.data.corridor import extend
from sidestep.prediction.ground import draw_ground
from sidestep.types.base import FloatArray
from sidestep.types.interactions import Clip, GroundMap, Interactions
from sidestep.types.record import EpisodeRecord
from sidestep.types.robot import RobotSpec
from sidestep.types.scene import SceneSpec

BEHIND_M, AHEAD_M = 60.0, 120.0
"""How far paths go straight on before the first and after the last point of a drive, m."""
MARGIN_M = 10.0
"""Margin of maps around the regions of a scene, m."""


def interactions_of(records: Iterable[EpisodeRecord]) -> Interactions:
    """The tracks of all people near the car in ``records``, one clip per record, head and body of all known."""
    return assemble(tracks_of_record(record) for record in records)


def tracks_of_record(record: EpisodeRecord) -> ClipTracks:
    """The tracks of one record. ``BadInput`` where its robot is no vehicle or its step does not divide 0.1 s."""
    where = f"record {record.scenario.name}, seed {record.seed}"
    length, width, middle = body_of(record.robot, where)
    every = round(STEP_S / record.step_s)
    if every < 1 or abs(every * record.step_s - STEP_S) > 1e-9:
        raise BadInput(
            f"{where}: steps of {record.step_s:g} s; interactions need steps of which {STEP_S:g} s is a multiple"
        )
    states = np.arange(0, len(record.time), every)
    pose, velocity = record.robot_pose[states], record.robot_velocity[states]
    sine, cosine = exact.sincos(pose[:, 2])
    ego = np.stack([pose[:, 0] + middle * cosine, pose[:, 1] + middle * sine, pose[:, 2]], axis=1)
    body = record.person_heading[states]
    head = body
    if record.person_head_yaw.size:
        head = body + np.nan_to_num(record.person_head_yaw[states], nan=0.0)
    scene = record.scenario.scene
    if not isinstance(scene, SceneSpec):
        raise BadInput(f"{where}: the record does not hold its scene; run the episode again")
    frames = ClipFrames(
        clip=Clip(
            name=f"{record.scenario.suite}/{record.scenario.name}/{record.policy.name}/{record.seed}",
            path=path_of(record, where), length=length, width=width, place=place_of(scene), driver=record.policy.name,
        ),
        ground=ground_of(scene), person=record.person_id, position=record.person_position[states].astype(np.float64),
        present=record.person_present[states], body=body, head=head, ego=ego,
        ego_speed=velocity[:, 0] * cosine + velocity[:, 1] * sine,
    )  # fmt: skip
    return cut_tracks(frames)


def body_of(robot: RobotSpec, where: str) -> tuple[float, float, float]:
    """Length, width, and metres from the reference point ahead to the middle of the body."""
    corners = robot.footprint.polygon
    if corners is None:
        raise BadInput(
            f"{where}: the robot {robot.name} is round; interactions need a vehicle with a polygon as footprint"
        )
    x, y = zip(*corners, strict=True)
    return max(x) - min(x), max(y) - min(y), (max(x) + min(x)) / 2


def path_of(record: EpisodeRecord, where: str) -> FloatArray:
    """The planned route, prolonged straight at both ends."""
    ego = record.scenario.ego
    points = np.array([ego.start[:2], *ego.route, ego.goal], np.float64)
    try:
        return extend(points, BEHIND_M, AHEAD_M)
    except BadInput as error:
        raise BadInput(f"{where}: {error}") from None


def place_of(scene: SceneSpec) -> str:
    """One of ``PLACES``, by the regions of the scene."""
    kinds = {region.kind for region in scene.regions}
    found = [name for kind, name in (("crosswalk", "zebra"), ("island", "island")) if kind in kinds]
    return "+".join(found) or ("none" if "road" in kinds else "shared")


def ground_of(scene: SceneSpec) -> GroundMap | None:
    """The map of the scene, the same object for the same scene; None where it has no regions."""
    return _ground(scene.model_dump_json(include={"name", "regions"})) if scene.regions else None


@lru_cache(maxsize=256)
def _ground(scene: str) -> GroundMap:
    return draw_ground(SceneSpec.model_validate_json(scene), margin_m=MARGIN_M)
