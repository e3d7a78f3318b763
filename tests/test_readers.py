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

from sidestep.benchmark.folder import load_run
from sidestep.cli.settings import parse_settings
from sidestep.crowd.twins import load_twin
from sidestep.datasets import load_dataset, load_tracks
from sidestep.datasets.find import installed
from sidestep.datasets.sanity import describe
from sidestep.datasets.sidestep_tracks import SIDESTEP
from sidestep.errors import SidestepError
from sidestep.policies.remote.messages import read_command, read_introduction
from sidestep.policies.remote.wire import WireError, decode
from sidestep.policies.visual.catalogue import load_spec
from sidestep.robots import load_robot
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.load import resolve_scene
from sidestep.scenes.places.glb import read_triangles, write_glb
from sidestep.serve.joystick import JoystickPolicy
from sidestep.simulation import build_world
from sidestep.suites.files import load_suite
from sidestep.types.tracks import Tracks
from tests.benchmark.fake import fake_plan
from tests.datasets.conftest import FILES, OPTIONS, write
from tests.fuzz import damage, within

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
    from sidestep.benchmark.folder import RunFile

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


def refused(read: Callable[[], Any], reason: str, seconds: float = 3.0) -> None:
    """The reader says why, within a few seconds and 700 MB."""
    with pytest.raises(SidestepError, match=reason) as error, within(seconds, 700_000_000):
        read()
    assert len(str(error.value)) < 1500


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n"
    for before, name in zip("abcdefghij", "bcdefghijk", strict=True)
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (BOMB, "more than 1,000,000 values"),
        ("a: " + "[" * 40_000 + "]" * 40_000, "nested more than 64 deep"),
        ("name: &a [*a]", "contains itself"),
        ("name: " + "9" * 5000, "not valid YAML"),
        ("name: a\nname: b", "given twice"),
        ("x" * 40_000_000, "32 MB"),
    ],
)
@pytest.mark.parametrize("name", ["suite.yaml", "scene.yaml", "robot.yaml", "model.yaml", "map.yaml"])
def test_yaml_that_explodes(name: str, text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    readers: dict[str, Callable[[], Any]] = {
        "suite.yaml": lambda: load_suite(path),
        "robot.yaml": lambda: load_robot(str(path)),
        "model.yaml": lambda: load_spec(str(path)),
    }
    refused(readers.get(name, lambda: resolve_scene(str(path))), reason)


def test_dates_are_text_and_merges_work(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        "name: 2001-99-99\nnotes: {made: 2024-02-30}\nrobots:\n  - &r {start: [0, 0, 0], goal: [3, 0]}\n"
        "  - {<<: *r, goal: [4, 0]}\n"
    )
    [scenario] = load_suite(path).scenarios()
    assert scenario.name == "2001-99-99"
    assert scenario.notes == {"made": "2024-02-30"}
    assert scenario.robots[1].goal == (4, 0)


def test_a_map_reads_only_an_image_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "maps"
    folder.mkdir()
    (tmp_path / "other.pgm").write_bytes(PGM)
    (folder / "link.pgm").symlink_to(tmp_path / "other.pgm")
    path = folder / "map.yaml"
    for image in ("/dev/zero", "../other.pgm", str(tmp_path / "other.pgm"), "link.pgm", "/etc/passwd"):
        path.write_text(f"image: {image}\nresolution: 0.1\n")
        refused(lambda: resolve_scene(str(path)), "lies outside")
    for image in (".", "none.pgm", '"a\\0b"', "x" * 5000):
        path.write_text(f"image: {image}\nresolution: 0.1\n")
        refused(lambda: resolve_scene(str(path)), "no such file beside|is no file name")


@pytest.mark.parametrize(
    ("image", "settings", "reason"),
    [
        (b"P5\n90000 90000\n255\n" + b"\0" * 100, "resolution: 0.1", "at most 64,000,000 pixels"),
        (b"P2\n3000 3000\n255\n0", "resolution: 0.1", "at most 8,000,000 pixels"),
        (b"P2\n2 2\n255\n1 2 3 " + b"9" * 1_000_000, "resolution: 0.1", "something other than numbers"),
        (b"P5\n2 " + b"9" * 5000 + b"\n255\n", "resolution: 0.1", "header has no height"),
        (b"P5\n2000 2000\n255\n" + b"\0\xff" * 2_000_000, "resolution: 0.005", "3,998,000 edges between"),
        (b"P5\n20 20\n255\n" + b"\0" * 400, "resolution: 1000", "at most 16 km are read"),
    ],
)
def test_images_that_are_too_large(image: bytes, settings: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "map.pgm").write_bytes(image)
    (tmp_path / "map.yaml").write_text(f"image: map.pgm\n{settings}\n")
    refused(lambda: resolve_scene(str(tmp_path / "map.yaml")), reason)


def test_a_picture_that_is_too_large(tmp_path: Path) -> None:
    pillow = pytest.importorskip("PIL.Image")
    pillow.new("L", (9000, 8000)).save(tmp_path / "map.png")
    (tmp_path / "map.yaml").write_text("image: map.png\nresolution: 0.1\n")
    refused(lambda: resolve_scene(str(tmp_path / "map.yaml")), "at most 64,000,000 are read")


def gltf(document: dict[str, Any], binary: bytes = b"\0" * 64) -> bytes:
    text = json.dumps(document).encode()
    head = struct.pack("<4sII", b"glTF", 2, 28 + len(text) + len(binary))
    parts = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(binary), 0x004E4942) + binary
    return head + parts


