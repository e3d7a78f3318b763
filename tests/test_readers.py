"""Whatever is in a file, its reader returns something or says what is wrong, soon and in bounded memory."""

from __future__ import annotations

import json
import struct
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

from sidestep.cli.run import parse_settings
from sidestep.datasets import load_tracks
from sidestep.datasets.sanity import describe
from sidestep.datasets.sidestep_tracks import SIDESTEP
from sidestep.datasets.sources import installed
from sidestep.errors import SidestepError
from sidestep.policies.visual.model_files import load_spec
from sidestep.remote.joystick import JoystickPolicy
from sidestep.remote.messages import read_command, read_introduction
from sidestep.remote.wire import WireError, decode
from sidestep.robots import load_robot
from sidestep.runs.folder import load_run
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.load import resolve_scene
from sidestep.scenes.places.scan import read_triangles
from sidestep.simulation import build_world
from sidestep.suites.files import load_suite
from sidestep.types.tracks import Tracks
from tests.datasets.conftest import FILES, OPTIONS, write
from tests.fuzz import damage, within
from tests.runs.fake import fake_plan
from tools.lantern_court_mesh import write_glb

INPUT_S = 10.0
"""Time for one input, s; most take a few milliseconds."""
MESSAGE = 600
"""Most characters of an error message, without the paths in it."""

SCENARIO = b"""
summary: Worlds
defaults:
  robots: [{spec: pioneer_3dx, dynamics: policy, start: [0, 0, 0], goal: [4, 0], route: [[1, 0], [2, 1]]}]
  rules: {time_limit_s: 4, step_s: 0.05, goal_radius_m: 0.3, ends_on: [success, timeout], frozen_after_s: 10}
  scene: {name: room, enclosed: true, regions: [{kind: walkable, polygon: [[-9, -9], [9, -9], [9, 9], [-9, 9]]}]}
scenarios:
  - {name: met, crowd: [{people: [{start: [4, 1.4], waypoints: [[-4, 1.4]], speed: 1.2, radius: 0.3, enter_s: 1}]}]}
  - {name: round, crowd: [{placement: {kind: circle, count: 3, radius: 4, centre: [0, 0], jitter: 0.1}}]}
  - {name: free, crowd: [{placement: {kind: random, count: 4, area: [-5, -5, 5, 5], goals: 2}, radius: 0.2}]}
  - {name: stream, crowd: [{placement: {kind: flow, origin: [-8, -2, -7, 2], destination: [7, -2, 8, 2],
     per_minute: 20}, model: social_force_helbing, speed: {mean: 1.3, sd: 0.2, low: 0.5, high: 2}}]}
  - {name: seen, sensors: {lidar: {rays: 90, max_range: 10}, camera: {width: 32, height: 24, field_of_view: 1.2}}}
"""
SCENE = b"""
name: hall
enclosed: true
source: &who drawn by hand
regions:
  - {kind: walkable, polygon: [[0, 0], [10, 0], [10, 8], [0, 8]]}
  - {kind: obstacle, name: pillar, height: 3, polygon: [[4, 3], [5, 3], [5, 4], [4, 4]]}
  - {kind: furniture, name: *who, polygon: [[1, 1], [3, 1], [3, 3], [1, 3]], holes: [[[1.5, 1.5], [2, 1.5], [2, 2]]]}
"""
GEOJSON = json.dumps(
    {
        "type": "FeatureCollection",
        "name": "yard",
        "scene": {"crs": "local", "origin": [1, 2], "enclosed": False, "source": "drawn"},
        "features": [
            {
                "type": "Feature",
                "properties": {"kind": "obstacle", "height": 2.5, "name": "shed"},
                "geometry": {"type": "Polygon", "coordinates": [[[0, 0], [4, 0], [4, 3], [0, 3], [0, 0]]]},
            },
            {
                "type": "Feature",
                "properties": {"width": 0.2},
                "geometry": {"type": "LineString", "coordinates": [[6, 0], [9, 1], [9, 5, 1.5]]},
            },
            {
                "type": "Feature",
                "properties": {"kind": "sidewalk"},
                "geometry": {"type": "MultiPolygon", "coordinates": [[[[0, 9], [9, 9], [9, 12], [0, 12], [0, 9]]]]},
            },
        ],
    }
).encode()
MAP = b"""image: map.pgm
resolution: 0.05
origin: [-1.0, -2.0, 0.1]
occupied_thresh: 0.65
free_thresh: 0.196
negate: 0
"""
PGM = b"P5\n# made by hand\n16 12\n255\n" + bytes(254 if 2 < k % 16 < 13 else 0 for k in range(192))
PLAIN_PGM = b"P2\n4 3\n15\n0 0 0 0\n0 15 15 0\n0 0 7 0\n"
OSM = b"""<?xml version="1.0" encoding="UTF-8"?>
<osm version="0.6"><bounds minlat="48.0" minlon="11.0" maxlat="48.002" maxlon="11.003"/>
<node id="1" lat="48.0005" lon="11.0005"/><node id="2" lat="48.0005" lon="11.0025"/>
<node id="3" lat="48.0015" lon="11.0005"/><node id="4" lat="48.0015" lon="11.001"/>
<node id="5" lat="48.0018" lon="11.001"/>
<node id="6" lat="48.0007" lon="11.001"><tag k="natural" v="tree"/></node>
<way id="7"><nd ref="1"/><nd ref="2"/><tag k="highway" v="residential"/>
<tag k="sidewalk" v="both"/><tag k="width" v="6.5"/></way>
<way id="8"><nd ref="3"/><nd ref="4"/><nd ref="5"/><nd ref="3"/><tag k="building" v="yes"/>
<tag k="height" v="9 m"/></way>
<relation id="9"><member type="way" ref="8" role="outer"/><tag k="type" v="multipolygon"/>
<tag k="leisure" v="park"/></relation>
</osm>
"""
URDF = b"""<?xml version="1.0"?><robot name="cart">
<link name="base"><inertial><mass value="12.5"/></inertial>
<collision><origin xyz="0.1 0 0.2" rpy="0 0 0.5"/><geometry><box size="0.6 0.4 0.3"/></geometry></collision></link>
<link name="mast"><visual><geometry><cylinder radius="0.05" length="1.2"/></geometry></visual></link>
<link name="head"><visual><geometry><sphere radius="0.1"/></geometry></visual></link>
<joint name="a" type="fixed"><parent link="base"/><child link="mast"/><origin xyz="0 0 0.6"/></joint>
<joint name="b" type="fixed"><parent link="mast"/><child link="head"/>
<origin xyz="0 0 0.6" rpy="1 0 0"/></joint></robot>
"""
ROBOT = b"""
name: cart
summary: A cart
dynamics: unicycle
footprint: {polygon: [[-0.3, -0.2], [0.3, -0.2], [0.3, 0.2], [-0.3, 0.2]]}
limits: {max_speed: 1.5, max_turn_rate: 1.0, max_acceleration: 1.0}
mass: 20
height: 0.8
"""
VISUAL = b"""
summary: An interface
image: {width: 85, height: 64, rate_hz: 4, history: {frames: 5}}
output: {kind: waypoints, points: 5}
"""
TRACKS = Tracks(np.repeat([1, 2], 5), np.tile(np.arange(5) * 0.4, 2), np.random.default_rng(1).random((10, 2)), 2.5)


