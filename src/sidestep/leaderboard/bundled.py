"""Compare the scenarios of a plan with those of the bundled suite whose name it has. Options of the suite are read from
the scenarios, which keep them in their notes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from sidestep import registry
from sidestep.errors import SidestepError
from sidestep.runs.plan import Plan
from sidestep.suites.files import choose_options, load_suite, option_names
from sidestep.types.scenario import Scenario

MOST_VARIANTS = 16
"""Most sets of options that the scenarios of one plan may have."""
MOST_NAMED = 4
MOST_NUMBER = 10_000
"""Largest number of an option, so that nobody's options make a suite without end."""
MOST_TEXT = 100
SPLITS = ("dev", "test")


def compare_scenarios(plan: Plan) -> tuple[dict[str, str], dict[str, str]]:
    """What differs from the bundled suite, and what could not be compared, by name of the scenario. Both are empty for
    a suite that is not bundled."""
    differing: dict[str, str] = {}
    unknown: dict[str, str] = {}
    if plan.suite not in registry.SUITES:
        return differing, unknown
    variants: set[str] = set()
    for scenario in plan.scenarios:
        variants.add(json.dumps(_options_of(scenario), sort_keys=True))
        if len(variants) > MOST_VARIANTS:
            differing[scenario.name] = f"the scenarios of the plan have more than {MOST_VARIANTS} sets of options"
            continue
        if not _are_plain(_options_of(scenario)):
            differing[scenario.name] = "its options are no options of a suite"
            continue
        _compare(plan.suite, scenario, differing, unknown)
    return differing, unknown


def _compare(suite: str, scenario: Scenario, differing: dict[str, str], unknown: dict[str, str]) -> None:
    found: list[str] = []
    text = scenario.model_dump_json()
    for options in _variants(scenario):
        known, problem = _bundled(suite, json.dumps(options, sort_keys=True))
        if known.get(scenario.name) == text:
            return
        if problem:
            unknown.setdefault(scenario.name, problem)
        elif scenario.name in known:
            found.append(_difference(known[scenario.name], text))
    if found:
        what = found[0]
    elif scenario.name in unknown:
        return
    else:
        what = f"the bundled suite {suite!r} has no scenario of this name under its options"
    unknown.pop(scenario.name, None)
    if _hides_options(suite, scenario):
        unknown[scenario.name] = f"scenarios of the suite {suite!r} do not say the options that they were made with"
    else:
        differing[scenario.name] = what


def _options_of(scenario: Scenario) -> dict[str, Any]:
    options = scenario.notes.get("options")
    return dict(options) if isinstance(options, dict) else {}


def _are_plain(options: dict[str, Any]) -> bool:
    """Whether all options are small numbers, short texts, truth values or nothing."""
    return all(
        value is None
        or isinstance(value, bool)
        or (isinstance(value, int | float) and abs(value) <= MOST_NUMBER)
        or (isinstance(value, str) and len(value) <= MOST_TEXT)
        for value in options.values()
    )


def _variants(scenario: Scenario) -> Iterator[dict[str, Any]]:
    """Sets of options under which the bundled suite may have the scenario."""
    options = _options_of(scenario)
    for split in (*(tag for tag in scenario.tags if tag in SPLITS), "all"):
        if "split" not in options:
            yield {**options, "split": split}
    yield options


def _hides_options(suite: str, scenario: Scenario) -> bool:
    """Whether the suite has options other than the split, but its scenarios do not say them."""
    known, _ = _bundled(suite, "{}")
    others = set(option_names(load_suite(suite))) - {"split"}
    said = any("options" in json.loads(text)["notes"] for text in list(known.values())[:1])
    return bool(others) and not said and not _options_of(scenario)


def _difference(known: str, found: str) -> str:
    """Names of the fields that differ."""
    was, is_ = json.loads(known), json.loads(found)
    keys = list(_differing_keys(was, is_))
    return f"differs from the bundled suite in {', '.join(keys[:MOST_NAMED])}" + (
        "" if len(keys) <= MOST_NAMED else "…"
    )


def _differing_keys(was: dict[str, Any], is_: dict[str, Any]) -> Iterator[str]:
    for key in sorted({*was, *is_}):
        a, b = was.get(key), is_.get(key)
        if a == b:
            continue
        if isinstance(a, dict) and isinstance(b, dict):
            yield from (f"{key}.{inner}" for inner in sorted({*a, *b}) if a.get(inner) != b.get(inner))
        else:
            yield key


def split_of(plan: Plan) -> str:
    """``dev``, ``test`` or both, from tags and options of the scenarios; empty if the suite has no splits."""
    found = {tag for scenario in plan.scenarios for tag in scenario.tags if tag in SPLITS}
    found |= {split for each in plan.scenarios if (split := _options_of(each).get("split")) in SPLITS}
    return " + ".join(sorted(found))


def coverage(plan: Plan) -> str:
    """Scenarios in words, such as ``33 of 33 scenarios of the bundled suite``, or how they differ from that suite."""
    count = len(plan.scenarios)
    split = split_of(plan)
    chosen = _options_of(plan.scenarios[0]) if plan.scenarios else {}
    chosen |= {"split": split} if split in SPLITS else {}
    if plan.suite in registry.SUITES and not _are_plain(chosen):
        return f"{count} scenarios that differ from those of the bundled suite of this name"
    known, _ = _bundled(plan.suite, json.dumps(chosen, sort_keys=True))
    if not known:
        return f"{count} scenarios that are not of a bundled suite"
    if any(known.get(scenario.name) != scenario.model_dump_json() for scenario in plan.scenarios):
        return f"{count} scenarios that differ from those of the bundled suite of this name"
    return f"{count} of {len(known)} scenarios of the bundled suite"


@lru_cache(maxsize=64)
def _bundled(name: str, options: str) -> tuple[dict[str, str], str]:
    """Scenario → its JSON in a bundled suite with these options, and why there is none."""
    if name not in registry.SUITES:
        return {}, "not a bundled suite"
    try:
        suite = load_suite(name)
        known = option_names(suite)
        suite = choose_options(suite, {key: value for key, value in json.loads(options).items() if key in known})
        return {scenario.name: scenario.model_dump_json() for scenario in suite.scenarios()}, ""
    except SidestepError as error:
        return {}, str(error)[:200]