TRIANGLE: dict[str, Any] = {
    "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
    "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
    "bufferViews": [{"buffer": 0, "byteLength": 36}],
    "buffers": [{"byteLength": 64}],
    "nodes": [{"mesh": 0}],
}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"nodes": [{"children": [k + 1] * 10} for k in range(30)] + [{"mesh": 0}]}, "more than 100,000 nodes"),
        ({"nodes": [{"children": [0]}]}, "form a loop"),
        ({"nodes": [{"children": [k + 1]} for k in range(5000)] + [{"mesh": 0}]}, "nested more than 64"),
        ({"bufferViews": [{"buffer": 0, "byteLength": 36, "byteStride": 0}]}, "byteStride of 0"),
        ({"accessors": [{"bufferView": 0, "componentType": 5126, "count": 10**9, "type": "VEC3"}]}, "beyond the end"),
        ({"buffers": [{"uri": "/etc/passwd"}]}, "refers to another file"),
        ({"nodes": 3}, "damaged"),
        ({"meshes": [{"primitives": [{"attributes": {"POSITION": 0}}] * 2_000_000}]}, "MB|triangles"),
    ],
)
def test_meshes_that_explode(change: dict[str, Any], reason: str, tmp_path: Path) -> None:
    path = tmp_path / "mesh.glb"
    path.write_bytes(gltf(TRIANGLE))
    assert len(read_triangles(path)) == 1
    path.write_bytes(gltf(TRIANGLE | change))
    refused(lambda: read_triangles(path), reason, seconds=10.0)


