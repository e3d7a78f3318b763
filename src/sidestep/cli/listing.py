"""``sidestep list``: suites, scenarios, policies and other registered names."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sidestep.cli.verb import AsJson, print_json, quiet_stdout, verb
from sidestep.errors import BadInput, describe_error, place_of, printable

if TYPE_CHECKING:
    from sidestep.types.scenario import Scenario


class Kind(StrEnum):
    """Kinds of things that can be listed."""

    SUITES = "suites"
    SCENARIOS = "scenarios"
    POLICIES = "policies"
    ROBOTS = "robots"
    METRICS = "metrics"
    DATASETS = "datasets"
    LOGS = "logs"
    PREDICTORS = "predictors"
    VISUAL_MODELS = "visual-models"


@verb
def list_(
    kind: Annotated[Kind, typer.Argument(help="What to list.")],
    suite: Annotated[str | None, typer.Option(help="List only the scenarios of this suite (name or path).")] = None,
    as_json: AsJson = False,
) -> None:
    """List suites, scenarios, policies, robots, metrics, dataset or log formats, predictors or visual models."""
    if suite is not None and kind is not Kind.SCENARIOS:
        raise BadInput(f"--suite narrows the list of scenarios, not of {kind}")
    with quiet_stdout(as_json):
        rows = list_scenarios(suite) if kind is Kind.SCENARIOS else LISTS[kind]()
    if as_json:
        print_json({kind.value: rows})
        return
    from sidestep.report.terminal import print_rows

    print_rows(kind.value, [_shown(row) for row in rows])


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """A row for the terminal, where a missing extra stands in the summary."""
    if "missing_extras" not in row:
        return row
    row = dict(row)
    missing = row.pop("missing_extras")
    del row["extras"]
    return row | {"summary": f"{row['summary']} — needs sidestep[{','.join(missing)}]"} if missing else row


def list_suites() -> list[dict[str, Any]]:
    """Name, number of scenarios and summary of each suite."""
    from sidestep import registry
    from sidestep.suites.files import load_suite

    suites = [load_suite(name) for name in registry.names("suites")]
    return [{"name": s.name, "scenarios": len(tuple(s.scenarios())), "summary": s.summary} for s in suites]


def list_scenarios(reference: str | None) -> list[dict[str, Any]]:
    """The scenarios of one suite, or of all bundled ones."""
    from sidestep import registry
    from sidestep.suites.files import load_suite

    references = [reference] if reference is not None else registry.names("suites")
    return [_scenario_row(scenario) for each in references for scenario in load_suite(each).scenarios()]


def _scenario_row(scenario: Scenario) -> dict[str, Any]:
    scene, spec = scenario.scene, scenario.ego.spec
    return {
        "name": scenario.name,
        "suite": scenario.suite,
        "summary": scenario.summary,
        "source": scenario.source,
        "scene": scene if isinstance(scene, str) else scene.name,
        "robot": spec if isinstance(spec, str) else spec.name,
        "time_limit_s": scenario.rules.time_limit_s,
        "tags": list(scenario.tags),
    }


def list_policies() -> list[dict[str, Any]]:
    """Name, needs, summary and citation of each policy; from its class, nothing is made."""
    return _rows_of("policies")


def list_predictors() -> list[dict[str, Any]]:
    """Name, needs, summary and citation of each predictor; from its class, nothing is made."""
    return _rows_of("predictors")


def _rows_of(kind: Literal["policies", "predictors"]) -> list[dict[str, Any]]:
    """A plug-in that is broken is listed with what is wrong with it."""
    from sidestep import registry

    bundled = registry.POLICIES if kind == "policies" else registry.PREDICTORS
    rows = []
    for name in registry.names(kind):
        try:
            rows.append(_class_row(name, registry.load(kind, name)))
            others = [other for other, true in registry.OTHER_NAMES.items() if true == name and kind == "policies"]
            rows += [{**rows[-1], "name": other, "summary": f"another name of {name}"} for other in others]
        except (Exception, SystemExit) as error:
            if name in bundled:
                raise
            wrong = f"cannot be loaded: {describe_error(error)}{place_of(error)}"
            empty: dict[str, Any] = {"extras": [], "missing_extras": []}
            rows.append({"name": name, "needs": [], "summary": wrong, "citation": "", **empty})
    return rows


def _class_row(name: str, listed: Any) -> dict[str, Any]:
    from sidestep._util.extras import missing_extras
    from sidestep.registry import declared

    return {
        "name": name,
        "needs": sorted(listed.needs),
        "summary": printable(str(declared(listed, "summary") or _first_line(listed))),
        "citation": printable(str(declared(listed, "citation"))),
        "extras": list(declared(listed, "extras")),
        "missing_extras": missing_extras(declared(listed, "extras")),
    }


def _first_line(thing: Any) -> str:
    return (thing.__doc__ or "").strip().partition("\n")[0]


def list_robots() -> list[dict[str, Any]]:
    """The bundled robots."""
    from sidestep.simulation.robots import load_robot, robot_names

    return [
        {
            "name": spec.name,
            "dynamics": spec.dynamics,
            "radius_m": round(spec.footprint.enclosing_radius, 4),
            "max_speed_mps": spec.limits.max_speed,
            "summary": spec.summary,
            "source": spec.source,
        }
        for spec in map(load_robot, robot_names())
    ]


def list_metrics() -> list[dict[str, Any]]:
    """Name, unit, direction, definition, source and dialects of each metric."""
    from sidestep import registry

    metrics = [registry.load("metrics", name) for name in registry.names("metrics")]
    return [
        {
            "name": metric.name,
            "unit": metric.unit,
            "direction": metric.direction,
            "definition": metric.definition,
            "source": metric.source,
            "dialects": ["paper", *metric.dialects],
        }
        for metric in metrics
    ]


def list_datasets() -> list[dict[str, Any]]:
    """The trajectory file formats that can be read."""
    from sidestep import registry

    loaders = [registry.load("datasets", name) for name in registry.names("datasets")]
    return [{"name": loader.name, "summary": loader.summary} for loader in loaders]


def list_logs() -> list[dict[str, Any]]:
    """The formats of logs that `sidestep import` reads."""
    from sidestep import registry

    readers = [registry.load("logs", name) for name in registry.names("logs")]
    return [{"name": reader.name, "summary": reader.summary} for reader in readers]


def list_visual_models() -> list[dict[str, Any]]:
    """The network interfaces that the policy `visual` knows by name."""
    from sidestep.policies.visual.model_files import model_rows

    return model_rows()


LISTS: dict[Kind, Callable[[], list[dict[str, Any]]]] = {
    Kind.SUITES: list_suites,
    Kind.POLICIES: list_policies,
    Kind.ROBOTS: list_robots,
    Kind.METRICS: list_metrics,
    Kind.DATASETS: list_datasets,
    Kind.LOGS: list_logs,
    Kind.PREDICTORS: list_predictors,
    Kind.VISUAL_MODELS: list_visual_models,
}