@dataclass
class Reader:
    """A file's content and name, what belongs beside it, and the function that reads its path."""

    content: bytes
    name: str
    read: Callable[[Path], Any]
    beside: dict[str, bytes] = field(default_factory=dict)
    damage: Callable[[int, bytes], bytes] = damage


def worlds(path: Path) -> None:
    suite = load_suite(path)
    for scenario in suite.scenarios():
        build_world(scenario, 0, path.parent)


def scene(path: Path) -> None:
    compile_scene(resolve_scene(str(path)), str(path))


def tracks(path: Path, format_name: str) -> None:
    describe(load_tracks(path, format_name, **OPTIONS.get(format_name, {})))


def mesh(seed: int, content: bytes) -> bytes:
    """Damage to the description of a binary glTF file, its length put right; sometimes to the whole file."""
    if seed % 4 == 0:
        return damage(seed, content)
    length = int.from_bytes(content[12:16], "little")
    text = damage(seed, content[20 : 20 + length])
    rest = content[20 + length :]
    head = struct.pack("<4sIIII", b"glTF", 2, 20 + len(text) + len(rest), len(text), 0x4E4F534A)
    return head + text + rest


def image(path: Path) -> None:
    scene(path.with_name("map.yaml"))


def setting(path: Path) -> None:
    parse_settings([path.read_bytes().decode(errors="replace")], ["orca"])


def recording(format_name: str, folder: Path) -> Reader:
    path = write(folder, format_name)
    return Reader(path.read_bytes(), path.name, lambda path: tracks(path, format_name))


def message(path: Path) -> None:
    for strict in (True, False):
        found = decode(path.read_bytes(), strict)
        if strict:
            read_command(found)
            read_introduction(found)


