from __future__ import annotations

from dataclasses import replace
from math import pi
from pathlib import Path

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.prediction.data.attributes import add_attributes
from sidestep.prediction.data.recorded import load_ind
from sidestep.prediction.data.vci import VCI_CITR, VCI_DUT, load_vci, recognise, vci_source
from sidestep.prediction.gaps import find_encounters
from sidestep.types.interactions import Interactions
from tests.needs import skip_without_data

FPS = 23.98


def write_vci_dut(folder: Path, skip: tuple[int, ...] = ()) -> None:
    """A vehicle drives along x at 4 m/s from frame 48; a parked one; a pedestrian walks up at 1 m/s at x = 15 from
    frame 0, without the frames ``skip``."""
    driving = [f"0,{k},veh,{4.0 * (k - 48) / FPS},0.0,0.0,4.0" for k in range(48, 240)]
    parked = [f"1,{k},veh,30.0,9.0,0.0,0.0" for k in range(240)]
    walking = [f"5,{k},ped,15.0,{-6.0 + k / FPS},0.0,1.0" for k in range(240) if k not in skip]
    lines = ["id,frame,label,x_est,y_est,psi_est,vel_est", *driving, *parked]
    (folder / "a_traj_veh_filtered.csv").write_text("\n".join(lines))
    lines = ["id,frame,label,x_est,y_est,vx_est,vy_est", *walking]
    (folder / "a_traj_ped_filtered.csv").write_text("\n".join(lines))


def test_vci_dut_is_resampled(tmp_path: Path) -> None:
    write_vci_dut(tmp_path)
    data = load_vci(VCI_DUT, tmp_path)
    assert (len(data), len(data.clips)) == (1, 1)  # the parked vehicle has no clip
    clip = data.clips[0]
    assert (clip.name, clip.place, clip.origin, clip.ground) == ("vci_dut/a/0", "shared", "recorded", -1)
    begin = 48 / FPS
    assert data.begin_s[0] == pytest.approx(begin)
    time = begin + 0.1 * np.arange(len(data.position))
    assert data.position[:, 1] == pytest.approx(-6.0 + time)
    assert data.ego[:, 0] == pytest.approx(4.0 * (time - begin))
    assert data.step_s == 0.1
    assert not data.labelled.any()
    assert np.isnan(data.body).all()
    assert clip.path[0] == pytest.approx([-60.0, 0.0])
    # it walks on the path (y = 0) when the vehicle is at 4 · (6 - 2) = 16 m, one metre beyond it
    assert (int(data.passes[0]), bool(data.crossing[0])) == (2, True)


def test_gaps_in_the_frames_cut_a_track(tmp_path: Path) -> None:
    write_vci_dut(tmp_path, skip=tuple(range(120, 126)))
    assert len(load_vci(VCI_DUT, tmp_path)) == 1  # 0.29 s are interpolated
    write_vci_dut(tmp_path, skip=tuple(range(120, 136)))
    data = load_vci(VCI_DUT, tmp_path)
    assert data.person.tolist() == [5, 5]
    first = data.begin_s[0] + 0.1 * (data.stop[0] - data.start[0] - 1)
    assert first <= 119 / FPS
    assert data.begin_s[1] >= 136 / FPS


