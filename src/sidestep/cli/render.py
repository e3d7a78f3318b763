"""``sidestep render``: a camera picture of a scenario, or a scene alone from above."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sidestep.cli.cameras import parse_size, sized, split_names
from sidestep.cli.verb import AsJson, print_json, quiet_stdout, verb
from sidestep.errors import BadInput

if TYPE_CHECKING:
    from sidestep.types.record import EpisodeRecord
    from sidestep.types.scenario import Scenario

POLICY_CAMERA = "policy"
"""Value of ``--camera`` for the policy's own camera."""


SuiteOrScene = Annotated[
    str,
    typer.Argument(
        metavar="SUITE|SCENE",
        help="Suite (a name or a path), or a scene: a plan, a file, town:NAME, intersection:NAME.",
    ),
]
ScenarioOption = Annotated[
    str | None, typer.Argument(metavar="SCENARIO", help="Name of the scenario. Left out: draw the scene alone.")
]
Camera = Annotated[
    list[str] | None,
    typer.Option(
        help="Cameras, side by side: first, chase, above or top (the map); repeatable or with commas. Or policy: "
        "the picture that the policy gets, with its opening angle, crop and size."
    ),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Option of the suite or setting of the policy: key=value, suite.key=value, label.key=value; repeatable.",
    ),
]
Size = Annotated[
    str | None, typer.Option(metavar="WIDTHxHEIGHT", help="Size of each picture in pixels. Default: 640x480.")
]
Picture = Annotated[
    list[str] | None, typer.Option(help="Pictures: rgb, depth, semantic or instance; repeatable or with commas.")
]
Weather = Annotated[
    Literal["clear", "cloudy", "wet", "rain"] | None, typer.Option(help="Weather. Default: the scenario's.")
]
Light = Annotated[Literal["noon", "sunset", "night"] | None, typer.Option(help="Time of day. Default: the scenario's.")]


@verb
def render(
    suite: SuiteOrScene,
    scenario: ScenarioOption = None,
    *,
    out: Annotated[Path, typer.Option(help="PNG or JPEG file to write.")],
    time: Annotated[float, typer.Option(min=0.0, help="Time of the picture in seconds.")] = 0.0,
    policy: Annotated[str, typer.Option(help="Policy that drives until that time.")] = "stop",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the world.")] = 0,
    camera: Camera = None,
    set_: Assignments = None,
    size: Size = None,
    picture: Picture = None,
    weather: Weather = None,
    light: Light = None,
    axes: Annotated[bool, typer.Option("--axes", help="Draw axes in metres around a scene.")] = False,
    as_json: AsJson = False,
) -> None:
    """Draw a scenario at one time as a camera sees it, or a scene (floor plan, scene file, ROS map, .geojson, .osm,
    .xodr, town:NAME, intersection:NAME) from above."""
    if scenario is None:
        if set_:
            raise BadInput("--set is for a scenario; name one")
        _draw_scene(suite, out, size, axes, as_json)
        return
    if axes:
        raise BadInput("--axes is for a scene alone; leave the scenario's name out")
    from sidestep.render.films.cameras import draw_still
    from sidestep.render.prepare import compile_beside

    cameras = split_names(camera, ("first",))
    is_policys = POLICY_CAMERA in cameras
    if is_policys and (len(cameras) > 1 or size is not None):
        raise BadInput("--camera policy is a picture of its own size; leave out --size and the other cameras")
    light_and_weather = {"weather": weather, "time_of_day": light}
    changes = {name: value for name, value in light_and_weather.items() if value is not None}
    with quiet_stdout(as_json):
        wanted, base, settings = _find(suite, scenario, set_ or [], policy)
        with compile_beside("sidestep.render.films.first_picture"):
            record = _run_until(wanted, base, policy, settings, seed, time)
        draw_still(
            record,
            out,
            time_s=time,
            cameras=("first",) if is_policys else cameras,
            settings=sized(record.scenario.sensors.camera, None, **changes)
            if is_policys
            else sized(wanted.sensors.camera, size or "640x480", **changes),
            panels=split_names(picture, ("rgb",)),
        )
    if as_json:
        print_json({"file": str(out), "time": float(record.time[-1]), "source": record.source})
    else:
        typer.echo(f"wrote {out}")


def _draw_scene(reference: str, out: Path, size: str | None, axes: bool, as_json: bool) -> None:
    from sidestep import registry
    from sidestep.render.films.top_view import draw_scene
    from sidestep.scenes.compile import compile_scene
    from sidestep.scenes.load import resolve_scene

    if reference in registry.table("suites"):
        raise BadInput(
            f"render {reference}: name a scenario too; `sidestep list scenarios --suite {reference}` lists them"
        )
    if out.suffix.lower() not in (".png", ".jpg", ".jpeg"):
        raise BadInput(f"{out}: a picture is a .png or .jpg file; rename it")
    with quiet_stdout(as_json):
        scene = compile_scene(resolve_scene(reference), reference)
        draw_scene(scene, out, parse_size(size) if size else None, axes)
    if as_json:
        print_json({"file": str(out), "scene": scene.spec.name, "regions": len(scene.spec.regions)})
    else:
        typer.echo(f"wrote {out}: {scene.spec.name}, {len(scene.spec.regions)} regions")


def _find(
    suite: str, scenario: str, assignments: Sequence[str], policy: str
) -> tuple[Scenario, Path | None, dict[str, Any]]:
    """The scenario, the folder that its relative paths start from, and the settings of the policy."""
    from sidestep.cli.run import open_suite, parse_settings
    from sidestep.errors import UnknownName
    from sidestep.suites.files import base_of

    chosen, left = open_suite(suite, assignments)
    found = {each.name: each for each in chosen.scenarios()}
    if scenario not in found:
        raise UnknownName("scenario", scenario, found)
    return found[scenario], base_of(chosen), next(iter(parse_settings(left, [policy]).values()))


def _run_until(
    scenario: Scenario, base: Path | None, policy: str, settings: dict[str, Any], seed: int, time: float
) -> EpisodeRecord:
    from sidestep import registry
    from sidestep.simulation import begin_episode, run_episode

    if time == 0.0:
        return begin_episode(scenario, registry.make_policy(policy, settings), seed=seed, base=base)
    limit = max(min(time, scenario.rules.time_limit_s), scenario.rules.step_s)
    until = scenario.model_copy(update={"rules": scenario.rules.model_copy(update={"time_limit_s": limit})})
    return run_episode(until, registry.make_policy(policy, settings), seed=seed, base=base)