@pytest.mark.parametrize("name", ["a.osm", "a.urdf"])
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('<!DOCTYPE a [<!ENTITY b "x"><!ENTITY c "&b;&b;&b;&b;">]><osm>&c;</osm>', "document type"),
        ("<a>" * 100_000, "nested more than 64 deep"),
        ('<?xml version="1.0" encoding="utf-16"?><osm', "not valid XML"),
        ("", "not valid XML|no element"),
    ],
)
def test_xml_that_explodes(name: str, text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    refused(lambda: resolve_scene(str(path)) if name == "a.osm" else load_robot(str(path)), reason)


FLOW = {"kind": "flow", "origin": [0, 0, 1, 1], "destination": [5, 5, 6, 6]}


def square(half: float) -> list[list[float]]:
    return [[-half, -half], [half, -half], [half, half], [-half, half]]


@pytest.mark.parametrize(
    ("polygon", "reason"),
    [
        (square(1e300), "more than 16 km from the origin"),
        (square(1e6), "more than 16 km from the origin"),
        ([[k * 1e-2, (k % 2) * 1e-2] for k in range(510_000)], "510,000 corners, at most 500,000"),
    ],
)
def test_absurd_geometry(polygon: list[list[float]], reason: str, tmp_path: Path) -> None:
    feature = {"properties": {"kind": "obstacle"}, "geometry": {"type": "Polygon", "coordinates": [polygon]}}
    path = tmp_path / "a.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "scene": {"crs": "local"}, "features": [feature]}))
    refused(lambda: scene(path), reason, seconds=15.0)


def test_the_largest_scene_fits(tmp_path: Path) -> None:
    """A scene as large as allowed: its grids are coarser, not larger."""
    path = tmp_path / "a.yaml"
    regions = [{"kind": "walkable", "polygon": square(16_000)}, {"kind": "obstacle", "polygon": square(2)}]
    path.write_text(json.dumps({"enclosed": True, "regions": regions}))
    with within(20.0, 1_000_000_000):
        compiled = compile_scene(resolve_scene(str(path)))
        assert compiled.distance.size <= 4_500_000


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"robots": [{"start": [1e300, 0, 0], "goal": [3, 0]}]}, "robots.0.start.0"),
        ({"rules": {"time_limit_s": 1e300}}, "more than 1,000,000 steps"),
        ({"rules": {"step_s": 1e-320}}, "more than 1,000,000 steps"),
        ({"crowd": [{"people": [{"start": [0, -1e9]}]}]}, "crowd.0.people.0.start.1"),
        (
            {"crowd": [{"placement": FLOW | {"per_minute": 1e300}}]},
            "at most 20,000 are simulated",
        ),
        ({"crowd": [{"placement": {"kind": "random", "count": 3, "area": [0, 0, 1e300, 1]}}]}, "area.2"),
    ],
)
def test_absurd_scenarios(change: dict[str, Any], reason: str, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(json.dumps({"name": "a", "robots": [{"start": [0, 0, 0], "goal": [3, 0]}]} | change))
    refused(lambda: worlds(path), reason)


BAD_NAMES = ("", "\0", "x" * 9_000, "/", "a\nb", "\ud800", "~nobody", "-", "1e999", "/dev/zero", "/dev/zero.yaml")


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_are_none(name: str) -> None:
    for read in (load_suite, resolve_scene, load_robot, load_spec, load_twin, load_dataset):
        refused(lambda read=read: read(name), ".")  # type: ignore[misc]


@pytest.mark.parametrize(
    "name",
    [
        "town:" + "9" * 5000, "town:inf", "town:nan", "town:1e5", "town:-1", "town:", "town:\0", "town:½",
        "town:0@inf,0,1,1",
        "town:0@nan,nan,nan,nan", "town:0@1,2", "town:0@1e300,0,1e301,5", "town:0@9" + "9" * 5000 + ",0,1,1",
        "town:0@0,0,-5,-5",
        "place:", "place:kettlegate/long/" + "9" * 5000, "place:kettlegate/long/inf", "place:kettlegate/long/-1",
        "place:\0",
        "place:../x", "place:kettlegate/long/½",
    ],
)  # fmt: skip
def test_names_of_towns_and_places(name: str) -> None:
    refused(lambda: resolve_scene(name), ".", seconds=30.0)


def test_a_window_outside_the_recording_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "people.txt").write_text(FILES["plain"])
    document: dict[str, Any] = {"name": "a", "robots": [{"start": [9, 9, 0], "goal": [12, 9]}]}
    path = tmp_path / "a.yaml"
    for start_s, said in ((6000, "after"), (-500, "before")):
        placement = {"kind": "replay", "path": "people.txt", "start_s": start_s}
        path.write_text(json.dumps(document | {"crowd": [{"model": "replay", "placement": placement}]}))
        refused(lambda: worlds(path), f"lies {said} the recording people.txt, which has people from 0 to 0.8 s")


def test_more_people_than_there_is_room_for(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    walls = {"name": "w", "regions": [{"kind": "obstacle", "polygon": [[8, 8], [9, 8], [9, 9]]}]}
    circle = {"kind": "circle", "count": 65_536, "radius": 4}
    document = {"name": "a", "scene": walls, "robots": [{"start": [0, 0, 0], "goal": [3, 0]}]}
    path.write_text(json.dumps(document | {"crowd": [{"placement": circle}]}))
    refused(lambda: worlds(path), "no room left for one more person", seconds=10.0)


def test_yaml_is_loaded_in_one_place_only() -> None:
    import sidestep

    for file in Path(sidestep.__file__).parent.rglob("*.py"):
        if file.name != "reading.py":
            text = file.read_text(encoding="utf-8")
            assert "yaml.load" not in text, file
            assert "yaml.safe_load" not in text, file
            assert "ElementTree.fromstring" not in text, file
