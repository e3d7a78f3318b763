"""What the player gets is what the record holds, to half a millimetre."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sidestep.report.viewer.pack import CURVES, encode_tracks, frames_of, pack_replays
from sidestep.types.record import EpisodeRecord, PolicyInfo
from tests.report.conftest import Builder
from tests.report.episodes import eventful, planned


def decode(text: str, shape: tuple[int, int], units: tuple[float, ...]) -> np.ndarray:
    """(T, N, C) values, in plain Python: the same as ``decodeTracks`` in the player."""
    numbers = []
    number, shift = 0, 0
    for byte in base64.b64decode(text):
        number |= (byte & 127) << shift
        shift += 7
        if not byte & 128:
            numbers.append(-(number + 1) // 2 if number & 1 else number // 2)
            number, shift = 0, 0
    stream = iter(numbers)
    values = np.full((*shape, len(units)), np.nan)
    for track in range(shape[1]):
        for start, length in [(next(stream), next(stream)) for _ in range(next(stream))]:
            for channel, unit in enumerate(units):
                last = before = 0
                for k in range(start, start + length):
                    last, before = next(stream) + 2 * last - before, last
                    values[k, track, channel] = last * unit
    assert next(stream, None) is None
    return values


@settings(max_examples=60, deadline=None)
@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 9), st.integers(0, 3), st.just(2)),
        elements=st.floats(-1e6, 1e6) | st.just(np.nan),
    )
)
def test_tracks_come_back(values: np.ndarray) -> None:
    units = (1e-3, 0.5)
    known = np.isfinite(values).all(axis=-1)
    back = decode(encode_tracks(values, units), values.shape[:2], units)
    assert np.array_equal(np.isfinite(back[..., 0]), known)
    assert (np.abs(back - values)[known] <= np.array(units) / 2 + 1e-9).all()


def test_steady_motion_costs_a_byte_a_number() -> None:
    walk = np.cumsum(np.full((400, 5, 2), 0.0731), axis=0)
    assert len(encode_tracks(walk, (1e-3, 1e-3))) < 1.5 * walk.size


def test_packed_poses_match_the_record(record: EpisodeRecord) -> None:
    data = json.loads(json.dumps(pack_replays([("orca", record)])))
    (episode,) = data["episodes"]
    frames = frames_of(record)
    shape, units = (episode["frames"], 1), tuple(data["units"])
    assert decode(episode["times"], shape, (1e-3,)).ravel() == pytest.approx(record.time[frames], abs=6e-4)
    robot = decode(episode["robot"], shape, units)[:, 0]
    assert np.abs(robot - record.robot_pose[frames]).max() <= 5.1e-4
    people = decode(episode["people"], (episode["frames"], 15), units)
    expected = record.person_position[frames][:, episode["colour"]]
    assert np.array_equal(np.isnan(people[..., 0]), np.isnan(expected[..., 0]))
    assert np.nanmax(np.abs(people[..., :2] - expected)) <= 5.1e-4
    turned = people[..., 2] - record.person_heading[frames][:, episode["colour"]]
    assert np.nanmax(np.abs(np.sin(turned / 2))) <= 6e-4


def test_frames_are_as_many_a_second_as_asked_with_both_ends(record: EpisodeRecord) -> None:
    for rate in (10.0, 20.0):
        frames = frames_of(record, rate)
        assert (frames[0], frames[-1]) == (0, record.steps)
        assert np.diff(record.time[frames]) == pytest.approx(1 / rate)


def test_curves_are_the_metric_series(record: EpisodeRecord) -> None:
    data = pack_replays([("orca", record)])
    curves = {curve["title"]: curve for curve in data["episodes"][0]["curves"]}
    assert list(curves) == list(CURVES)
    frames = frames_of(record)
    for title, (series, unit, most) in CURVES.items():
        values = decode(curves[title]["values"], (len(frames), 1), (data["curve_unit"],)).ravel()
        assert values == pytest.approx(np.minimum(series(record)[frames], most), abs=0.0051, nan_ok=True)
        assert curves[title]["unit"] == unit
    step = frames[40]
    away = np.hypot(*(record.person_position[step] - record.robot_pose[step, :2]).T) - record.person_radius - 0.25
    gaps = decode(curves["Closest person"]["values"], (len(frames), 1), (data["curve_unit"],)).ravel()
    assert gaps[40] == pytest.approx(np.nanmin(away), abs=0.006)


def test_events_tell_what_happened_and_where(record: EpisodeRecord) -> None:
    events = pack_replays([("orca", record)])["episodes"][0]["events"]
    assert [event["kind"] for event in events] == ["collision_start", "goal_reached"]
    assert events[0]["subject"] == "person:105"
    assert events[0]["text"].startswith("touches person 105 at")
    assert events[0]["until"] == pytest.approx(events[0]["time"] + 0.4)
    step = np.argmin(np.abs(record.time - events[0]["time"]))
    assert np.hypot(events[0]["x"] - record.robot_pose[step, 0], events[0]["y"] - record.robot_pose[step, 1]) < 0.3


def test_equal_scenes_are_stored_once_and_the_budget_holds(record: EpisodeRecord) -> None:
    data = pack_replays([("a", record), ("b", record)])
    assert len(data["scenes"]) == 1
    assert [episode["scene"] for episode in data["episodes"]] == [0, 0]
    assert len(pack_replays([("a", record), ("b", record)], budget=1000)["episodes"]) == 1


def test_solids_have_heights(record: EpisodeRecord) -> None:
    (scene,) = pack_replays([("a", record)])["scenes"]
    heights = {layer["kind"]: layer.get("height") for layer in scene["layers"]}
    assert heights["building"] == 3.0
    assert heights["furniture"] == 0.75
    assert heights["sidewalk"] is None


def test_an_episode_of_kilometres_still_fits(build: Builder) -> None:
    near = build()
    record = replace(near, robot_pose=near.robot_pose * (1000.0, 1.0, 1.0))
    data = pack_replays([("far", record)])
    episode = data["episodes"][0]
    robot = decode(episode["robot"], (episode["frames"], 1), data["units"])[:, 0]
    assert np.abs(robot[:, 0] - record.robot_pose[frames_of(record), 0]).max() <= 5.1e-4


def test_nobody_and_a_single_state_can_be_packed(build: Builder) -> None:
    record = build()
    none = slice(0, 0)
    empty = replace(
        record,
        time=record.time[:1],
        robot_pose=record.robot_pose[:1],
        robot_velocity=record.robot_velocity[:1],
        command=record.command[none],
        applied=record.applied[none],
        limited=record.limited[none],
        planning_time=record.planning_time[none],
        person_id=record.person_id[none],
        person_radius=record.person_radius[none],
        person_group=record.person_group[:1, none],
        person_model=(),
        person_position=record.person_position[:1, none],
        person_velocity=record.person_velocity[:1, none],
        person_heading=record.person_heading[:1, none],
        person_present=record.person_present[:1, none],
        events=(),
    )
    episode = pack_replays([("alone", empty)])["episodes"][0]
    assert (episode["frames"], episode["people"], episode["events"]) == (1, "", [])
    assert "Closest person" not in {curve["title"] for curve in episode["curves"]}


def test_plans_and_forecasts_are_packed_to_the_centimetre() -> None:
    record = planned()
    (episode,) = pack_replays([("mpc", record)], rate_hz=20.0)["episodes"]
    packed, plans = episode["plans"], record.plans
    units = (packed["unit"], packed["unit"])
    way = np.swapaxes(decode(packed["plan"], (packed["points"], len(packed["times"])), units), 0, 1)
    assert np.abs(way - plans.robot).max() <= 0.0051
    forecast = np.swapaxes(decode(packed["forecast"], (packed["expected"], len(packed["person"])), units), 0, 1)
    assert packed["expected"] <= 10
    expected = plans.people[:, packed["every"] - 1 :: packed["every"]]
    assert np.abs(forecast - expected).max() <= 0.0051
    assert [episode["person"][place] for place in packed["person"]] == record.person_id[plans.forecast_person].tolist()
    times = np.repeat(packed["times"], packed["counts"])
    assert times == pytest.approx(record.time[plans.forecast_step], abs=1e-3)


def test_where_episodes_share_a_page_plans_are_thinned() -> None:
    record = planned()
    (episode,) = pack_replays([("mpc", record)])["episodes"]
    packed, units = episode["plans"], (0.01, 0.01)
    assert packed["times"] == pytest.approx(record.time[record.plans.step[::2]])
    way = decode(packed["plan"], (packed["points"], len(packed["times"])), units)[:, 1]
    assert np.abs(way - record.plans.robot[2]).max() <= 0.0051
    assert packed["expected"] <= 5
    assert sum(packed["counts"]) == len(packed["person"]) > 0


def test_gestures_heads_and_the_scanner_are_packed(record: EpisodeRecord) -> None:
    plain = pack_replays([("orca", record)])["episodes"][0]
    assert (plain["plans"], plain["gestures"], plain["heads"]) == (None, [], "")
    told = eventful()
    data = pack_replays([("scripted", told)])
    (episode,) = data["episodes"]
    assert [(i, name, until) for i, name, _, until in episode["gestures"]] == [
        (0, "stop", 19.1), (1, "talk", 19.1), (2, "talk", 19.1), (3, "talk", 19.1), (4, "look_around", 19.1),
    ]  # fmt: skip
    heads = decode(episode["heads"], (episode["frames"], 5), (data["head_unit"],))[..., 0]
    truth = told.person_head_yaw[frames_of(told)]
    assert np.array_equal(np.isnan(heads), np.isnan(truth))
    assert np.nanmax(np.abs(heads - truth)) <= 0.0051
    assert (episode["lidar"]["mount"], episode["lidar"]["reach"]) == ([0.5, 0.2], 10.0)
    scanner = replace(told, policy=PolicyInfo("scanner", needs=("lidar",)))
    lidar = pack_replays([("scanner", scanner)])["episodes"][0]["lidar"]
    assert (lidar["rays"], lidar["reach"], lidar["round"], lidar["mount"]) == (90, 6.0, False, [0.5, 0.2])


def test_a_very_long_episode_has_fewer_frames_a_second(record: EpisodeRecord) -> None:
    class Long:
        step_s, steps = 0.05, 20_000

    assert len(frames_of(Long(), 20.0)) <= 4002  # type: ignore[arg-type]
