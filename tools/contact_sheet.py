"""Draws the contact sheet: stills of everything that can be drawn, on one page.

``python -m tools.contact_sheet FILE.jpg [--size WIDTHxHEIGHT]``; ``contact_sheet.yaml`` beside this file lists the
stills.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from math import atan2, cos, hypot, pi, radians, sin
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from PIL import Image
from pydantic import Field, model_validator

from sidestep import registry
from sidestep._util.progress import progress_bar
from sidestep._util.reading import read_mapping
from sidestep._util.writing import whole_file
from sidestep.cli.cameras import sized
from sidestep.errors import BadInput, SidestepError
from sidestep.render.camera_model import CameraModel, CameraPose
from sidestep.render.figure import Motion
from sidestep.render.films.cameras import coloured
from sidestep.render.light import Lamp, make_light
from sidestep.render.packing import PackedInstances
from sidestep.render.people.pose import PeopleState
from sidestep.render.people.skeleton import gesture_code
from sidestep.render.record_view import RecordView
from sidestep.render.renderer import Images, Renderer
from sidestep.render.top_view import palette
from sidestep.render.top_view.canvas import Picture, fit_text, write
from sidestep.render.world_view import WorldView
from sidestep.scenes.plans import load_plan
from sidestep.simulation import run_episode
from sidestep.simulation.robots import load_robot
from sidestep.suites.files import base_of, choose_options, load_suite
from sidestep.types.base import Finite, Model, NonNegative, Point, Positive
from sidestep.types.record import EpisodeRecord
from sidestep.types.scenario import Scenario
from sidestep.types.sensors import CameraSettings

Point3 = tuple[Finite, Finite, Finite]


class PosedPerson(Model):
    """Somebody, placed by hand."""

    at: Point
    faces: Finite = 0.0
    """Heading of the body, degrees from +x."""
    does: str = "none"
    """Name of a gesture."""
    speed: NonNegative = 0.0
    head: Finite = 0.0
    """Of the head from the body, degrees, left is positive."""
    since: NonNegative = 1.1
    """How long the gesture has lasted, s."""


class PosedRobot(Model):
    """A robot or vehicle, placed by hand."""

    robot: str
    at: Point
    faces: Finite = 0.0
    speed: NonNegative = 0.0


class Moment(Model):
    """A moment of an episode, with its people and its robot. Crowds are generated, never recorded."""

    suite: str
    scenario: str
    time: NonNegative
    policy: str = "orca"
    robot: str | None = None
    """Drives instead of the scenario's own robot."""
    seed: int = 0


class Still(Model):
    """One picture: a place with people and machines, or a moment of an episode, and where the camera is."""

    title: str
    place: str | None = None
    """Name of a floor plan."""
    moment: Moment | None = None
    people: tuple[PosedPerson, ...] = ()
    machines: tuple[PosedRobot, ...] = ()
    eye: Point3
    look: Point3
    """Where the camera is and looks at, m: in the world (z above the ground there), or ahead, left and up of the robot
    of a moment."""
    view: Annotated[float, Field(ge=10, le=120)] = 58.0
    """Horizontal field of view, degrees."""
    weather: Literal["clear", "cloudy", "wet", "rain"] = "clear"
    light: Literal["noon", "sunset", "night"] = "noon"
    picture: Literal["rgb", "depth", "semantic", "instance"] = "rgb"
    sun: Finite | None = None
    """Azimuth of the sun, degrees, if the usual one leaves faces in the dark."""
    shows: Annotated[int, Field(ge=0)] = 1
    """So many people can be seen, each larger than a thousandth of the picture."""
    scene_seed: int = 0
    dress: str = ""
    """Another word dresses people otherwise."""

    @model_validator(mode="after")
    def _check(self) -> Still:
        if (self.place is None) == (self.moment is None):
            raise ValueError("a still needs either a place or a moment")
        if self.moment is not None and (self.people or self.machines):
            raise ValueError("the people and machines of a moment are those of its episode")
        return self


