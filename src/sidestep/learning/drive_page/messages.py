"""What the page and the server say to each other over the websocket.

The page sends JSON texts, one message each, told apart by ``type``; a message that is not one of them gets an ``error``
back and changes nothing. The server sends a binary message for every frame: four bytes with the length of a JSON header
(big-endian), the header (:class:`Frame`), then the pictures one after another, as long as the header says.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from sidestep.errors import BadInput

LONGEST = 1024
"""Bytes of a message of the page, at most."""
Count = Annotated[int, Field(ge=0, le=2**53)]


class Message(BaseModel):
    """What a page says: exactly these fields, finite numbers, no conversion."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Controls(Message):
    """What the person does now. Sent after every frame that was shown, and whenever something changes."""

    type: Literal["controls"]
    number: Count
    """Number of the message, increasing: frames say which one they follow."""
    seen: Count
    """Number of the last frame that was shown. The server never runs more than a few frames ahead of it."""
    steer: Annotated[float, Field(ge=-1, le=1)]
    """-1 (right) to 1 (left)."""
    throttle: Annotated[float, Field(ge=0, le=1)]
    brake: Annotated[float, Field(ge=0, le=1)]


class Wish(Message):
    """``go`` starts or continues, ``pause`` pauses, ``next`` begins the next episode, ``again`` the same one."""

    type: Literal["wish"]
    what: Literal["go", "pause", "next", "again"]


class View(Message):
    """What to show from now on."""

    type: Literal["view"]
    camera: Literal["driver", "recorded"]
    """The driver's wide picture, or the picture that demonstrations hold."""
    map: bool
    """Whether to add the view from above."""


PageMessage = Annotated[Controls | Wish | View, Field(discriminator="type")]
_PAGE_MESSAGE: TypeAdapter[Controls | Wish | View] = TypeAdapter(PageMessage)


def read_message(text: str | bytes | None) -> Controls | Wish | View:
    """A message of the page; ``BadInput`` says what is wrong with it."""
    message: Controls | Wish | View = parse_message(_PAGE_MESSAGE, text, LONGEST)
    return message


def parse_message(kinds: TypeAdapter[Any], text: str | bytes | None, longest: int) -> Any:
    """One of the ``kinds`` of messages of a page, from a JSON text of at most ``longest`` bytes; ``BadInput`` says what
    is wrong with it."""
    if not isinstance(text, str):
        raise BadInput("a message is a JSON text, not bytes")
    if len(text.encode("utf-8", "surrogatepass")) > longest:
        raise BadInput(f"a message has at most {longest} bytes")
    try:
        return kinds.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"{place or 'message'}: {first['msg']}"[:300]) from None


Phase = Literal["loading", "ready", "driving", "paused", "over"]


class Frame(Message):
    """Header of a frame: everything that the page shows beside the pictures."""

    type: Literal["frame"] = "frame"
    frame: Count
    """Number of the frame, increasing."""
    follows: Count
    """Number of the newest controls that moved the car."""
    phase: Phase
    task: str
    """Such as "turn left"."""
    scenario: str
    weather: str
    seed: Count
    episode: Count
    """Counted from 1."""
    time_s: float
    time_limit_s: float
    speed_mps: float
    command: tuple[int, int]
    """Lateral (0 follow lane, 1 left, 2 right, 3 straight) and longitudinal (0 slower, 1 keep, 2 faster)."""
    controls: tuple[float, float, float]
    """Steer, throttle and brake that moved the car."""
    pace: float
    """Simulated seconds per second, of late."""
    outcome: str = ""
    """How the episode ended, once it is over."""
    kept_episodes: Count
    kept_frames: Count
    pictures: dict[str, Count] = {}
    """Name (``main``, ``map``) → bytes, in the order in which they follow."""


def pack_frame(frame: Frame, pictures: dict[str, bytes]) -> bytes:
    """The binary message of a frame."""
    header = frame.model_copy(update={"pictures": {name: len(data) for name, data in pictures.items()}})
    text = header.model_dump_json().encode()
    return b"".join([len(text).to_bytes(4, "big"), text, *pictures.values()])


def unpack_frame(data: bytes) -> tuple[Frame, dict[str, bytes]]:
    """Header and pictures of a binary message, as a client reads it."""
    start = 4 + int.from_bytes(data[:4], "big")
    frame = Frame.model_validate_json(data[4:start])
    pictures = {}
    for name, size in frame.pictures.items():
        pictures[name] = data[start : start + size]
        start += size
    return frame, pictures


def error_text(message: str, *, final: bool = False) -> str:
    """An error for the page; ``final``: the server ends."""
    document: dict[str, Any] = {"type": "error", "message": message, "final": final}
    return json.dumps(document)
