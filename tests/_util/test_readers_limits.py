"""Files that explode, absurd geometry and names that are none: refused with the limit, soon and in little memory."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import sidestep
from sidestep._util.reading import parse_json
from sidestep.datasets import load_dataset
from sidestep.errors import BadInput, SidestepError
from sidestep.policies.trivial import Stop
from sidestep.policies.visual.model_files import load_spec
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.load import resolve_scene
from sidestep.scenes.places.scan import read_triangles
from sidestep.simulation import run_episode
from sidestep.simulation.crowd.synthetic import load_statistics
from sidestep.simulation.robots import load_robot
from sidestep.suites.files import load_suite
from tests.datasets.conftest import FILES
from tests.fuzz.guard import within
from tests.fuzz.readers import scene, worlds
from tests.fuzz.seeds import PGM


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
        refused(lambda: resolve_scene(str(path)), "no such file beside|is not a file name")


@pytest.mark.parametrize(
    ("image", "settings", "reason"),
    [
        (b"P5\n90000 90000\n255\n" + b"\0" * 100, "resolution: 0.1", "could be decompression bomb"),
        (b"P5\n9000 9000\n255\n" + b"\0" * 100, "resolution: 0.1", "at most 64,000,000 are read"),
        (b"P2\n3000 3000\n255\n0", "resolution: 0.1", "at most 8,000,000 are read"),
        (b"P2\n2 2\n255\n1 2 3 " + b"9" * 1_000_000, "resolution: 0.1", "Token too long"),
        (b"P5\n2 " + b"9" * 5000 + b"\n255\n", "resolution: 0.1", "header needs width, height"),
        (b"P5\n2000 2000\n255\n" + b"\0\xff" * 2_000_000, "resolution: 0.005", "3,998,000 edges between"),
        (b"P5\n20 20\n255\n" + b"\0" * 400, "resolution: 1000", "at most 16 km are read"),
    ],
)
def test_images_that_are_too_large(image: bytes, settings: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "map.pgm").write_bytes(image)
    (tmp_path / "map.yaml").write_text(f"image: map.pgm\n{settings}\n")
    refused(lambda: resolve_scene(str(tmp_path / "map.yaml")), reason)


def test_a_picture_that_is_too_large(tmp_path: Path) -> None:
    Image.new("L", (9000, 8000)).save(tmp_path / "map.png")
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
    "scenes": [{"nodes": [0]}],
}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"nodes": [{"children": [k + 1] * 10} for k in range(30)] + [{"mesh": 0}]}, "child of two nodes"),
        ({"nodes": [{"mesh": 0}] * 100_001}, "more than 100,000 nodes"),
        ({"nodes": [{"children": [0]}]}, "form a loop"),
        ({"nodes": [{"children": [k + 1]} for k in range(5000)] + [{"mesh": 0}]}, "nested more than 64"),
        ({"bufferViews": [{"buffer": 0, "byteLength": 36, "byteStride": 0}]}, "byteStride of 0"),
        (
            {"accessors": [{"bufferView": 0, "componentType": 5126, "count": 10**9, "type": "VEC3"}]},
            "corners of triangles",
        ),
        ({"accessors": [{"componentType": 5126, "count": 10**7, "type": "VEC3"}]}, "compressed"),
        ({"buffers": [{"uri": "/etc/passwd"}]}, "refers to another file"),
        ({"nodes": 3}, "damaged"),
        ({"meshes": [{"primitives": [{"attributes": {"POSITION": 0}}] * 2_000_000}]}, "MB"),
        ({"meshes": [{"primitives": [{"attributes": {"POSITION": 0}}] * 200_000}]}, "200,000 meshes"),
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
        ({"robots": [{"start": [1e300, 0, 0], "goal": [3, 0]}]}, r"robots\[0\]\.start\[0\]"),
        ({"rules": {"time_limit_s": 1e300}}, "more than 1,000,000 steps"),
        ({"rules": {"step_s": 1e-320}}, "more than 1,000,000 steps"),
        ({"crowd": [{"people": [{"start": [0, -1e9]}]}]}, r"crowd\[0\]\.people\[0\]\.start\[1\]"),
        ({"crowd": [{"people": [{"start": [0, 1], "speed": 1e18}]}]}, r"crowd\[0\]\.people\[0\]\.speed"),
        ({"crowd": [{"placement": FLOW, "speed": {"mean": 1e18, "high": 1e18}}]}, r"crowd\[0\]\.speed\.mean"),
        (
            {"crowd": [{"placement": {"kind": "replay", "dataset": "eth", "speed": 1e308}}]},
            r"\.placement\.speed",
        ),
        ({"crowd": [{"placement": FLOW, "parameters": {"max_neighbours": float("nan")}}]}, r"crowd\[0\]\.parameters"),
        (
            {"crowd": [{"placement": FLOW | {"per_minute": 1e300}}]},
            "at most 20,000 are simulated",
        ),
        ({"crowd": [{"placement": {"kind": "random", "count": 3, "area": [0, 0, 1e300, 1]}}]}, r"placement\.area\[2\]"),
    ],
)
def test_absurd_scenarios(change: dict[str, Any], reason: str, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(json.dumps({"name": "a", "robots": [{"start": [0, 0, 0], "goal": [3, 0]}]} | change))
    refused(lambda: worlds(path), reason)


def test_a_patience_beyond_all_numbers_is_never_lost(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    rules = {"frozen_after_s": 1e308, "time_limit_s": 1}
    path.write_text(json.dumps({"name": "a", "robots": [{"start": [0, 0, 0], "goal": [3, 0]}], "rules": rules}))
    [scenario] = load_suite(str(path)).scenarios()
    assert run_episode(scenario, Stop()).outcome.value == "timeout"


BAD_NAMES = ("", "\0", "x" * 9_000, "/", "a\nb", "\ud800", "~nobody", "-", "1e999", "/dev/zero", "/dev/zero.yaml")


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_are_none(name: str) -> None:
    for read in (load_suite, resolve_scene, load_robot, load_spec, load_statistics, load_dataset):
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


def test_a_key_that_json_gives_twice_is_an_error() -> None:
    with pytest.raises(BadInput, match=r"a.json: not valid JSON: key 'x' is given twice"):
        parse_json('{"a": [{"x": 1, "x": 2}]}', "a.json")


def test_yaml_is_loaded_in_one_place_only() -> None:
    for file in Path(sidestep.__file__).parent.rglob("*.py"):
        if file.name != "reading.py":
            text = file.read_text(encoding="utf-8")
            assert "yaml.load" not in text, file
            assert "yaml.safe_load" not in text, file
            assert "ElementTree.fromstring" not in text, file


@pytest.mark.parametrize("text", ['{"a": 1, "b": 2, "a": 3}', '[{"x": {"y": 1, "y": 1}}]'])
def test_a_key_given_twice_is_an_error_in_json_too(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.geojson"
    path.write_text(text)
    refused(lambda: resolve_scene(str(path)), r"a\.geojson: not valid JSON: key '[ay]' is given twice")
