"""``sidestep render``: what a camera sees of a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sidestep.cli.verb import AsJson, print_json, quiet_stdout, verb
from sidestep.errors import BadInput

if TYPE_CHECKING:
    from sidestep.types.sensors import CameraSettings

Angle = Literal["first", "chase", "above"]


@verb
def render(
    suite: Annotated[str, typer.Argument(help="Name of a suite, or path to a YAML file or folder.")],
    scenario: Annotated[str, typer.Argument(help="Name of the scenario.")],
    out: Annotated[Path, typer.Option(help="PNG file.")],
    time: Annotated[float, typer.Option(min=0.0, help="Moment, s.")] = 0.0,
    policy: Annotated[str, typer.Option(help="Who drives until then.")] = "stop",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the world.")] = 0,
    camera: Annotated[Angle, typer.Option(help="From the robot, from behind it, or from above.")] = "first",
    size: Annotated[str, typer.Option(help="WIDTHxHEIGHT, pixels.")] = "640x480",
    picture: Annotated[
        list[str] | None, typer.Option(help="rgb, depth, semantic or instance; repeatable, side by side.")
    ] = None,
    weather: Annotated[Literal["clear", "cloudy", "wet", "rain"], typer.Option(help="The weather.")] = "clear",
    light: Annotated[Literal["noon", "sunset", "night"], typer.Option(help="The time of day.")] = "noon",
    as_json: AsJson = False,
) -> None:
    """Draw a moment of SCENARIO as a camera sees it."""
    from sidestep import registry
    from sidestep.report.camera_film import draw_still
    from sidestep.simulation import run_episode
    from sidestep.suites.files import load_suite

    with quiet_stdout(as_json):
        chosen = load_suite(suite)
        found = {each.name: each for each in chosen.scenarios()}
        if scenario not in found:
            from sidestep.errors import UnknownName

            raise UnknownName("scenario", scenario, found)
        wanted = found[scenario]
        settings = _settings(wanted.sensors.camera, size, weather, light)
        limit = max(min(time, wanted.rules.time_limit_s), wanted.rules.step_s)
        until = wanted.model_copy(update={"rules": wanted.rules.model_copy(update={"time_limit_s": limit})})
        base = getattr(chosen, "base", None)
        record = run_episode(until, registry.make_policy(policy, {}), seed=seed, base=base)
        draw_still(record, out, time_s=time, angle=camera, settings=settings, panels=picture or ["rgb"])
    if as_json:
        print_json({"file": str(out), "time": float(record.time[-1]), "source": record.source})
    else:
        typer.echo(f"wrote {out}")


def _settings(own: CameraSettings, size: str, weather: str, light: str) -> CameraSettings:
    from sidestep.types.sensors import laid_over

    width, _, height = size.partition("x")
    if not (width.isdigit() and height.isdigit()):
        raise BadInput(f"--size {size}: must be WIDTHxHEIGHT in pixels, such as 640x480")
    changed: dict[str, Any] = {"width": int(width), "height": int(height), "weather": weather, "time_of_day": light}
    return laid_over(own, changed, "--size")
