"""The state of traffic signals: serves ``signals``."""

from __future__ import annotations

from math import floor
from typing import Any, Literal

from sidestep.errors import BadInput
from sidestep.interfaces import Sensor, SensorContext, SensorView
from sidestep.types.road import Signal


def signal_state(signal: Signal, time_s: float) -> Literal["green", "yellow", "red"]:
    """What a signal shows at a time."""
    phase = time_s - signal.green_at_s
    phase -= signal.cycle_s * floor(phase / signal.cycle_s)
    if phase < signal.green_s:
        return "green"
    return "yellow" if phase < signal.green_s + signal.yellow_s else "red"


class SignalSensor(Sensor):
    """Name of a signal → ``green``, ``yellow`` or ``red``."""

    def __init__(self, context: SensorContext) -> None:
        super().__init__(context)
        roads = context.scene.spec.roads
        if roads is None or not roads.signals:
            raise BadInput(
                f"scenario {context.scenario.name!r}: the policy needs signals, and the scene has none; "
                "take a scene with roads.signals, or a policy that does not need them"
            )
        self._signals = roads.signals

    def sense(self, view: SensorView) -> dict[str, Any]:
        """All signals now."""
        return {"signals": {signal.name: signal_state(signal, view.time_s) for signal in self._signals}}