class Sheet(Model):
    """The whole sheet, row by row."""

    columns: Positive
    stills: tuple[Still, ...]


@cache
def load_sheet() -> Sheet:
    """The sheet that ``contact_sheet.yaml`` lists."""
    file = Path(__file__).with_name("contact_sheet.yaml")
    return Sheet.parse(read_mapping(file), file.name)


STILL_SIZE = (480, 320)
MOST_BYTES = 700_000
"""The sheet is squeezed until it is no larger."""
QUALITIES = (92, 88, 84, 80, 76, 72, 68, 62, 56, 50)

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class PreparedStill:
    """A still, ready to be drawn: the world, who is in it, and where the camera is."""

    world: WorldView
    instances: PackedInstances
    pose: CameraPose
    lamps: list[Lamp]


def write_sheet(path: Path, size: tuple[int, int] = STILL_SIZE, progress: Progress | None = None) -> list[str]:
    """Draw all stills, each of ``size``, into a JPEG (or PNG) file; returns their titles."""
    suffix = path.suffix.lower()
    if suffix not in (".jpg", ".jpeg", ".png"):
        raise BadInput(f"{path}: a contact sheet is a .jpg or .png file; rename it")
    sheet = load_sheet()
    pictures = []
    for k, still in enumerate(sheet.stills):
        if progress is not None:
            progress(k, len(sheet.stills), still.title)
        pictures.append(coloured(draw(still, size), still.picture))
    page = lay_out(pictures, [caption(still) for still in sheet.stills], round(sheet.columns))
    with whole_file(path) as temporary:
        temporary.write_bytes(_encoded(page, suffix))
    return [still.title for still in sheet.stills]


def draw(still: Still, size: tuple[int, int] = STILL_SIZE) -> Images:
    """All four pictures of a still, its colours from four samples a pixel."""
    staged = prepare_still(still)
    sun = {} if still.sun is None else {"sun_azimuth_rad": radians(still.sun)}
    light = make_light(still.weather, still.light, indoor=staged.world.scene.indoor, **sun)
    camera = CameraModel(*size, radians(still.view))
    renderer = Renderer(staged.world.scene, camera, light=light, threads=2, supersample=2)
    return renderer.render(staged.pose, staged.instances, lamps=staged.lamps, time_s=1.0)


def prepare_still(still: Still) -> PreparedStill:
    """Build the place, dress and pose everybody, and set up the camera."""
    return _prepare_moment(still, still.moment) if still.moment is not None else _prepare_place(still)


def _prepare_place(still: Still) -> PreparedStill:
    assert still.place is not None
    people, machines = still.people, still.machines
    specs = [load_robot(machine.robot) for machine in machines]
    numbers = np.arange(len(people))
    world = WorldView(load_plan(still.place), specs, still.title + still.dress, numbers, still.scene_seed)
    state = PeopleState(
        position=np.array([person.at for person in people]).reshape(-1, 2),
        heading=np.radians([person.faces for person in people]),
        speed=np.array([person.speed for person in people]),
        phase=numbers * 0.37 % 1.0,
        model=world.looks.model,
        scale=world.looks.scale,
        head_yaw=np.radians([person.head for person in people]),
        gesture=np.array([gesture_code(person.does) for person in people], np.int64),
        gesture_time=np.array([person.since for person in people]),
        idle=world.looks.idle,
    )
    motions = [
        Motion(*machine.at, radians(machine.faces), machine.speed, phase=0.2, distance=1.7) for machine in machines
    ]
    eye, look = ((x, y, z + float(world.heights(np.array([[x, y]]))[0])) for x, y, z in (still.eye, still.look))
    return PreparedStill(world, world.instances(numbers, state, motions), _aim(eye, look), world.lamps(motions))


