"""The readers of Sidestep as functions of a path, a text or bytes, and valid inputs that take some making."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from sidestep.errors import SidestepError
from tests.datasets.conftest import OPTIONS, write
from tests.fuzz import seeds
from tests.fuzz.target import Prepared, from_file

# scenarios and scenes


def worlds(path: Path) -> None:
    """The worlds of all scenarios of a suite file."""
    from sidestep.simulation import build_world
    from sidestep.suites.files import load_suite

    for scenario in load_suite(path).scenarios():
        build_world(scenario, 0, path.parent)


def suite_file(path: Path) -> None:
    """A suite file and its scenarios, without building worlds."""
    from sidestep.suites.files import load_suite

    list(load_suite(path).scenarios())


def scene(path: Path) -> None:
    """A scene file, compiled."""
    from sidestep.scenes.compile import compile_scene
    from sidestep.scenes.load import resolve_scene

    compile_scene(resolve_scene(str(path)), str(path))


def image(path: Path) -> None:
    """The image of a ROS map."""
    scene(path.with_name("map.yaml"))


def triangles(path: Path) -> None:
    """A scanned mesh."""
    from sidestep.scenes.places.scan import read_triangles

    read_triangles(path)


def scene_name(text: str) -> None:
    """A scene by name, such as a window of a town."""
    from sidestep.scenes.load import resolve_scene

    if not re.search(r"town:|place:", text):  # those two take seconds; tests/_util/test_readers_limits.py has them
        resolve_scene(text)


def robot(path: Path) -> None:
    """A robot's own file or URDF."""
    from sidestep.simulation.robots import load_robot

    load_robot(str(path))


def mesh(path: Path) -> None:
    """A mesh of a URDF file."""
    from sidestep.simulation.robots.urdf import read_vertices

    read_vertices(path)


def intersection(folder: Path) -> bytes:
    """The smallest of the bundled intersections."""
    from sidestep.scenes import intersections

    return min((path.read_bytes() for path in Path(intersections.__file__).parent.glob("*.yaml")), key=len)


def crossroads(folder: Path) -> bytes:
    """A small OpenDRIVE file."""
    from tests.scenes.roads_xml import file, lane, road, section

    lanes = section(lane(1) + lane(2, "sidewalk"), lane(-1) + lane(-2, "sidewalk", 'a="2"|sOffset="5" a="2" b="0.1"'))
    line = (
        '<geometry s="0" x="0" y="0" hdg="0.1" length="10"><line/></geometry>'
        '<geometry s="10" x="10" y="1" hdg="0.1" length="10"><arc curvature="0.05"/></geometry>'
    )
    return file(road(lanes, line)).encode()


# recordings, records and runs


def tracks(path: Path, format_name: str) -> None:
    """Recorded tracks, and what is said about them."""
    from sidestep.datasets import load_tracks
    from sidestep.datasets.sanity import describe_tracks

    describe_tracks(load_tracks(path, format_name, **OPTIONS.get(format_name, {})))


def recording(format_name: str, folder: Path) -> Prepared:
    """A text format of recorded tracks."""
    path = write(folder, format_name)
    return from_file(path.read_bytes(), path.name, lambda path: tracks(path, format_name))(folder)


def dataset(path: Path) -> None:
    """The description of an installed recording."""
    from sidestep.datasets import sources

    sources.installed(path.parent.name)


def installed_dataset(folder: Path) -> Prepared:
    """``dataset.json`` in a user's data folder."""
    import platformdirs

    platformdirs.user_data_dir = lambda *_, **__: str(folder)  # type: ignore[assignment]
    return from_file(seeds.DATASET, "datasets/x/dataset.json", dataset)(folder)


def record(path: Path) -> None:
    """An episode record."""
    from sidestep.records import load_record

    load_record(path)


def run(path: Path) -> None:
    """The description of a run."""
    from sidestep.runs.folder import load_run

    load_run(path.parent)


def interactions(path: Path) -> None:
    """Interactions of pedestrians and a vehicle."""
    from sidestep.prediction.data.store import read_interactions

    read_interactions(path)


def demonstrations(path: Path) -> None:
    """Demonstrations, their first and their last frame."""
    from sidestep.learning.demonstrations import read_demonstrations

    with read_demonstrations(path) as reader:
        if len(reader):
            reader[0], reader[-1]


def recorded_interactions(name: str, folder: Path) -> Prepared:
    """A file of vehicles or of their sizes, with the files beside it."""
    from sidestep.prediction.data.recorded import load_ind
    from sidestep.prediction.data.vci import VCI_DUT, load_vci
    from tests.prediction.data.test_recorded import write_ind, write_vci_dut

    (write_vci_dut if name.endswith("filtered.csv") else write_ind)(folder)
    load = partial(load_vci, VCI_DUT) if name.endswith("filtered.csv") else load_ind
    lines = (folder / name).read_bytes().splitlines()
    short = b"\n".join([lines[0], *lines[1::3]]) if len(lines) > 20 else b"\n".join(lines)
    return from_file(short, name, lambda path: load(path.parent))(folder)


def lerobot_info(folder: Path) -> Prepared:
    """``meta/info.json`` of a LeRobot dataset."""
    from sidestep.learning.lerobot import _check_features, _describe_features
    from sidestep.records.lerobot_layout import ANY_VIDEO_PATH, CHUNK, DATA_PATH, read_info

    info = {
        "codebase_version": "v3.0", "fps": 10, "data_path": DATA_PATH, "video_path": ANY_VIDEO_PATH,
        "chunks_size": CHUNK, "features": _describe_features(4, 10),
    }  # fmt: skip
    read = lambda path: _check_features(read_info(path.parents[1]).get("features"), path.parents[1])  # noqa: E731
    return from_file(json.dumps(info).encode(), "meta/info.json", read)(folder)


