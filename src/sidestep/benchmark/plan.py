"""What is to run: scenarios × policies × seeds, frozen before the first episode."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from sidestep import registry
from sidestep.errors import BadInput, did_you_mean
from sidestep.guests import introduce
from sidestep.guests.messages import check_settings
from sidestep.interfaces import Suite
from sidestep.types.base import Model, NonNegative, Positive
from sidestep.types.scenario import Scenario
from sidestep.version import __version__

Mode = Literal["sync", "async", "latency"]


class PolicyPlan(Model):
    """A policy as it was named, with the settings that it was given. ``version`` changes when its code
    does."""

    name: str
    settings: dict[str, Any] = Field(default_factory=dict)
    version: str = ""

    @property
    def is_bundled(self) -> bool:
        """Whether it is one of ours: anything else may take the process down with it."""
        return self.name in registry.POLICIES


class Plan(Model):
    """Every scenario with every policy under every seed."""

    suite: str
    scenarios: tuple[Scenario, ...]
    policies: tuple[PolicyPlan, ...]
    seeds: tuple[int, ...]
    mode: Mode = "sync"
    latency_s: NonNegative | None = None
    """Of mode ``latency``: the compute time charged per decision, s; None: as measured."""
    act_limit_s: Positive | None = 10.0
    """A policy that thinks longer than this about one step has failed, s."""
    base: Path | None = Field(default=None, exclude=True)
    """The folder that relative file names in scenarios start from."""

    @property
    def size(self) -> int:
        """Number of episodes."""
        return len(self.scenarios) * len(self.policies) * len(self.seeds)


def make_plan(
    suite: Suite,
    policies: Sequence[str | PolicyPlan],
    *,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    scenario_glob: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    repeats: int = 1,
    mode: Mode = "sync",
    latency_s: float | None = None,
    act_limit_s: float | None = 10.0,
) -> Plan:
    """A checked plan: scenarios chosen by name pattern and number, each policy made once to see that it can
    be. A ``PolicyPlan`` is taken as it is."""
    if latency_s is not None and mode != "latency":
        raise BadInput(f"a latency is only charged in mode latency, not in mode {mode}")
    if not policies:
        raise BadInput("no policy given; name at least one with --policy")
    chosen = tuple(each for n, each in enumerate(policies) if each not in policies[:n])
    planned = tuple(
        each if isinstance(each, PolicyPlan) else _plan_policy(each, dict((settings or {}).get(each, {})))
        for each in chosen
    )
    fields = {
        "suite": suite.name,
        "scenarios": _choose(suite, scenario_glob, limit),
        "policies": planned,
        "seeds": tuple(range(seed, seed + repeats)),
        "mode": mode,
        "latency_s": latency_s,
        "act_limit_s": act_limit_s,
        "base": getattr(suite, "base", None),
    }
    return Plan.parse(fields, "plan")


def _choose(suite: Suite, glob: str | None, limit: int | None) -> tuple[Scenario, ...]:
    scenarios = tuple(suite.scenarios())
    repeated = _repeated(scenario.name for scenario in scenarios)
    if repeated:
        raise BadInput(f"suite {suite.name!r}: two scenarios are called {repeated!r}")
    if glob is not None:
        names = [scenario.name for scenario in scenarios]
        scenarios = tuple(scenario for scenario in scenarios if fnmatchcase(scenario.name, glob))
        if not scenarios:
            raise BadInput(f"suite {suite.name!r} has no scenario {glob!r}{did_you_mean(glob, names)}")
    return scenarios if limit is None else scenarios[:limit]


def _repeated(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _plan_policy(name: str, settings: dict[str, Any]) -> PolicyPlan:
    """The policy is made once to see that it can be: somebody else's code not here, but in a process of its own."""
    check_settings(name, settings)
    if registry.is_guest(name):
        return PolicyPlan(name=name, settings=settings, version=_version_of(name, introduce(name, settings).policy))
    policy = registry.make_policy(name, settings)
    if callable(check := getattr(policy, "check_reachable", None)):
        check()
    registry.check_policy(policy, name)
    return PolicyPlan(name=name, settings=settings, version=_version_of(name, policy))


def _version_of(name: str, policy: Any) -> str:
    """Sidestep's version for a bundled policy; a user's own ``version``, else the hash of its file."""
    if name in registry.POLICIES:
        return f"sidestep {__version__}"
    stated = getattr(policy, "version", None)
    if stated:
        return str(stated)
    file = name.rpartition(":")[0]
    if not file.endswith(".py"):
        return ""
    return "sha256:" + hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]


def extend(old: Plan, new: Plan) -> Plan:
    """The plan that holds both; BadInput that says what differs when they contradict each other."""
    differences = list(_contradictions(old, new))
    if differences:
        listed = "\n  ".join(differences)
        raise BadInput(
            f"the folder holds a run of another plan:\n  {listed}\nchoose another --out, or give the same settings"
        )
    return new.model_copy(
        update={
            "scenarios": _union(old.scenarios, new.scenarios),
            "policies": _union(old.policies, new.policies),
            "seeds": tuple(sorted({*old.seeds, *new.seeds})),
        }
    )


def _union(old: tuple[Any, ...], new: tuple[Any, ...]) -> tuple[Any, ...]:
    known = {item.name for item in old}
    return old + tuple(item for item in new if item.name not in known)


def _contradictions(old: Plan, new: Plan) -> Iterable[str]:
    for field in ("suite", "mode", "latency_s", "act_limit_s"):
        was, wanted = getattr(old, field), getattr(new, field)
        if was != wanted:
            yield f"{field}: {was!r} there, {wanted!r} now"
    planned = {policy.name: policy for policy in old.policies}
    for policy in new.policies:
        if policy.name not in planned:
            continue
        known = planned[policy.name]
        if known.settings != policy.settings:
            yield f"settings of {policy.name}: {known.settings} there, {policy.settings} now"
        if known.version != policy.version:
            yield f"code of {policy.name}: version {known.version or '?'} there, {policy.version or '?'} now"
    scenarios = {scenario.name: scenario for scenario in old.scenarios}
    for scenario in new.scenarios:
        if scenario.name in scenarios:
            changed = _changed_keys(scenarios[scenario.name], scenario)
            if changed:
                yield f"scenario {scenario.name!r}: {', '.join(changed)} changed"


def _changed_keys(old: Scenario, new: Scenario) -> list[str]:
    """Compared as JSON, since that is how the old one was kept."""
    was, wanted = old.model_dump(mode="json"), new.model_dump(mode="json")
    return [key for key in was if was[key] != wanted[key]]
