"""Valid inputs of every reader, as small as they can be with all that the reader knows."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import msgpack
import numpy as np

from sidestep.datasets.sidestep_tracks import SIDESTEP
from sidestep.policies.cadrl.network import SHIPPED
from sidestep.prediction.data.store import write_interactions
from sidestep.records import save_record
from sidestep.runs.folder import RunFile
from sidestep.studies.ratings.table import write_ratings
from sidestep.types.tracks import Tracks
from tests.learning.test_demonstrations import write_episodes
from tests.prediction.data.made import drawn
from tests.records.example import example_record
from tests.runs.fake import fake_plan
from tests.studies.ratings.tables import constant, table
from tools.lantern_court_mesh import write_glb

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
STREET = b"street: zebra+island\nwidth_m: 6.5\nlength_m: 160\nsidewalk_m: 3.5\nspeed_limit: 13.9\n"
SETTING = b"orca.horizon=[3, {a: 0.5}]"
DATASET = (
    b'{"file": "x.txt", "format": "plain", "options": {"rate_hz": 2}, "sha256": "a", "people": 3, "source": "", '
    b'"licence": ""}'
)
STUDY = b"""
name: corridor
title: Robots in a corridor
policies: [polite, {name: blunt, policy: orca, settings: {horizon: 3}}]
scenarios:
  - {name: frontal-f1, instruction: Walk to the other end., expected: The robot lets you pass.}
  - {name: narrow_doorway-n1, instruction: Go through the door.}
mode: film
films: "films/{policy}/{scenario}-{run}.mp4"
sets: 2
runs: 2
asks: [{id: age, label: "How old are you?"}]
consent: I take part of my own free will.
"""
QUESTIONNAIRE = b"""
name: tiny
title: A short questionnaire
instruction: Please rate the robot.
scale: {lowest: 1, highest: 5, labels: [never, rarely, sometimes, often, always], cannot_tell: 0}
items:
  - {id: g1, number: 1, subscale: impression, text: Fake or natural, ends: [Fake, Natural]}
  - {id: g2, number: 2, reverse: true, text: "The robot blocked me."}
"""
TRANSLATION = b"""
translates: tiny
language: de
title: Ein kurzer Fragebogen
labels: [nein, eher nicht, neutral, eher, ja]
items: {g1: Unecht oder natuerlich, g2: Der Roboter versperrte mir den Weg.}
ends: {g1: [Unecht, Natuerlich]}
"""
RATINGS_CSV = (
    b"study,participant,policy,scenario,location,set,run,item,rating\n"
    b"pilot,A,orca,frontal,f1,1,1,q1,4\npilot,A,orca,frontal,f1,1,1,q2,2\npilot,A,orca,frontal,f1,1,1,q3,4\n"
    b"pilot,A,orca,frontal,f1,1,1,q4,1\npilot,A,orca,frontal,f1,1,1,q5,5\n"
)
RATINGS_WIDE = (
    b"study;participant;policy;scenario;location;q1;q2;q3;q4;q5\npilot;A;orca;frontal;f1;4;2;4;1;5\n"
    b"pilot;B;mpc;frontal;f1;3;3;2;0;5\n"
)
JOYSTICK = b'{"j_input": [[1.0, 2.0, 0.5, 0.1], [1, 2]]}'
DRIVE_PAGE = (
    b'{"type": "controls", "number": 4, "seen": 3, "steer": -0.5, "throttle": 0.25, "brake": 0.0}',
    b'{"type": "wish", "what": "again"}',
    b'{"type": "view", "camera": "driver", "map": true}',
)
WALK_PAGE = (
    b'{"type": "controls", "number": 4, "seen": 3, "forward": 1.2, "sideways": 0.1, "turn": -0.3, "wave": false}',
    b'{"type": "go"}',
)
ANSWER = b'{"position": 3, "item": "q1", "rating": 4, "key": "8d0d2b2c"}'
FORM = b"position=3&q1=4&q2=2&comment=It+was+%C3%A4ngstlich&agree=on&empty="
ACT = msgpack.packb(
    {"type": "act", "id": 2, "command": "waypoints", "values": [[1.0, 2.5], [2, 0]], "name": "x", "needs": ["goal"]}
)
VELOCITY = msgpack.packb({"type": "act", "id": 2, "command": "velocity", "values": [0.5, -0.1]})
HELLO = msgpack.packb(
    {
        "type": "hello", "sidestep": 1, "role": "policy", "name": "ahead", "needs": ["goal", "rgb"],
        "dynamics": "unicycle", "settings": {"speed": 1.5}, "camera": {"width": 32, "height": 24},
        "sensor_settings": {}, "privileged": False,
    }
)  # fmt: skip
PLANS = msgpack.packb(
    {
        "type": "plans", "id": 7, "plan_step_s": struct.pack("<d", 0.4),
        "plan": {"dtype": "<f8", "shape": [2, 2], "data": struct.pack("<4d", 0, 1, 2, 3)},
        "forecast": [
            {"dtype": "<i8", "shape": [1], "data": struct.pack("<q", 3)},
            {"dtype": "<f8", "shape": [1, 2, 2], "data": struct.pack("<4d", 0, 1, 2, 3)},
        ],
    }
)  # fmt: skip
STL = b"""solid x
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 1 0
endloop
endfacet
endsolid x
"""
BINARY_STL = b"\0" * 80 + struct.pack("<I", 1) + struct.pack("<12fH", 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0)
OBJ = b"# mesh\nv 0 0 0\nv 1 0 0\nv 0 1 0.5\nf 1 2 3\n"
MESH_URDF = b"""<robot name="m"><link name="base"><collision>
<geometry><mesh filename="part.stl" scale="1 1 2"/></geometry></collision></link></robot>
"""


def glb(folder: Path) -> bytes:
    """A binary glTF file with two triangles."""
    corners = np.array([[[0.0, 0, 0], [4, 0, 0], [4, 4, 0]]] * 2)
    write_glb(folder / "seed.glb", {"floor": ((0.5, 0.5, 0.5), corners)})
    return (folder / "seed.glb").read_bytes()


def tracks(folder: Path) -> bytes:
    """Tracks in Sidestep's own format (Parquet)."""
    position = np.random.default_rng(1).random((10, 2))
    SIDESTEP.save(Tracks(np.repeat([1, 2], 5), np.tile(np.arange(5) * 0.4, 2), position, 2.5), folder / "seed.parquet")
    return (folder / "seed.parquet").read_bytes()


