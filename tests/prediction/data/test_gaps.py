from __future__ import annotations

from dataclasses import replace
from math import inf, isinf
from typing import Any

import numpy as np
import pytest

from sidestep.prediction.data.assemble import assemble
from sidestep.prediction.data.from_records import tracks_of_record
from sidestep.prediction.data.vci import VCI_DUT, load_vci
from sidestep.prediction.gaps import choose_scenes, find_encounters, make_scene, summarise_gaps, time_gap
from sidestep.types.interactions import Interactions
from tests.needs import skip_without_data
from tests.prediction.data.made import one_track
from tests.prediction.data.test_corridor import project_slowly
from tests.prediction.data.test_from_records import street_record

TIME = np.arange(60) * 0.1


def crossing(speed: Any = 5.0, ego_x: Any = None, x: float = 30.0, **changes: Any) -> Interactions:
    """A pedestrian walks at ``x`` from y = 3 down at 1 m/s. The vehicle, 4 m long, has its middle at 0 at first."""
    position = np.stack([np.full(60, x), 3.05 - TIME], axis=1)
    return one_track(position, np.asarray(speed) * TIME if ego_x is None else ego_x, speed, **changes)


def test_gap_by_hand() -> None:
    [found] = find_encounters(crossing())
    # in the corridor from y = 1.45 (1.6 s) to y = -1.45 (4.5 s); the bumper is then at 2 + 5 · 4.5 = 24.5 m
    assert (found.enter_s, found.leave_s) == pytest.approx((1.6, 4.5))
    assert found.gap_s == pytest.approx((30.0 - 24.5) / 5.0)
    assert found.enter_gap_s == pytest.approx((30.0 - 10.0) / 5.0)
    assert found.distance_m == pytest.approx(5.5)


def test_only_frames_ahead_of_the_bumper_count() -> None:
    [found] = find_encounters(crossing(x=20.0))  # the bumper reaches it at 3.6 s
    assert found.gap_s == pytest.approx((20.0 - 19.5) / 5.0)
    assert find_encounters(crossing(x=9.0)) == []  # passed before it enters


def test_a_standing_vehicle_has_no_finite_gap_and_is_counted() -> None:
    data = crossing(speed=0.0, ego_x=np.zeros(60))
    [found] = find_encounters(data)
    assert (found.gap_s, found.enter_gap_s) == (None, None)
    both = summarise_gaps([found, *find_encounters(crossing())])
    assert (both.encounters, both.without_gap) == (2, 1)
    assert both.quartiles == pytest.approx((1.1, 1.1, None))
    assert both.share_below(99.0) == 0.5


def test_the_edge_of_the_corridor_belongs_to_it() -> None:
    at_edge = np.array([[30.0, 1.6], [30.0, 1.5], [30.0, 0.0], [30.0, -1.5], [30.0, -1.6]])
    [found] = find_encounters(one_track(at_edge, np.zeros(5), 4.0))
    assert (found.enter_s, found.leave_s) == pytest.approx((0.1, 0.3))


def test_turning_back_or_walking_along_is_no_encounter() -> None:
    back = np.stack([np.full(60, 30.0), 1.0 + np.abs(TIME - 3.0)], axis=1)
    assert find_encounters(one_track(back, 5.0 * TIME, 5.0)) == []
    along = np.stack([30.0 + TIME, np.zeros(60)], axis=1)
    assert find_encounters(one_track(along, 5.0 * TIME, 5.0)) == []


def test_time_gap() -> None:
    gaps = time_gap(np.array([10.0, 0.0, 5.0, 5.0]), np.array([4.0, 1.0, 0.0, -1.0]))
    assert gaps.tolist() == [2.5, 0.0, inf, inf]


def test_summary_by_hand() -> None:
    [one] = find_encounters(crossing())
    gaps = [2.3, 2.35, 0.6, 4.0, 12.0]
    summary = summarise_gaps([replace(one, gap_s=gap) for gap in gaps])
    assert summary.quartiles == (2.3, 2.35, 4.0)
    assert (summary.smallest, summary.most_frequent, summary.longer) == (0.6, (2.3, 2.4), 1)
    assert summary.counts.nonzero()[0].tolist() == [6, 23, 40]
    assert summary.share_below(2.3) == pytest.approx(0.2)