def _prepare_moment(still: Still, moment: Moment) -> PreparedStill:
    record = _episode(moment)
    view = RecordView(record, CameraSettings())
    x, y, heading = (float(value) for value in record.robot_pose[-1])
    ground = float(view.world.heights(np.array([[x, y]]))[0])
    c, s = cos(heading), sin(heading)
    eye, look = (
        (x + c * ahead - s * left, y + s * ahead + c * left, ground + up) for ahead, left, up in (still.eye, still.look)
    )
    return PreparedStill(view.world, view.instances(record.steps), _aim(eye, look), view.lamps(record.steps))


def _episode(moment: Moment) -> EpisodeRecord:
    """The episode up to the moment."""
    suite = load_suite(moment.suite)
    if moment.suite == "socnav":
        suite = choose_options(suite, {"source": "generated"})
    scenario: Scenario = next(each for each in suite.scenarios() if each.name == moment.scenario)
    robots, rules = scenario.robots, scenario.rules.model_copy(update={"time_limit_s": moment.time})
    if moment.robot is not None:
        robots = (robots[0].model_copy(update={"spec": moment.robot}), *robots[1:])
    until = scenario.model_copy(update={"robots": robots, "rules": rules})
    policy = registry.make_policy(moment.policy, {})
    return run_episode(until, policy, seed=moment.seed, base=base_of(suite))


def _aim(eye: tuple[float, float, float], look: tuple[float, float, float]) -> CameraPose:
    dx, dy, dz = (b - a for a, b in zip(eye, look, strict=True))
    return CameraPose(*eye, atan2(dy, dx) % (2 * pi), atan2(-dz, hypot(dx, dy)), 0.0)


def caption(still: Still) -> str:
    """What is written below a still."""
    if still.picture != "rgb":
        return f"{still.title} · {still.picture}"
    indoor = still.place in ("corridor", "lobby", "room", "narrow_doorway")
    return still.title if indoor else f"{still.title} · {still.weather} {still.light}"


def lay_out(pictures: list[Picture], captions: list[str], columns: int) -> Picture:
    """Rows of pictures of one size with their captions below, on white."""
    height, width = pictures[0].shape[:2]
    letters = max(6, round(height * 0.05))
    gap, strip = max(2, round(height * 0.025)), round(letters * 1.9)
    rows = -(-len(pictures) // columns)
    page = np.full((gap + rows * (height + strip + gap), gap + columns * (width + gap), 3), 255, np.uint8)
    for k, (picture, words) in enumerate(zip(pictures, captions, strict=True)):
        x, y = gap + k % columns * (width + gap), gap + k // columns * (height + strip + gap)
        page[y : y + height, x : x + width] = picture
        below = page[y + height : y + height + strip, x : x + width]
        fitting = fit_text(words, letters, width)
        if fitting:
            write(below, fitting, 2, round(letters * 0.2), letters, palette.INK)
    return page


def _encoded(page: Picture, suffix: str) -> bytes:
    """PNG, or JPEG of the best quality that fits into ``MOST_BYTES``."""
    for quality in QUALITIES:
        data = BytesIO()
        Image.fromarray(page).save(
            data, "PNG" if suffix == ".png" else "JPEG", quality=quality, optimize=True, progressive=True
        )
        if suffix == ".png" or data.tell() <= MOST_BYTES:
            break
    return data.getvalue()


def main(arguments: list[str] | None = None) -> int:
    """Draw the sheet with a progress bar; 2 where the arguments are wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.contact_sheet", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, help="JPEG or PNG file to write")
    parser.add_argument("--size", metavar="WIDTHxHEIGHT", help="size of one still in pixels; default 480x320")
    options = parser.parse_args(arguments)
    try:
        settings = sized(CameraSettings(), options.size or "x".join(map(str, STILL_SIZE)))
        with progress_bar("drawing") as move:
            titles = write_sheet(options.file, (settings.width, settings.height), move)
    except SidestepError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"wrote {options.file}: {len(titles)} stills")
    return 0


if __name__ == "__main__":
    sys.exit(main())