def run_file(folder: Path) -> bytes:
    """``run.json`` of a small run."""
    RunFile(fake_plan(folder, "Steady")).save(folder)
    return (folder / "run.json").read_bytes()


def record(folder: Path) -> bytes:
    """An episode record with everything in it."""
    save_record(example_record(), folder / "seed.parquet")
    return (folder / "seed.parquet").read_bytes()


def interactions(folder: Path) -> bytes:
    """A file of interactions (HDF5)."""
    write_interactions(drawn(1), folder / "seed.h5")
    return (folder / "seed.h5").read_bytes()


def demonstrations(folder: Path) -> bytes:
    """A file of demonstrations (HDF5), two short episodes."""
    write_episodes(folder / "seed.h5", {-1: [2], 0: [1]})
    return (folder / "seed.h5").read_bytes()


def ratings(folder: Path, suffix: str) -> bytes:
    """A table of ratings as JSON or Parquet."""
    path = folder / f"seed{suffix}"
    write_ratings(table(constant(4), constant(2, participant="B")), path)
    return path.read_bytes()


def cadrl_weights() -> bytes:
    """The bundled weights of ``cadrl``."""
    return SHIPPED.read_bytes()


def network(folder: Path) -> bytes:
    """An ONNX network with the description of a predictor in its metadata."""
    from onnx import TensorProto, helper

    sizes = {"history": [None, 10, 2], "z": [None, None, 2], "mean": [None, 2], "cholesky": [None, 2]}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes[name]) for name in ("history", "z")]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes[name]) for name in ("mean", "cholesky")]
    opset = helper.make_opsetid("", 17)
    nodes = [helper.make_node("Identity", [a], [b]) for a, b in (("history", "mean"), ("z", "cholesky"))]
    model = helper.make_model(helper.make_graph(nodes, "g", inputs, outputs), ir_version=8, opset_imports=[opset])
    helper.set_model_props(model, {"sidestep_predictor": NETWORK_SPEC.decode()})
    return bytes(model.SerializeToString())


NETWORK_SPEC = b'{"features": "motion", "frame": "heading", "cells": 0, "latent": 2, "horizons_s": [1.0, 2.0, 3.0]}'