def lerobot_episodes(path: Path) -> None:
    """The table of episodes of a LeRobot dataset."""
    from sidestep.records.lerobot_layout import read_episodes

    read_episodes(path.parents[3])


# settings, networks


def setting(text: str) -> None:
    """A setting on the command line."""
    from sidestep.cli.run import parse_settings

    parse_settings([text], ["orca"])


def visual_spec(path: Path) -> None:
    """The description of a network that sees."""
    from sidestep.policies.visual.model_files import load_spec

    load_spec(str(path))


def weights(path: Path) -> None:
    """Weights of ``cadrl``."""
    from sidestep.policies.cadrl.network import load_weights

    load_weights(path)


def predictor(path: Path) -> None:
    """A network that predicts."""
    from sidestep.prediction.predictors.cvae import load_forecast_network

    load_forecast_network(str(path))


def other_networks(path: Path) -> None:
    """The networks of ``imitation`` and ``ilqr_bc``."""
    from sidestep.policies.driving.imitation import load_driving_network
    from sidestep.policies.ilqr.cloned import load_waypoint_network

    for load in (load_driving_network, load_waypoint_network):
        try:
            load(str(path))
        except SidestepError:
            continue
        raise AssertionError("a network of another policy was taken")


def saved_model(path: Path) -> None:
    """A model of Stable-Baselines3."""
    from sidestep.gym.sb3_file import load_sb3

    load_sb3(str(path))


# protocols and forms


def plans(content: bytes) -> None:
    """What a guest publishes of its plans."""
    from sidestep.runs.remote.guest_messages import plans_of
    from sidestep.runs.remote.wire import decode

    plans_of(decode(content, True))


def unchecked_message(content: bytes) -> None:
    """The same without the check of values, as clients read what the benchmark says."""
    from sidestep.runs.remote.wire import decode

    decode(content, False)


def command(content: bytes) -> None:
    """The answer of a policy."""
    from sidestep.runs.remote.messages import read_command
    from sidestep.runs.remote.wire import decode

    read_command(decode(content, True))


def introduction(content: bytes) -> None:
    """What a policy says of itself."""
    from sidestep.runs.remote.messages import read_introduction
    from sidestep.runs.remote.wire import check_version, decode

    found = decode(content, True)
    check_version(found, "policy")
    read_introduction(found)


def address(text: str) -> None:
    """The address of a remote policy."""
    from sidestep.runs.remote.wire import Address

    Address.parse(text).is_local  # noqa: B018 - reading is the point


def joystick(text: str) -> None:
    """A message of a SocNavBench client."""
    from sidestep.runs.remote.joystick import JoystickPolicy

    reader = JoystickPolicy.__new__(JoystickPolicy)
    reader._frame = type("Frame", (), {"x": 0.0, "y": 0.0})()  # type: ignore[assignment]
    reader._read(text)


def drive_page(text: str) -> None:
    """A message of the page of ``sidestep drive``."""
    from sidestep.learning.drive_page.messages import read_message

    read_message(text)


def walk_page(text: str) -> None:
    """A message of the page of a walk."""
    from sidestep.studies.walking import read_message

    read_message(text)


def _read_request(read: Any, content: bytes, kind: str) -> Any:
    from starlette.requests import Request

    parts = [{"type": "http.request", "body": content, "more_body": False}]

    async def receive() -> Any:
        return parts.pop() if parts else {"type": "http.disconnect"}

    scope = {"type": "http", "method": "POST", "headers": [(b"content-type", kind.encode())]}
    try:
        read(Request(scope, receive)).send(None)
    except StopIteration as returned:
        return returned.value
    raise AssertionError("the request waits for more")


def answer(content: bytes) -> None:
    """What a participant's page sends: an answer, and a piece of a film that was played."""
    from sidestep.errors import BadInput
    from sidestep.studies.site import answer_document, played_document

    with suppress(BadInput):
        _read_request(played_document, content, "application/json")
    _read_request(answer_document, content, "application/json")


def form(content: bytes) -> None:
    """A form of a study, and the one that defines a study."""
    from sidestep.studies.site import form, large_form, whole

    for read in (form, large_form):
        fields = _read_request(read, content, "application/x-www-form-urlencoded")
        whole(fields.get("position", ""), "a number")


# studies and ratings


def study(text: str) -> None:
    """The definition of a study."""
    from sidestep.studies.definition import parse_study

    found = parse_study(text, "study.yaml")
    for policy in found.policies:
        found.film(policy.name, found.scenarios[0].name, 1)


def questionnaire(path: Path) -> None:
    """A questionnaire with its translation."""
    from sidestep.studies.ratings.questionnaire import load_questionnaire

    load_questionnaire(path.with_name("tiny.yaml"))


def ratings(path: Path) -> None:
    """A table of ratings."""
    from sidestep.studies.ratings.questionnaire import load_questionnaire
    from sidestep.studies.ratings.table import read_ratings

    protocol = load_questionnaire("protocol")
    read_ratings(path, protocol)


def raters(path: Path) -> None:
    """How simulated raters answer."""
    from sidestep.studies.ratings.simulated import load_mapping

    load_mapping(path)


def rater_mapping(folder: Path) -> bytes:
    """The first items of the bundled one."""
    from sidestep.studies.ratings import raters as package

    text = next(Path(package.__path__[0]).glob("*.yaml")).read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return "\n".join(lines[:7]).encode()
