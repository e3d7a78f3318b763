"""The camera as a sensor: when a policy gets which picture, and whose camera settings hold. ``render.camera`` draws."""

from __future__ import annotations

from collections import deque
from typing import Any

from sidestep.errors import BadInput
from sidestep.interfaces import Policy, Sensor, SensorContext, SensorView
from sidestep.types import RobotSpec, Scenario
from sidestep.types.base import IntArray
from sidestep.types.sensors import SCENARIO_CAMERA_FIELDS, CameraSettings, merge_camera_settings

PICTURES: frozenset[str] = frozenset({"rgb", "depth", "semantic"})


def with_camera(scenario: Scenario, changes: Any, where: str) -> Scenario:
    """The scenario with camera settings laid over its own."""
    camera = merge_camera_settings(scenario.sensors.camera, changes, where)
    return scenario.model_copy(update={"sensors": scenario.sensors.model_copy(update={"camera": camera})})


def with_policy_camera(scenario: Scenario, policy: Policy) -> Scenario:
    """The scenario with the ``camera`` that the policy declares, if it does, laid over the scenario's."""
    declared = policy.camera
    if declared is None:
        return scenario
    where = f"policy {(policy.name or type(policy).__name__)!r}: camera"
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


class CameraSensor(Sensor):
    """A camera with its rate and latency: serves ``rgb``, ``depth`` and ``semantic``.

    Pictures are taken at the steps that the settings name, not when the policy is ready for them, and arrive a whole
    number of steps later. With neither rate nor latency one is taken only when the policy is asked.
    """

    def __init__(self, context: SensorContext) -> None:
        super().__init__(context)
        settings, rules = context.scenario.sensors.camera, context.scenario.rules
        from sidestep.render.camera import RobotCamera

        self._camera = RobotCamera(
            context.scene, context.robot, context.needs, settings, context.person_id, context.scenario.name,
            context.others,
        )  # fmt: skip
        self._settings = settings
        self._step_s, self._control_every = rules.step_s, rules.control_every
        self._at_once = settings.rate_hz is None and settings.latency_s == 0.0
        self._delay = settings.delay_steps(rules.step_s)
        self._forget()

    def restart(self, person_id: IntArray) -> None:
        """Another episode of the scenario, perhaps with other people."""
        self._camera.restart(person_id)
        self._forget()

    def _forget(self) -> None:
        self._due = -1
        self._taken: deque[tuple[int, dict[str, Any]]] = deque()

    def watch(self, view: SensorView) -> None:
        """Take a picture if one is due."""
        self._camera.follow(view.robot, view.everybody, view.time_s, view.others)
        due = self._settings.newest_frame(view.step, self._step_s, self._control_every)
        if not self._at_once and due > self._due:
            self._due = due
            self._take(view)

    def sense(self, view: SensorView) -> dict[str, Any]:
        """The pictures that the policy has now, and ``picture_time``: when they were taken, s."""
        self.watch(view)
        if self._at_once and not (self._taken and self._taken[-1][0] == view.step):
            self._taken.clear()
            self._take(view)
        while len(self._taken) > 1 and self._taken[1][0] + self._delay <= view.step:
            self._taken.popleft()
        taken, pictures = self._taken[0]
        return {**pictures, "picture_time": taken * self._step_s}

    def _take(self, view: SensorView) -> None:
        seen = self._camera.sense(view.robot, view.everybody, view.time_s, view.others)
        self._taken.append((view.step, {name: seen[name] for name in self.context.needs}))
