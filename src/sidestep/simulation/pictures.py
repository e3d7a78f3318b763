"""When a policy gets which picture, and whose camera settings hold."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import Any

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.interfaces import Camera, MakeCamera
from sidestep.types import Pedestrians, RobotSpec, RobotState, Scenario
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.scene import CompiledScene
from sidestep.types.sensors import SCENARIO_CAMERA_FIELDS, CameraSettings, merge_camera_settings

PICTURES: frozenset[str] = frozenset({"rgb", "depth", "semantic"})


def with_camera(scenario: Scenario, changes: Any, where: str) -> Scenario:
    """The scenario with camera settings laid over its own."""
    camera = merge_camera_settings(scenario.sensors.camera, changes, where)
    return scenario.model_copy(update={"sensors": scenario.sensors.model_copy(update={"camera": camera})})


def with_policy_camera(scenario: Scenario, policy: Any) -> Scenario:
    """The scenario with the ``camera`` that the policy declares, if it does, laid over the scenario's."""
    declared = getattr(policy, "camera", None)
    if declared is None:
        return scenario
    where = f"policy {getattr(policy, 'name', type(policy).__name__)!r}: camera"
    said = declared.model_fields_set if isinstance(declared, CameraSettings) else declared
    for name in SCENARIO_CAMERA_FIELDS:
        if not isinstance(said, str) and name in said:
            raise BadInput(f"{where}: {name} is the scenario's to say, not the policy's")
    return with_camera(scenario, declared, where)


def with_robot_camera(scenario: Scenario, robot: RobotSpec) -> Scenario:
    """The scenario with what the robot's spec says of its camera where the scenario says nothing."""
    if robot.camera is None:
        return scenario
    camera = merge_camera_settings(robot.camera, scenario.sensors.camera, f"scenario {scenario.name!r}: sensors.camera")
    return scenario.model_copy(update={"sensors": scenario.sensors.model_copy(update={"camera": camera})})


class PictureFeed:
    """A camera with its rate and latency. Call :meth:`watch` at every step, :meth:`seen` when the policy is asked.

    Pictures are taken at the steps that the settings name, not when the policy is ready for them, and arrive a whole
    number of steps later. With neither rate nor latency one is taken only when the policy is asked.
    """

    def __init__(
        self,
        scene: CompiledScene,
        robot: RobotSpec,
        needs: frozenset[str],
        scenario: Scenario,
        person_id: IntArray,
        others: tuple[RobotSpec, ...] = (),
    ) -> None:
        settings, rules = scenario.sensors.camera, scenario.rules
        make_camera: MakeCamera = registry.load("cameras", registry.names("cameras")[0])
        more: dict[str, Any] = {"others": others} if others else {}
        self._make = partial(make_camera, scene, robot, needs, settings, **more)
        self._scenario = scenario.name
        self._camera: Camera = self._make(person_id, self._scenario)
        self._needs, self._settings = needs, settings
        self._step_s, self._control_every = rules.step_s, rules.control_every
        self._at_once = settings.rate_hz is None and settings.latency_s == 0.0
        self._delay = settings.delay_steps(rules.step_s)
        self._forget()

    def restart(self, person_id: IntArray) -> None:
        """Another episode of the scenario, perhaps with other people."""
        again = getattr(self._camera, "restart", None)
        if again is None:
            self._camera = self._make(person_id, self._scenario)
        else:
            again(person_id)
        self._forget()

    def _forget(self) -> None:
        self._due = -1
        self._taken: deque[tuple[int, dict[str, Any]]] = deque()

    def watch(self, step: int, robot: RobotState, people: Pedestrians, *others: FloatArray) -> None:
        """The world at ``step``: take a picture if one is due."""
        follow = getattr(self._camera, "follow", None)
        if follow is not None:
            follow(robot, people, step * self._step_s, *others)
        due = self._settings.newest_frame(step, self._step_s, self._control_every)
        if not self._at_once and due > self._due:
            self._due = due
            self._take(step, robot, people, *others)

    def seen(
        self, step: int, robot: RobotState, people: Pedestrians, *others: FloatArray
    ) -> tuple[dict[str, Any], float]:
        """The pictures that the policy has at ``step``, and when they were taken, s."""
        self.watch(step, robot, people, *others)
        if self._at_once and not (self._taken and self._taken[-1][0] == step):
            self._taken.clear()
            self._take(step, robot, people, *others)
        while len(self._taken) > 1 and self._taken[1][0] + self._delay <= step:
            self._taken.popleft()
        taken, pictures = self._taken[0]
        return pictures, taken * self._step_s

    def _take(self, step: int, robot: RobotState, people: Pedestrians, *others: FloatArray) -> None:
        seen = self._camera.sense(robot, people, step * self._step_s, *others)
        self._taken.append((step, {name: seen[name] for name in self._needs}))
