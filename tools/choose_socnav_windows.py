"""Choose the windows of the test split of suite ``socnav``: other minutes of the same five recordings.

    python -m tools.choose_socnav_windows > src/sidestep/suites/data/socnav_test.yaml

A candidate begins every ten seconds of a recording and takes a start and goal that are published for its floor plan,
in turn. It is kept when

* the recording goes on for 60 s, the time limit;
* its first 30 s share nothing with the first 30 s of a published window of the same recording, so that what a robot
  meets on its way (13 to 17 s) is new;
* at least three people are there within the first 15 s;
* nobody is, or comes within the first second, nearer than 1 m to the start.

Nothing else is looked at: no policy was run to choose them. Times and names are written, no tracks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import yaml

from sidestep.datasets import load_dataset
from sidestep.simulation.replay import load_replay
from sidestep.suites.socnav import PublishedEpisode, socnav_data
from sidestep.types.outcome import Rules
from sidestep.types.scenario import ReplayPlacement

SITES = {
    "eth": "socnav_eth",
    "hotel": "socnav_hotel_small",
    "zara01": "socnav_zara",
    "zara02": "socnav_zara",
    "univ": "socnav_univ",
}
EVERY_S, FRESH_S, LIMIT_S, STEP_S = 10.0, 30.0, 60.0, 0.1
CLEAR_M, CLEAR_S, LEAST_PEOPLE, BUSY_S = 1.0, 1.0, 3, 15.0

HEADER = """\
# The test split of suite socnav: other minutes of the same recordings, chosen by tools/choose_socnav_windows.py.
# recording: see socnav.yaml; start_s: the recording's time that is time 0, s; route: the published episode whose
# floor plan, start and goal are used. Everybody in the recording is there.
"""


def published_starts(dataset: str) -> list[float]:
    """When the published windows of a recording begin, s."""
    data = socnav_data()
    windows = [window for episode in data.episodes for window in episode.people]
    used = [(data.recordings[window.recording], window) for window in windows]
    return sorted({window.first_frame / rec.recorded_hz for rec, window in used if rec.dataset == dataset})


def routes_of(scene: str) -> list[PublishedEpisode]:
    """The published episodes of a floor plan with distinct starts and goals."""
    chosen = {(e.start, e.goal): e for e in socnav_data().episodes if e.scene == scene and not e.duplicate_of}
    return list(chosen.values())


def windows_of(name: str) -> Iterator[dict[str, object]]:
    """The windows of one recording."""
    recording, routes = socnav_data().recordings[name], routes_of(SITES[name])
    times = load_dataset(recording.dataset).time
    known = published_starts(recording.dataset)
    turn = 0
    for begin in np.arange(np.ceil(times.min() / EVERY_S) * EVERY_S, times.max() - LIMIT_S, EVERY_S).tolist():
        if any(abs(begin - start) < FRESH_S for start in known):
            continue
        placement = ReplayPlacement(
            dataset=recording.dataset, start_s=begin, mirror=recording.mirror, rotation=recording.rotation,
            offset=recording.offset,
        )  # fmt: skip
        tracks, _, _ = load_replay(placement, Rules(step_s=STEP_S, time_limit_s=LIMIT_S), name, None)
        if np.isfinite(tracks[: int(BUSY_S / STEP_S), :, 0]).any(axis=0).sum() < LEAST_PEOPLE:
            continue
        early = tracks[: int(CLEAR_S / STEP_S) + 1, :, :2]
        for shift in range(len(routes)):
            route = routes[(turn + shift) % len(routes)]
            if not (np.hypot(early[..., 0] - route.start[0], early[..., 1] - route.start[1]) < CLEAR_M).any():
                yield {"recording": name, "start_s": begin, "route": route.name}
                turn += shift + 1
                break


def main() -> None:
    """Write the file."""
    windows = [window for name in SITES for window in windows_of(name)]
    sys.stdout.write(HEADER)
    yaml.safe_dump({"windows": windows}, sys.stdout, sort_keys=False, default_flow_style=None, width=100)


if __name__ == "__main__":
    main()