def test_summary_of_nothing() -> None:
    summary = summarise_gaps([])
    assert (summary.quartiles, summary.smallest, summary.most_frequent) == ((None, None, None), None, None)
    assert summary.share_below(2.0) is None


def test_scene_without_braking() -> None:
    speed = np.concatenate([np.full(10, 6.0), np.linspace(6.0, 3.0, 50)])
    ego_x = np.concatenate([[0.0], np.cumsum(speed[:-1] * 0.1)])
    data = crossing(speed, ego_x)
    encounters = find_encounters(data)
    scene = make_scene(data, encounters[0])
    assert (scene.enter, scene.leave) == pytest.approx((1.6, 4.5))
    assert scene.gap_unbraked[20] == pytest.approx((30.0 - 2.0 - 6.0 * 2.0) / 6.0)
    assert np.isnan(scene.gap_unbraked[50:]).all()  # the bumper would be there after 4.67 s
    assert scene.gap[20] == pytest.approx((30.0 - 2.0 - ego_x[20]) / speed[20])
    braking, steady = choose_scenes(data, encounters)
    assert steady is None
    assert braking is not None
    assert braking.encounter == encounters[0]
    steady_data = crossing()
    assert choose_scenes(steady_data, find_encounters(steady_data))[1] is not None


def gaps_slowly(data: Interactions) -> list[tuple[int, float, float, float]]:
    """Track, entry, exit and smallest gap (infinite: none) of every encounter: frame by frame, without arrays."""
    found = []
    for track in range(len(data)):
        clip = data.clips[int(data.clip[track])]
        path = clip.path.tolist()
        places = []
        for row in range(int(data.start[track]), int(data.stop[track])):
            along, left = project_slowly(path, *data.position[row].tolist())
            bumper = project_slowly(path, *data.ego[row, :2].tolist())[0] + clip.length / 2
            places.append((along - bumper, left, float(data.ego_speed[row])))
        k = 0
        while k < len(places):
            if abs(places[k][1]) > 1.5:
                k += 1
                continue
            first = k
            while k < len(places) and abs(places[k][1]) <= 1.5:
                k += 1
            if first == 0 or k == len(places) or (places[first - 1][1] > 0) == (places[k][1] > 0):
                continue
            ahead = [(d, v) for d, _, v in places[first:k] if d > 0.0]
            if ahead:
                gap = min(d / v if v > 0.01 else inf for d, v in ahead)
                begin = float(data.begin_s[track])
                found.append((track, begin + 0.1 * first, begin + 0.1 * (k - 1), gap))
    return found


def assert_same(data: Interactions, least: int) -> None:
    encounters, wanted = find_encounters(data), gaps_slowly(data)
    assert len(encounters) == len(wanted) >= least
    for mine, (track, enter, leave, gap) in zip(encounters, wanted, strict=True):
        assert mine.track == track
        assert (mine.enter_s, mine.leave_s) == pytest.approx((enter, leave))
        assert mine.gap_s is None if isinf(gap) else mine.gap_s == pytest.approx(gap, rel=1e-6)


@skip_without_data("vci_dut")
def test_equal_to_plain_python_on_recorded_encounters() -> None:
    data = load_vci(VCI_DUT)
    chosen = sorted({each.track for each in find_encounters(data)})[:55]
    beside = [track for track in range(0, len(data), 20) if track not in chosen]
    assert_same(data.choose(np.array(chosen + beside)), least=50)


def test_equal_to_plain_python_on_generated_tracks() -> None:
    data = assemble(tracks_of_record(street_record(seed=seed)) for seed in (1, 2))
    assert_same(data, least=2)


@skip_without_data("vci_dut")
def test_distribution_of_vci_dut() -> None:
    summary = summarise_gaps(find_encounters(load_vci(VCI_DUT)))
    assert (summary.encounters, summary.without_gap) == (119, 0)
    assert summary.quartiles == pytest.approx((1.73, 2.95, 4.91), abs=0.01)
