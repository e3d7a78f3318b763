"""Compiling the kernels before they are needed: once per machine and version, with a word to whoever waits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sidestep.kernels.jit import is_compiled
from sidestep.types import Scenario

MAIN_KERNEL = "world.step_worlds"


def needs_compiling() -> bool:
    """Whether a first episode would have to wait for the compiler."""
    return not is_compiled(MAIN_KERNEL)


def compile_kernels(report: Callable[[str, int, int], None] = lambda what, done, of: None) -> None:
    """Compile everything that episodes use. ``report`` is called with what comes next, how many parts are done, and of how
    many. Quick when they are in the cache."""
    parts: list[tuple[str, Callable[[], None]]] = [
        ("walls and routes", _scene),
        ("crowds, robots, contacts", _step),
        ("sensors", _sensors),
    ]
    for done, (name, compile_part) in enumerate(parts):
        report(name, done, len(parts))
        compile_part()
    report("kernels ready", len(parts), len(parts))


def _sample() -> Scenario:
    """A room with one person of each crowd model."""
    square = [[-4, -4], [4, -4], [4, 4], [-4, 4]]
    block = [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]
    models = ("orca", "social_force_helbing", "social_force_moussaid")
    crowd = [
        {"model": model, "people": [{"start": [x, 2.5], "waypoints": [[x, -2.5]]}]}
        for x, model in zip((-2, 0, 2), models, strict=True)
    ]
    regions = [{"kind": "walkable", "polygon": square}, {"kind": "obstacle", "polygon": block}]
    document = {
        "name": "compile",
        "scene": {"name": "room", "enclosed": True, "regions": regions},
        "robots": [{"spec": "point", "start": [-3, 0, 0], "goal": [3, 0]}],
        "crowd": crowd,
        "rules": {"time_limit_s": 0.2},
    }
    return Scenario.parse(document, "kernel compilation")


def _scene() -> None:
    from sidestep.scenes.free_space import shortest_path
    from sidestep.simulation.build import build_world

    world = build_world(_sample(), 0)
    shortest_path(world.scene, np.array([-3.0, 0.0]), np.array([3.0, 0.0]), 0.3)


def _step() -> None:
    from sidestep.simulation.build import build_world
    from sidestep.simulation.worlds import Worlds

    Worlds([build_world(_sample(), 0)]).step()


def _sensors() -> None:
    from sidestep.sensors import Lidar, PedestrianDetector
    from sidestep.simulation.build import build_world
    from sidestep.types.sensors import LidarSettings, PedestrianSensing

    world = build_world(_sample(), 0)
    pose = (-3.0, 0.0, 0.0)
    Lidar(LidarSettings(rays=8), world.scene.segments).sense(world.agents, world.flags, pose, world.people)
    detector = PedestrianDetector(PedestrianSensing(occlusion=True), world.person_id, world.scene.segments)
    detector.sense(world.agents, world.flags, pose)