def joystick(path: Path) -> None:
    reader = JoystickPolicy.__new__(JoystickPolicy)
    reader._frame = type("Frame", (), {"x": 0.0, "y": 0.0})()  # type: ignore[assignment]
    reader._read(path.read_bytes().decode(errors="replace"))


def mesh_file(folder: Path) -> bytes:
    write_glb(folder / "seed.glb", {"floor": ((0.5, 0.5, 0.5), np.array([[[0.0, 0, 0], [4, 0, 0], [4, 4, 0]]] * 2))})
    return (folder / "seed.glb").read_bytes()


def track_file(folder: Path) -> bytes:
    SIDESTEP.save(TRACKS, folder / "seed.parquet")
    return (folder / "seed.parquet").read_bytes()


def run_file(folder: Path) -> bytes:
    from sidestep.runs.folder import RunFile

    RunFile(fake_plan(folder, "Steady")).save(folder)
    return (folder / "run.json").read_bytes()


ABOUT = (
    b'{"file": "x.txt", "format": "plain", "options": {"rate_hz": 2}, "sha256": "a", "people": 3, "source": "", '
    b'"licence": ""}'
)
ACT = msgpack.packb(
    {"type": "act", "id": 2, "command": "waypoints", "values": [[1.0, 2.5], [2, 0]], "name": "x", "needs": ["goal"]}
)
READERS: dict[str, Callable[[Path], Reader]] = {
    "suite": lambda folder: Reader(SCENARIO, "suite.yaml", worlds),
    "scene": lambda folder: Reader(SCENE, "hall.yaml", scene),
    "geojson": lambda folder: Reader(GEOJSON, "yard.geojson", scene),
    "ros map": lambda folder: Reader(MAP, "map.yaml", scene, {"map.pgm": PGM}),
    "pgm": lambda folder: Reader(PGM, "map.pgm", image, {"map.yaml": MAP}),
    "plain pgm": lambda folder: Reader(PLAIN_PGM, "map.pgm", image, {"map.yaml": MAP}),
    "osm": lambda folder: Reader(OSM, "part.osm", scene),
    "glb": lambda folder: Reader(mesh_file(folder), "mesh.glb", read_triangles, damage=mesh),
    "urdf": lambda folder: Reader(URDF, "cart.urdf", lambda path: load_robot(str(path))),
    "robot": lambda folder: Reader(ROBOT, "cart.yaml", lambda path: load_robot(str(path))),
    "visual": lambda folder: Reader(VISUAL, "model.yaml", lambda path: load_spec(str(path))),
    "tracks": lambda folder: Reader(track_file(folder), "t.parquet", lambda path: tracks(path, "sidestep")),
    "run": lambda folder: Reader(run_file(folder), "run.json", lambda path: load_run(path.parent)),
    "message": lambda folder: Reader(ACT, "message", message),
    "joystick": lambda folder: Reader(b'{"j_input": [[1.0, 2.0, 0.5, 0.1], [1, 2]]}', "message", joystick),
    "setting": lambda folder: Reader(b"orca.horizon=[3, {a: 0.5}]", "setting", setting),
    "dataset": lambda folder: Reader(ABOUT, "dataset.json", lambda path: installed(path.parent.name)),
    **{name: partial(recording, name) for name in FILES},
}


def read_damaged(name: str, folder: Path, seeds: range) -> None:
    reader = READERS[name](folder)
    for beside, content in reader.beside.items():
        (folder / beside).write_bytes(content)
    path = folder / reader.name
    path.write_bytes(reader.content)
    reader.read(path)
    for seed in seeds:
        path.write_bytes(reader.damage(seed, reader.content))
        try:
            with within(INPUT_S), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                reader.read(path)
        except (SidestepError, WireError) as error:
            longest = max(len(line) for line in str(error).replace(str(folder), "").splitlines())
            if longest > MESSAGE:
                raise AssertionError(f"{name}: seed {seed}: a message of {longest} characters") from error
        except BaseException as error:
            raise AssertionError(f"{name}: seed {seed}: {type(error).__name__}: {error!s:.300}") from error


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *_, **__: str(tmp_path))
    (tmp_path / "datasets" / "x").mkdir(parents=True)
    return tmp_path / "datasets" / "x"


@pytest.mark.parametrize("name", sorted(READERS))
def test_damaged_files(name: str, folder: Path) -> None:
    read_damaged(name, folder, range(120))


@pytest.mark.full
@pytest.mark.parametrize("name", sorted(READERS))
def test_very_many_damaged_files(name: str, folder: Path) -> None:
    read_damaged(name, folder, range(1000, 4000))
