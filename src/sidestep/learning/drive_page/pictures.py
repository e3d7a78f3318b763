"""The pictures for the driver: a wide picture from the car's camera, the picture that demonstrations hold, and
the intersection from above."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from PIL import Image

from sidestep.kernels import layout
from sidestep.kernels.dynamics import ROBOT_HEADING, ROBOT_X, ROBOT_Y
from sidestep.render.top_view import TopView
from sidestep.render.top_view.canvas import bounds_around
from sidestep.simulation.observe import Observer
from sidestep.simulation.sensors.camera import with_camera
from sidestep.simulation.session import Session
from sidestep.types.base import FloatArray

DRIVER_CAMERA = {"width": 800, "height": 352, "field_of_view": 1.9}
"""Undistorted, 109° wide; the recorded picture is narrowed to 200 × 88 pixels of 140°."""
MAP_PX = 360
MAP_MARGIN_M = 12.0
QUALITY = 82
"""Quality of JPEG pictures: about 50 KB for the driver's, which takes 4 Mbit/s at 20 Hz with the map."""


class DriverPictures:
    """Draws the present state of a session's world. Every episode needs a new object."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._driver: Observer | None = None
        self._map: TopView | None = None

    def draw(self, camera: Literal["driver", "recorded"], with_map: bool) -> dict[str, bytes]:
        """JPEG pictures by name: ``main`` and, if asked for, ``map``."""
        main = self._from_driver() if camera == "driver" else self._session.observation.rgb
        pictures = {"main": as_jpeg(main)}
        if with_map:
            pictures["map"] = as_jpeg(self._from_above())
        return pictures

    def _from_driver(self) -> Any:
        if self._driver is None:
            world = self._session.world
            scenario = with_camera(world.scenario, DRIVER_CAMERA, "camera of the driver")
            self._driver = Observer(replace(world, scenario=scenario), frozenset({"rgb"}))
        return self._driver.observe(self._session.worlds, 0).rgb

    def _from_above(self) -> Any:
        worlds, world = self._session.worlds, self._session.world
        place, rules = world.scenario.ego, world.scenario.rules
        route = np.array([place.start[:2], *place.route, place.goal])
        goal = place.goal if rules.exit is None else rules.exit.pose[:2]
        if self._map is None:
            last = int(np.hypot(*(route - goal).T).argmin())
            bounds = bounds_around(route[: last + 1], MAP_MARGIN_M)
            self._map = TopView(world.scene.spec, world.scene.segments, bounds, (MAP_PX, MAP_PX))
        n = worlds.people
        agents, flags = worlds.agents[0], worlds.flags[0]
        people = agents[[layout.PX, layout.PY], :n].T.astype(np.float64)
        people[flags[layout.ACTIVE, :n] != 1] = np.nan
        poses: FloatArray = worlds.robot_state[0][:, [ROBOT_X, ROBOT_Y, ROBOT_HEADING]].copy()
        poses[flags[layout.ACTIVE, n : n + len(poses)] != 1] = np.nan
        return self._map.frame(
            worlds.robot_state[0, 0, [ROBOT_X, ROBOT_Y, ROBOT_HEADING]],
            world.robots[0].footprint,
            people=people,
            headings=agents[layout.HEADING, :n],
            radii=2.0 * agents[layout.RADIUS, :n],
            route=route,
            goal=goal,
            goal_radius=1.0,
            others=poses[1:],
            other_footprints=[spec.footprint for spec in world.robots[1:]],
        )


def as_jpeg(picture: Any) -> bytes:
    """A picture (H, W, 3) uint8 as a JPEG file."""
    file = io.BytesIO()
    Image.fromarray(np.asarray(picture)).save(file, "JPEG", quality=QUALITY)
    return file.getvalue()