@pytest.mark.parametrize(
    ("name", "line", "text", "told"),
    [
        ("ped", 1, "id,frame,label,x,y_est,vx_est,vy_est", ":1: there is no column 'x_est'"),
        ("ped", 3, "5,1,ped,abc,0,0,0", ":3: column x_est: 'abc' is not a number"),
        ("ped", 3, "5,1,ped,nan,0,0,0", ":3: column x_est: 'nan' is not a finite number"),
        ("veh", 4, "0,1.5,veh,0,0,0,0", ":4: column frame: '1.5' is not a whole number"),
        ("veh", 4, "0,1,veh,0,0,0", ":4: 6 values, but the first line names 7 columns"),
        ("ped", 3, "5,0,ped,0,0,0,0", ":3: id 5 is at frame 0 twice"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, name: str, line: int, text: str, told: str) -> None:
    write_vci_dut(tmp_path)
    path = tmp_path / f"a_traj_{name}_filtered.csv"
    lines = path.read_text().splitlines()
    lines[line - 1] = text
    path.write_text("\n".join(lines))
    with pytest.raises(BadInput) as caught:
        load_vci(VCI_DUT, tmp_path)
    assert str(caught.value).startswith(str(path) + told)


def test_missing_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match=r"no \*_traj_veh_filtered\.csv"):
        load_vci(VCI_DUT, tmp_path)
    write_vci_dut(tmp_path)
    (tmp_path / "a_traj_ped_filtered.csv").unlink()
    with pytest.raises(BadInput, match=r"a_traj_ped_filtered\.csv: no such file"):
        load_vci(VCI_DUT, tmp_path)
    monkeypatch.setenv("SIDESTEP_DATA", str(tmp_path))
    with pytest.raises(BadInput, match="set SIDESTEP_DATA to a folder that holds vci_dut"):
        load_vci(VCI_DUT)


def write_golf_cart(folder: Path, fps: float = 29.97, name: str = "front_interaction_01") -> None:
    """As VCI-CITR: a golf cart drives along x at 4 m/s from time 0, tracked 1.0 m behind its front bumper; a
    pedestrian walks up at 1 m/s at x = 40 from y = -6.04."""
    frames = range(round(9 * fps))
    lines = [f"1,{k},veh,{4.0 * k / fps:.6f},0.0,0.0,4.0" for k in frames]
    text = "\n".join(["id,frame,label,x_est,y_est,psi_est,vel_est", *lines])
    (folder / f"{name}_traj_veh_filtered.csv").write_text(text)
    lines = [f"5,{k},ped,40.0,{-6.04 + k / fps:.6f},0.0,1.0" for k in frames]
    text = "\n".join(["id,frame,label,x_est,y_est,vx_est,vy_est", *lines])
    (folder / f"{name}_traj_ped_filtered.csv").write_text(text)


def test_the_golf_cart_of_vci_citr(tmp_path: Path) -> None:
    """In the corridor until 7.5 s, when the bumper is at 30 + 1.0 m and the pedestrian 9 m ahead of it: 2.25 s. The
    middle of the body of 2.2 m is 0.1 m behind the tracked point."""
    write_golf_cart(tmp_path)
    data = load_vci(VCI_CITR, tmp_path)
    clip = data.clips[0]
    assert (clip.name, clip.length, clip.width) == ("vci_citr/front_interaction_01/1", 2.2, 1.2)
    assert data.ego[:3, 0] == pytest.approx([-0.1, 0.3, 0.7], abs=1e-5)
    [encounter] = find_encounters(data)
    assert encounter.gap_s == pytest.approx(2.25, abs=1e-4)


def test_the_wrong_rate_is_refused(tmp_path: Path) -> None:
    write_golf_cart(tmp_path)
    with pytest.raises(BadInput) as caught:
        load_vci(VCI_DUT, tmp_path)
    told = str(caught.value)
    assert told.startswith(str(tmp_path / "front_interaction_01_traj_ped_filtered.csv"))
    assert "0.80 times as far" in told  # 23.98 / 29.97
    assert "29.97 frames per second would fit; read it as vci_citr, whose vehicle is another one too" in told
    (tmp_path / "odd").mkdir()
    write_golf_cart(tmp_path / "odd", fps=50.0)
    with pytest.raises(BadInput, match=r"0.60 times .* fit; read it as vci with --fps 50.00 and --vehicle-length"):
        load_vci(VCI_CITR, tmp_path / "odd")
    with pytest.raises(BadInput, match=r"50.00 frames per second would fit; read it with --fps 50.00"):
        load_vci(vci_source("vci", fps=25.0, length_m=4.0), tmp_path / "odd")


def test_any_recording_of_this_layout(tmp_path: Path) -> None:
    write_golf_cart(tmp_path, fps=50.0)
    data = load_vci(vci_source("vci", fps=50.0, length_m=4.0, front_m=3.0), tmp_path)
    assert find_encounters(data)[0].gap_s == pytest.approx((40 - 30 - 3) / 4, abs=1e-4)
    middle = load_vci(vci_source("vci", fps=50.0, length_m=4.0), tmp_path)
    assert find_encounters(middle)[0].gap_s == pytest.approx((40 - 30 - 2) / 4, abs=1e-4)
    assert vci_source("vci_dut", front_m=0.9).front_m == 0.9
    assert vci_source("vci_dut", length_m=4.0).front_m == 2.0  # the middle is tracked
    assert vci_source("vci_citr", length_m=2.4).front_m == 1.0  # measured, not the middle
    for given, told in (
        ({}, "give --fps"),
        ({"fps": 25.0}, "give --vehicle-length"),
        ({"fps": 0.0, "length_m": 4.0}, "fps is 0"),
        ({"fps": 25.0, "length_m": 4.0, "front_m": 5.0}, "between 0 and the length"),
    ):
        with pytest.raises(BadInput, match=told):
            vci_source("vci", **given)


def test_recordings_are_recognised_by_their_velocities(tmp_path: Path) -> None:
    for fps, expected in ((29.97, "vci_citr"), (23.98, "vci_dut")):
        write_golf_cart(tmp_path, fps)
        assert recognise(tmp_path).name == expected
    write_golf_cart(tmp_path, 50.0)
    with pytest.raises(BadInput, match=r"50\.00 frames per second, which is neither"):
        recognise(tmp_path)
    path = tmp_path / "front_interaction_01_traj_ped_filtered.csv"
    path.write_text("\n".join(path.read_text().splitlines()[:30]))
    with pytest.raises(BadInput, match="nobody walks long enough"):
        recognise(tmp_path)


def write_ind(folder: Path) -> None:
    """A car drives up along y at 5 m/s; a pedestrian walks at x = 1 to the left, across; a bicycle."""
    tracks = ["recordingId,trackId,frame,trackLifetime,xCenter,yCenter,heading,width,length,xVelocity,yVelocity"]
    for k in range(100):
        tracks.append(f"7,0,{k},{k},0.0,{k / 25 * 5},90.0,2.0,5.0,0.0,5.0")
        tracks.append(f"7,1,{k},{k},{4.0 - 2.0 * k / 25},30.0,180.0,0.0,0.0,-2.0,0.0")
        tracks.append(f"7,2,{k},{k},9.0,{k / 25 * 5},90.0,0.6,2.0,0.0,5.0")
    (folder / "07_tracks.csv").write_text("\n".join(tracks))
    (folder / "07_tracksMeta.csv").write_text(
        "recordingId,trackId,initialFrame,finalFrame,numFrames,width,length,class\n"
        "7,0,0,99,100,2.0,5.0,car\n7,1,0,99,100,0.0,0.0,pedestrian\n7,2,0,99,100,0.6,2.0,bicycle\n"
    )
    (folder / "07_recordingMeta.csv").write_text("recordingId,locationId,frameRate\n7,2,25\n")


def test_ind(tmp_path: Path) -> None:
    write_ind(tmp_path)
    data = load_ind(tmp_path, "zebra")
    assert (len(data), data.clips[0].name, data.clips[0].length, data.clips[0].place) == (1, "ind/07/0", 5.0, "zebra")
    assert data.ego[0] == pytest.approx([0.0, 0.0, pi / 2])
    assert data.ego_speed == pytest.approx(np.full(40, 5.0))
    assert data.position[10] == pytest.approx([2.0, 30.0])
    assert int(data.passes[0]) == 1


def test_ind_errors(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no \*_tracks\.csv"):
        load_ind(tmp_path)
    write_ind(tmp_path)
    (tmp_path / "07_recordingMeta.csv").write_text("frameRate\n0\n")
    with pytest.raises(BadInput, match=r"07_recordingMeta\.csv:2: column frameRate: must be positive"):
        load_ind(tmp_path)
    write_ind(tmp_path)
    meta = tmp_path / "07_tracksMeta.csv"
    meta.write_text(meta.read_text().replace("2.0,5.0,car", "2.0,0.0,car"))
    with pytest.raises(BadInput, match=r"07_tracksMeta\.csv:2: track 0 is a car without length or width"):
        load_ind(tmp_path)
    meta.write_text("trackId,width,length,class\n0,2,5,car\n")
    with pytest.raises(BadInput, match=r"07_tracks\.csv:3: track 1 is not in 07_tracksMeta\.csv"):
        load_ind(tmp_path)


@pytest.fixture
def recorded(tmp_path: Path) -> Interactions:
    write_ind(tmp_path)
    return load_ind(tmp_path)


def annotate(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "attributes.csv"
    path.write_text("\n".join(["clip,person,frame,body_deg,head_deg,looking", *lines]))
    return path


def test_attributes_are_added(recorded: Interactions, tmp_path: Path) -> None:
    path = annotate(tmp_path, "ind/07/0,1,0,180,90,0", "ind/07/0,1,3,170,,1", "ind/07/0,1,4,,,0")
    data = add_attributes(recorded, path)
    assert data.labelled.all()
    assert data.body[[0, 3]] == pytest.approx(np.deg2rad([180, 170]))
    assert np.isnan(data.body[[1, 2, 4, 5]]).all()
    assert data.head[0] == pytest.approx(pi / 2)
    away = recorded.ego[3, :2] - recorded.position[3]
    assert data.head[3] == pytest.approx(np.arctan2(away[1], away[0]))
    assert np.isnan(data.head[4])
    # at 25 frames per second frame 3 is at 0.12 s, next to the second frame of the track
    faster = add_attributes(recorded, path, rate_hz=25.0)
    assert np.isfinite(faster.body).nonzero()[0].tolist() == [0, 1]


def test_attributes_of_nobody(recorded: Interactions, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"attributes\.csv:2: there is no clip 'ind/07/1'; did you mean 'ind/07/0'"):
        add_attributes(recorded, annotate(tmp_path, "ind/07/1,1,0,0,0,0"))
    with pytest.raises(BadInput, match=r"attributes\.csv:3: clip ind/07/0 has no track of person 9"):
        add_attributes(recorded, annotate(tmp_path, "ind/07/0,1,0,0,0,0", "ind/07/0,9,0,0,0,0"))
    with pytest.raises(BadInput, match=r"attributes\.csv:2: column looking: must be 0, 1 or empty"):
        add_attributes(recorded, annotate(tmp_path, "ind/07/0,1,0,0,0,2"))
    with pytest.raises(BadInput, match="rate_hz is 0"):
        add_attributes(replace(recorded), annotate(tmp_path, "ind/07/0,1,0,0,0,0"), rate_hz=0.0)


@skip_without_data("vci_dut")
def test_the_real_vci_dut() -> None:
    data = load_vci(VCI_DUT)
    assert (len(data), len(data.clips)) == (1001, 23)
    assert (data.passes == 1).sum() == 119
    walked = np.diff(data.position, axis=0)[np.diff(data.track_of) == 0]
    assert 0.8 < float(np.median(np.hypot(*walked.T)) / 0.1) < 1.6
    driven = np.diff(data.ego[:, :2], axis=0)[np.diff(data.track_of) == 0]
    speed = data.ego_speed[:-1][np.diff(data.track_of) == 0]
    moving = speed > 1.0
    ratio = float(np.median(np.hypot(*driven[moving].T) / 0.1 / speed[moving]))
    assert 0.95 < ratio < 1.08  # positions and published speeds agree but for the filter: the clock is right
