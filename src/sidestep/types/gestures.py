"""What people do with their hands and heads, by name: in scenarios, in records and before cameras."""

from __future__ import annotations

from typing import Literal

Gesture = Literal["none", "talk", "queue", "look_around", "wave", "stop", "go_on", "phone"]

GESTURES: dict[str, int] = {
    name: code for code, name in enumerate(("none", "talk", "queue", "look_around", "wave", "stop", "go_on", "phone"))
}
"""Numbers are stable: records hold them."""

GESTURE_NAMES: tuple[str, ...] = tuple(GESTURES)
