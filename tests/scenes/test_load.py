"""A scene by name, by file or as it is; and what a person reads when it goes wrong."""

from __future__ import annotations

import json

import pytest

from sidestep.errors import BadInput
from sidestep.scenes.geojson import to_geojson
from sidestep.scenes.load import resolve_scene
from sidestep.scenes.plans import load_plan
from sidestep.scenes.ros_map import write_pgm
from sidestep.types.scene import SceneSpec

from .drawing import box

SQUARE = "regions:\n  - kind: obstacle\n    polygon: [[0, 0], [1, 0], [1, 1]]\n"


def test_name_and_scene_itself():
    assert resolve_scene("corridor") == load_plan("corridor")
    spec = SceneSpec(regions=(box(0, 0, 1, 1),))
    assert resolve_scene(spec) is spec


def test_files_are_found_beside_the_scenario(tmp_path):
    import numpy as np

    (tmp_path / "maps").mkdir()
    (tmp_path / "maps" / "yard.yaml").write_text(SQUARE)
    (tmp_path / "yard.geojson").write_text(json.dumps(to_geojson(load_plan("room"))))
    (tmp_path / "lab.yml").write_text("image: lab.pgm\nresolution: 0.5\norigin: [0, 0, 0]\n")
    write_pgm(tmp_path / "lab.pgm", np.array([[254, 0], [254, 254]], np.uint8))
    assert resolve_scene("maps/yard.yaml", tmp_path).name == "yard"
    assert resolve_scene("yard.geojson", tmp_path) == load_plan("room")
    assert resolve_scene("lab.yml", tmp_path).regions[1].kind == "obstacle"
    assert resolve_scene(str(tmp_path / "maps" / "yard.yaml")).name == "yard"


def test_a_bundled_plan_does_not_shadow_a_file(tmp_path):
    (tmp_path / "corridor.yaml").write_text("name: mine\n" + SQUARE)
    assert resolve_scene("corridor.yaml", tmp_path).name == "mine"


@pytest.mark.parametrize(
    ("reference", "content", "message"),
    [
        ("intersektion_4way", None, "did you mean 'intersection_4way'"),
        ("yart.yaml", None, r"yart\.yaml: no such scene file; did you mean 'yard\.yaml'"),
        ("nowhere/yard.yaml", None, "nowhere does not exist.*relative to the scenario file"),
        ("yard.pgm", None, r"ends in \.yaml.*\.geojson.*'\.pgm'.*beside the image"),
        ("bad.yaml", "regions: [", r"bad\.yaml: line \d, column \d+: not valid YAML"),
        ("bad.yaml", "- 1\n", "expected keys and values.*got list"),
        ("bad.yaml", "enclosd: true\n" + SQUARE, "unknown key 'enclosd'; did you mean 'enclosed'"),
        ("bad.yaml", SQUARE + "    hight: 2\n", r"regions\[0\]: unknown key 'hight'; did you mean 'height'"),
        (
            "bad.yaml",
            "regions:\n  - {kind: wall, polygon: [[0, 0], [1, 0], [1, 1]]}\n",
            r"regions\[0\]\.kind: must be obstacle.*got 'wall'",
        ),
        (
            "bad.yaml",
            "regions:\n  - {kind: road, polygon: [[0, 0], [1, .inf], [1, 1]]}\n",
            r"regions\[0\]\.polygon\[1\]\[1\]: must be a finite",
        ),
        ("bad.yaml", "enclosed: true\n", "needs at least one open region"),
        ("bad.geojson", "{", r"bad\.geojson: line 1, column 2: not valid JSON"),
    ],
)
def test_errors_name_the_file_and_the_remedy(tmp_path, reference, content, message):
    (tmp_path / "yard.yaml").write_text(SQUARE)
    if content is not None:
        (tmp_path / reference).write_text(content)
    with pytest.raises(BadInput, match=message):
        resolve_scene(reference, tmp_path)


def test_a_file_that_is_not_text_is_an_error(tmp_path):
    (tmp_path / "bad.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match="not a text file in UTF-8"):
        resolve_scene("bad.yaml", tmp_path)
