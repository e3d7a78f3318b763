"""Messages between the page and the server over the websocket.

The page sends JSON texts, one message each, distinguished by ``type``. A message that is none of them is answered with
an ``error`` and changes nothing. The server sends a binary message for every frame: four bytes with the length of a
JSON header (big-endian), the header (:class:`FrameHeader`), then the pictures, one after another, as long as the header
says.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from sidestep._util.web import Count, Message, parse_message

LONGEST = 1024
"""Maximum length of a message of the page in bytes."""


class DriverControls(Message):
    """What the driver does now. The page sends it after every frame that it has shown, and on every change."""

    type: Literal["controls"]
    number: Count
    """Increasing number of the message; a frame names the newest one that moved the car."""
    seen: Count
    """Number of the last frame that was shown. The server never runs more than a few frames ahead of it."""
    steer: Annotated[float, Field(ge=-1, le=1)]
    """-1 (right) to 1 (left)."""
    throttle: Annotated[float, Field(ge=0, le=1)]
    brake: Annotated[float, Field(ge=0, le=1)]


class EpisodeRequest(Message):
    """``go`` starts or resumes the clock, ``pause`` stops it, ``next`` begins the next episode, ``again`` repeats."""

    type: Literal["wish"]
    what: Literal["go", "pause", "next", "again"]


class View(Message):
    """The view to show from now on."""

    type: Literal["view"]
    camera: Literal["driver", "recorded"]
    """The driver's wide picture, or the picture that demonstrations hold."""
    map: bool
    """Whether to add the view from above."""


_PAGE_MESSAGE: TypeAdapter[DriverControls | EpisodeRequest | View] = TypeAdapter(
    Annotated[DriverControls | EpisodeRequest | View, Field(discriminator="type")]
)


def read_message(text: str | bytes | None) -> DriverControls | EpisodeRequest | View:
    """Read a message of the page. Raises ``BadInput`` with the field that is wrong."""
    message: DriverControls | EpisodeRequest | View = parse_message(_PAGE_MESSAGE, text, LONGEST)
    return message


Phase = Literal["loading", "ready", "driving", "paused", "over"]


class FrameHeader(Message):
    """Header of a frame: everything that the page shows apart from the pictures."""

    type: Literal["frame"] = "frame"
    frame: Count
    """Number of the frame, increasing."""
    follows: Count
    """Number of the newest controls that moved the car."""
    phase: Phase
    task: str
    """The task in words, such as "turn left"."""
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
    """Simulated seconds per second over the last steps."""
    outcome: str = ""
    """Outcome of the episode, once it is over."""
    kept_episodes: Count
    kept_frames: Count
    pictures: dict[str, Count] = Field(default_factory=dict)
    """Name (``main``, ``map``) → bytes, in the order in which they follow."""


def pack_frame(frame: FrameHeader, pictures: dict[str, bytes]) -> bytes:
    """The binary message of a frame."""
    header = frame.model_copy(update={"pictures": {name: len(data) for name, data in pictures.items()}})
    text = header.model_dump_json().encode()
    return b"".join([len(text).to_bytes(4, "big"), text, *pictures.values()])


def unpack_frame(data: bytes) -> tuple[FrameHeader, dict[str, bytes]]:
    """Header and pictures of a binary message, as a client reads it."""
    start = 4 + int.from_bytes(data[:4], "big")
    frame = FrameHeader.model_validate_json(data[4:start])
    pictures = {}
    for name, size in frame.pictures.items():
        pictures[name] = data[start : start + size]
        start += size
    return frame, pictures
