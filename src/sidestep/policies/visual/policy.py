"""A network of pictures as a policy: camera, memory, decisions at the network's rate, and the controller that drives
the trajectory or velocity it gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from sidestep._util.exact import arctan2, hypot
from sidestep.errors import BadInput, UnknownName
from sidestep.interfaces import Policy
from sidestep.policies.visual.inputs import PERIOD_S, PROTOCOLS, GoalProtocol, InputMaker, reach_s
from sidestep.policies.visual.memory import CameraFrame, Memory, Odometry, from_frame, into_frame
from sidestep.policies.visual.model_files import load_network, load_spec, model_names
from sidestep.policies.visual.picture import fitted
from sidestep.policies.visual.runner import Decision, Runner, check_interface
from sidestep.policies.visual.spec import GoalMask, Points, VisualSpec
from sidestep.types import Observation, RobotState, Task, Velocity, Waypoints
from sidestep.types.base import FloatArray

STRAIGHT = 1e-6
"""Turn (rad) below which an arc counts as straight."""


class Track:
    """Points fixed in the world where they were given; hands out those ahead in the frame of the robot now."""

    def __init__(self, points: FloatArray, robot: RobotState) -> None:
        self._path = np.vstack([[robot.x, robot.y], from_frame(points, robot)])
        self._segment = 0

    def left(self, robot: RobotState) -> FloatArray | None:
        """Points (K, 2) yet to pass, in the robot's frame; None when the last one is passed.

        The robot is where the path comes nearest to it, never before where it was.
        """
        here = np.array([robot.x, robot.y])
        start, leg = self._path[:-1], np.diff(self._path, axis=0)
        square = (leg * leg).sum(axis=1)
        along = ((here - start) * leg).sum(axis=1) / np.where(square > 0.0, square, 1.0)
        nearest = start + np.clip(along, 0.0, 1.0)[:, None] * leg
        off = ((nearest - here) ** 2).sum(axis=1)
        self._segment += int(np.argmin(off[self._segment :]))
        last = len(leg) - 1
        if self._segment == last and along[last] >= 1.0:
            return None
        return into_frame(self._path[self._segment + 1 :], robot)


def arc_velocity(x: float, y: float, seconds: float) -> tuple[float, float]:
    """(v, ω) of the circular arc, tangent to the heading, that ends in (x, y) after ``seconds``.

    It turns by ``φ = 2 arctan2(y, x)`` over a length of ``φ (x² + y²) / (2 y)``. To a point behind: turns on the spot.
    """
    if x <= 0.0:
        return 0.0, arctan2(y, x) / seconds if hypot(x, y) > STRAIGHT else 0.0
    turn = 2.0 * arctan2(y, x)
    length = x if abs(turn) < STRAIGHT else turn * (x * x + y * y) / (2.0 * y)
    return length / seconds, turn / seconds


CONTROLLERS = ("robot", "timed")
SOON_S = 1e-6
ZERO_VELOCITY = Velocity(0.0, 0.0)


class VisualPolicy(Policy):
    """Asks a network at the rate of its interface and follows what it says, by odometry, until it is asked again."""

    name = "visual"
    summary = "an ONNX or TorchScript network of camera pictures; nine published interfaces, weights by file"
    citation = ""
    needs: ClassVar[frozenset[str]] = frozenset({"rgb"})
    extras = ("onnx",)

    def __init__(
        self,
        model: str | None = None,
        spec: str | dict[str, Any] | None = None,
        file: str | None = None,
        encoder_file: str | None = None,
        format: str | None = None,
        goal_protocol: str | bool | None = None,
        goal_period: float = PERIOD_S,
        text: str | None = None,
        controller: str = "robot",
        names: Mapping[str, str] | None = None,
        threads: int = 1,
        device: str = "cpu",
    ) -> None:
        """``model``: a bundled interface, or ``spec``: one of your own (a YAML file). ``file``: the network.

        ``goal_protocol``: ``paper``, ``true`` or ``hidden``; by default ``true`` for a ``spec`` with a point goal, else
        ``paper``. ``controller``: ``robot`` follows the points with the robot's own PD controller, ``timed`` is at each
        point when the interface says. ``names``: names in the interface → names in the file. ``goal_period``: s.
        """
        self.spec = _chosen(model, spec, {"file": file, "encoder_file": encoder_file, "format": format}, text)
        protocol = _chosen_protocol(goal_protocol, self.spec, is_own=spec is not None)
        self.settings: dict[str, Any] = {
            "goal_protocol": protocol,
            "goal_period": goal_period,
            "controller": _one_of("controller", controller, CONTROLLERS),
            "threads": threads,
            "device": _one_of("device", device, ("cpu", "cuda")),
        }
        if not goal_period > 0.0 or threads < 1:
            raise BadInput("visual: goal_period and threads must be above 0")
        if controller == "timed" and isinstance(self.spec.output, Points) and self.spec.output.interval_s is None:
            raise BadInput(f"visual: controller=timed needs output.interval_s, which {self.spec.name!r} does not have")
        if protocol == "true":
            self.needs = frozenset({"rgb", "goal"})  # type: ignore[misc]  # of this one, not of the class
        self._runner = self._load(dict(names or {}))
        wished = self.spec.image.wished_camera
        self.camera: dict[str, Any] = {
            "width": wished.width,
            "height": wished.height,
            "field_of_view": wished.field_of_view,
            "rate_hz": self.spec.image.rate_hz,
        }
        self.camera |= {"pitch": wished.pitch} if wished.pitch else {}
        self.camera |= {"mount": wished.mount} if wished.mount else {}
        """Fields of ``CameraSettings`` that the policy wishes for."""

    def _load(self, names: dict[str, str]) -> Runner:
        spec, settings = self.spec, self.settings
        if spec.file is None:
            raise BadInput(
                f"visual: interface {spec.name!r} comes without weights; name your file: --set visual.file=weights.onnx"
            )
        machine = (settings["threads"], settings["device"])
        main = load_network(spec.file, spec.format, spec.returns, *machine)
        encoder = None
        if spec.encoder_file is not None:
            returns = spec.encoder.returns if spec.encoder is not None else ()
            encoder = load_network(spec.encoder_file, spec.format, returns, *machine)
        runner = Runner(spec, main, encoder, names)
        check_interface(runner)
        settings |= {"interface": spec.name, "file": spec.file, "sha256": main.sha256}
        if encoder is not None:
            settings |= {"encoder_file": spec.encoder_file, "encoder_sha256": encoder.sha256}
        return runner

    def reset(self, task: Task) -> None:
        """Forget what was seen."""
        image, top_speed = self.spec.image, task.robot.limits.max_speed
        settings = self.settings
        self._odometry = Odometry()
        self._memory = Memory(reach_s(self.spec) + 1.0 / image.rate_hz)
        self._inputs = InputMaker(self.spec, task.seed, top_speed, settings["goal_protocol"], settings["goal_period"])
        self._rng = np.random.default_rng([task.seed, 4])
        output = self.spec.output
        length = output.length if isinstance(output, Points) else None
        speed = self.spec.speed_mps or top_speed
        self._unit_m = 1.0 if length is None else length.in_metres(speed, image.rate_hz)
        self._due = 0.0
        self._track: Track | None = None
        self._velocity = ZERO_VELOCITY

    def act(self, observation: Observation) -> Velocity | Waypoints:
        """A new decision when it is time for one; else on along the last."""
        self._odometry.add(observation.time, observation.robot)
        if observation.rgb is not None and observation.time >= self._due - SOON_S:
            period = 1.0 / self.spec.image.rate_hz
            self._due = max(self._due + period, observation.time + SOON_S)
            taken = observation.picture_time  # of cameras that have a clock of their own
            time_s = observation.time if taken is None else float(taken)
            robot = self._odometry.at(time_s)
            picture = fitted(np.asarray(observation.rgb, np.uint8), self.spec.image)
            self._memory.add(CameraFrame(time_s, picture, robot))
            inputs = self._inputs.make(self._memory, replace(observation, time=time_s, robot=robot))
            decision = self._runner.decide(inputs, self._rng, self._unit_m)
            self._inputs.keep(decision.outputs)
            self._take(decision, robot)
        if self._track is None:
            return self._velocity
        left = self._track.left(observation.robot)
        return ZERO_VELOCITY if left is None else Waypoints(left)

    def _take(self, decision: Decision, robot: RobotState) -> None:
        self._track = None
        if decision.velocity is not None:
            self._velocity = Velocity(*decision.velocity)
            return
        output, points = self.spec.output, decision.points
        assert points is not None
        assert isinstance(output, Points)
        if not np.isfinite(points).all():
            raise ValueError(f"{self._runner.main.file}: the network answered points that are not finite")
        if self.settings["controller"] == "timed":
            assert output.interval_s is not None
            index = len(points) - 1 if output.track is None else output.track
            x, y = points[index].tolist()
            self._velocity = Velocity(*arc_velocity(x, y, (index + 1) * output.interval_s))
        else:
            chosen = points if output.track is None else points[output.track : output.track + 1]
            self._track = Track(chosen, robot)


def _chosen(
    model: str | None, spec: str | dict[str, Any] | None, changes: dict[str, str | None], text: str | None
) -> VisualSpec:
    """The interface, with what the settings change of it."""
    if (model is None) == (spec is None):
        raise BadInput(
            "visual: name one interface: --set visual.model=NAME, one of "
            f"{', '.join(model_names())}, or --set visual.spec=my.yaml; and the network: --set visual.file=weights.onnx"
        )
    if isinstance(spec, dict):
        found = VisualSpec.parse({"name": "own", **spec}, "visual.spec")
    else:
        found = load_spec(str(model if spec is None else spec))
    document = found.model_dump()
    document |= {key: value for key, value in changes.items() if value is not None}
    if text is not None:
        if found.goal.kind != "language":
            raise BadInput(f"visual: interface {found.name!r} takes no instruction; leave text out")
        document["goal"]["text"] = text
    return VisualSpec.parse(document, f"visual ({found.name})")


def _chosen_protocol(asked: str | bool | None, spec: VisualSpec, is_own: bool) -> GoalProtocol:
    """The protocol that was asked for, if it fits the interface; unasked, the real goal for a network of one's own."""
    if asked is None:
        return "true" if is_own and spec.goal.kind == "point" else "paper"
    text = str(asked).lower() if isinstance(asked, bool) else asked  # YAML reads an unquoted true as a truth value
    protocol: GoalProtocol = _one_of("goal_protocol", text, PROTOCOLS)
    _check_protocol(spec, protocol)
    return protocol


def _check_protocol(spec: VisualSpec, protocol: GoalProtocol) -> None:
    if protocol == "true" and spec.goal.kind != "point":
        why = {
            "none": "it takes no goal",
            "image": "it takes a picture of the goal, and there is none",
            "language": "it takes an instruction; give one with text=…",
        }[spec.goal.kind]
        raise BadInput(f"visual: goal_protocol=true does not fit interface {spec.name!r}: {why}")
    if protocol == "hidden" and not any(isinstance(extra, GoalMask) for extra in spec.extra.values()):
        raise BadInput(f"visual: goal_protocol=hidden needs a goal mask, which interface {spec.name!r} does not have")


def _one_of(setting: str, value: str, known: tuple[str, ...]) -> Any:
    if value not in known:
        raise UnknownName(f"visual.{setting}", value, known)
    return value
