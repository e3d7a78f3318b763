"""The contact sheet: stills of everything that can be drawn, on one page, by one command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from math import atan2, cos, hypot, pi, radians, sin
from pathlib import Path

import numpy as np
from PIL import Image

from sidestep import registry
from sidestep.drawing import palette
from sidestep.drawing.shapes import Picture
from sidestep.drawing.text import fit_text, write
from sidestep.errors import BadInput
from sidestep.render.camera_model import CameraModel, CameraPose
from sidestep.render.figure import Motion
from sidestep.render.lamps import Lamp
from sidestep.render.light import make_light
from sidestep.render.packing import PackedInstances
from sidestep.render.people import PeopleState, gesture_code
from sidestep.render.record_view import RecordView
from sidestep.render.renderer import Images, Renderer
from sidestep.render.world_view import WorldView
from sidestep.report.picture_colours import coloured
from sidestep.report.sheet_stills import Moment, Still, load_sheet
from sidestep.robots import load_robot
from sidestep.scenes.plans import load_plan
from sidestep.simulation import run_episode
from sidestep.suites.files import choose_options, load_suite
from sidestep.types.record import EpisodeRecord
from sidestep.types.scenario import Scenario
from sidestep.types.sensors import CameraSettings

STILL_SIZE = (480, 320)
MOST_BYTES = 700_000
"""The sheet is squeezed until it is no larger."""
QUALITIES = (92, 88, 84, 80, 76, 72, 68, 62, 56, 50)

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Staged:
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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_png(page) if suffix == ".png" else _small_jpeg(page))
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror or error}; choose another place") from error
    return [still.title for still in sheet.stills]


def draw(still: Still, size: tuple[int, int] = STILL_SIZE) -> Images:
    """All four pictures of a still, its colours from four samples a pixel."""
    staged = stage(still)
    sun = {} if still.sun is None else {"sun_azimuth_rad": radians(still.sun)}
    light = make_light(still.weather, still.light, indoor=staged.world.scene.indoor, **sun)
    camera = CameraModel(*size, radians(still.view))
    renderer = Renderer(staged.world.scene, camera, light=light, threads=2, supersample=2)
    return renderer.render(staged.pose, staged.instances, lamps=staged.lamps, time_s=1.0)


def stage(still: Still) -> Staged:
    """Build the place, dress and pose everybody, and set up the camera."""
    return _stage_moment(still, still.moment) if still.moment is not None else _stage_place(still)


def _stage_place(still: Still) -> Staged:
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
    return Staged(world, world.instances(numbers, state, motions), _aim(eye, look), world.lamps(motions))


def _stage_moment(still: Still, moment: Moment) -> Staged:
    record = _episode(moment)
    view = RecordView(record, CameraSettings())
    x, y, heading = (float(value) for value in record.robot_pose[-1])
    ground = float(view.world.heights(np.array([[x, y]]))[0])
    c, s = cos(heading), sin(heading)
    eye, look = (
        (x + c * ahead - s * left, y + s * ahead + c * left, ground + up) for ahead, left, up in (still.eye, still.look)
    )
    return Staged(view.world, view.instances(record.steps), _aim(eye, look), view.lamps(record.steps))


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
    return run_episode(until, policy, seed=moment.seed, base=getattr(suite, "base", None))


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


def _png(page: Picture) -> bytes:
    data = BytesIO()
    Image.fromarray(page).save(data, "PNG", optimize=True)
    return data.getvalue()


def _small_jpeg(page: Picture) -> bytes:
    """The best quality that fits into ``MOST_BYTES``."""
    for quality in QUALITIES:
        data = BytesIO()
        Image.fromarray(page).save(data, "JPEG", quality=quality, optimize=True, progressive=True)
        if data.tell() <= MOST_BYTES:
            break
    return data.getvalue()
