"""What is to run: scenarios × policies × seeds, frozen before the first episode."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from math import isfinite
from pathlib import Path
from typing import Any

from pydantic import Field

from sidestep import registry
from sidestep._util import reading
from sidestep.errors import BadInput, did_you_mean
from sidestep.interfaces import Suite
from sidestep.runs.provenance import (
    PLUG_IN,
    policy_version,
    scenario_files,
    sensor_files,
    setting_files,
    simulator_version,
)
from sidestep.runs.remote.guest_messages import check_settings
from sidestep.runs.remote.guests import introduce
from sidestep.runs.remote.isolation import Isolation
from sidestep.suites.files import base_of
from sidestep.types.base import Model, NonNegative, Positive
from sidestep.types.record import Mode
from sidestep.types.scenario import Scenario


class PolicyPlan(Model):
    """A policy under its name in the run, with the settings that it was given. ``version`` changes when its code
    does."""

    name: str
    reference: str = ""
    """What it is made from, where ``name`` is a label; empty: the name itself."""
    settings: dict[str, Any] = Field(default_factory=dict)
    version: str = ""
    files: dict[str, str] = Field(default_factory=dict)
    """Setting → hash of the file that it names, for files that were there when the policy was planned; and
    ``plug-in sensor NAME`` → hash of the code of a sensor that it needs."""
    privileged: bool = False
    """Also of an episode in which the policy could not be asked, because it took its process down."""
    resources: dict[str, NonNegative] = Field(default_factory=dict)
    """``cpu`` and ``gpu`` that it declares for a cluster. No record depends on them."""

    @property
    def made_from(self) -> str:
        """Name in the registry, ``path/to/file.py:Class``, ``package.module:Class`` or ``remote:ADDRESS``."""
        return self.reference or self.name

    @property
    def is_bundled(self) -> bool:
        """Whether it is bundled; any other policy may crash the process that it runs in."""
        return self.made_from in registry.POLICIES


class Plan(Model):
    """Every scenario with every policy under every seed."""

    suite: str
    scenarios: tuple[Scenario, ...]
    policies: tuple[PolicyPlan, ...]
    seeds: tuple[int, ...]
    mode: Mode = "sync"
    latency_s: NonNegative | None = None
    """Compute time charged per decision in mode ``latency``, s; None: as measured."""
    act_limit_s: Positive | None = 10.0
    """A policy that takes longer than this for one step has failed, s."""
    isolation: Isolation = Field(default_factory=Isolation)
    """Which policies have processes of their own, and the limits of these."""
    simulator: str = ""
    """Version and hash of the code that makes what happens in an episode; empty: not known."""
    files: dict[str, str] = Field(default_factory=dict)
    """Hash of every file that the scenarios name, as they name it: maps, robots, recordings; and of plug-ins that make
    their worlds (``plug-in crowd model NAME``)."""
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
    isolation: Isolation | None = None,
    in_process: bool = False,
) -> Plan:
    """A checked plan: scenarios chosen by name pattern and number, each policy made once to see that it can be, with
    ``in_process`` not in a process of its own. A policy is named by its reference or ``LABEL=REFERENCE``, and
    ``settings`` are under its label; a ``PolicyPlan`` is taken as it is."""
    if latency_s is not None and mode != "latency":
        raise BadInput(f"a latency is only charged in mode latency, not in mode {mode}")
    if not policies:
        raise BadInput("no policy given; name at least one with --policy")
    given = {registry.true_name("policies", label): each for label, each in (settings or {}).items()}
    named = [each if isinstance(each, PolicyPlan) else split_label(each) for each in policies]
    planned = tuple(
        each if isinstance(each, PolicyPlan) else _plan_policy(*each, given, in_process, isolation)
        for n, each in enumerate(named)
        if each not in named[:n]
    )
    if repeated := _repeated(policy.name for policy in planned):
        raise BadInput(f"two policies are called {repeated!r}; give them labels: --policy a={repeated} --policy b=…")
    scenarios, base = _choose(suite, scenario_glob, limit), base_of(suite)
    fields = {
        "suite": suite.name,
        "scenarios": scenarios,
        "policies": planned,
        "seeds": tuple(range(seed, seed + repeats)),
        "mode": mode,
        "latency_s": latency_s,
        "act_limit_s": act_limit_s,
        "isolation": isolation or Isolation(),
        "simulator": simulator_version(),
        "files": scenario_files(scenarios, base),
        "base": base,
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


LABEL = re.compile(r"([\w.+&-]{1,64})=(.+)", re.DOTALL)


def split_label(policy: str) -> tuple[str, str]:
    """Label and reference of ``LABEL=REFERENCE``; without a label the reference is both. The reference of a bundled
    policy is its name in the registry, even if another of its names was given."""
    match = LABEL.fullmatch(policy)
    if match is None or reading.is_file(Path(policy.rpartition(":")[0])):  # a file whose name has an equals sign
        name = registry.true_name("policies", policy)
        return name, name
    label, reference = (registry.true_name("policies", each) for each in match.groups())
    if label != reference and label in registry.POLICIES:
        raise BadInput(f"--policy {policy}: {label!r} is the name of a bundled policy; choose another label")
    return label, reference


def _plan_policy(
    label: str,
    reference: str,
    settings_of: Mapping[str, Mapping[str, Any]],
    in_process: bool,
    isolation: Isolation | None,
) -> PolicyPlan:
    """The policy is made once to see that it can be: somebody else's code not here, but in a process of its own."""
    settings = dict(settings_of.get(label, {}))
    check_settings(label, settings)
    settings = json.loads(json.dumps(settings))  # as a run folder keeps them and a guest gets them: keys are text
    policy: Any
    if registry.is_guest(reference) and not in_process:
        guest = introduce(reference, settings, isolation)
        policy, privileged = guest.policy, guest.privileged
    else:
        policy = registry.make_policy(reference, settings)
        policy.check_reachable()
        registry.check_needs(policy.needs, reference)
        privileged = bool(policy.privileged)
    return PolicyPlan(
        name=label,
        reference="" if reference == label else reference,
        settings=settings,
        version=_version_of(reference, policy.version),
        files=setting_files(settings) | sensor_files(policy.needs),
        privileged=privileged or "future" in policy.needs,
        resources=_checked_resources(policy.resources, label),
    )


def _checked_resources(declared: Any, label: str) -> dict[str, float]:
    """What a policy declares; ``BadInput`` unless a cluster can give it."""
    asked = dict(declared) if isinstance(declared, Mapping) else {"": declared}
    for name, amount in asked.items():
        if name not in ("cpu", "gpu"):
            raise BadInput(
                f"policy {label!r}: resources are 'cpu' and 'gpu', such as {{'cpu': 1, 'gpu': 1}}, not {name!r}"
            )
        is_number = isinstance(amount, int | float) and not isinstance(amount, bool) and isfinite(amount)
        if not is_number or amount < 0 or (amount > 1 and amount != int(amount)):
            raise BadInput(
                f"policy {label!r}: resources: {name} is a whole number or a part of one, not {amount!r:.40}"
            )
    return {str(name): float(amount) for name, amount in asked.items()}


def _version_of(name: str, stated: Any) -> str:
    """The version that a user's policy states, and the hash of its code; of a bundled one Sidestep's version."""
    code = policy_version(name)
    return code if name in registry.POLICIES or not stated else f"{stated} {code}".strip()


def extend(old: Plan, new: Plan, replaced: Iterable[str] = (), libraries: Iterable[str] = ()) -> tuple[Plan, list[str]]:
    """The plan that holds both, and those of the policies ``replaced`` whose records no longer belong to it.

    BadInput says what differs when they contradict each other; ``libraries`` says what differs about those that
    compute. What differs about a policy that is ``replaced`` is allowed, and anything if all are: then nothing of the
    old run is left. Policies of the old plan that the new one does not name are not run, so they may have changed.
    """
    wanted = set(replaced)
    absent = sorted(wanted - {policy.name for policy in new.policies})
    if absent:
        raise BadInput(f"--replace {absent[0]}: it is run again, so name it with --policy too")
    kept = [policy for policy in old.policies if policy.name not in wanted]
    common = [*_contradictions(old, new), *libraries] if old.policies else []
    own = {policy.name: list(_policy_differences(policy, old, new)) for policy in old.policies}
    refused = [*(common if kept else ()), *(line for policy in kept for line in own[policy.name])]
    if refused:
        listed = "\n  ".join(refused)
        raise BadInput(f"the folder holds a run of another plan:\n  {listed}\n{_ways_out(kept, own, bool(common))}")
    merged = new.model_copy(
        update={
            "scenarios": _union(old.scenarios, new.scenarios, set() if kept else {each.name for each in new.scenarios}),
            "policies": _union(old.policies, new.policies, wanted),
            "seeds": tuple(sorted({*old.seeds, *new.seeds})),
        }
    )
    merged = merged.model_copy(update={"files": scenario_files(merged.scenarios, merged.base)})
    return merged, [name for name, lines in own.items() if name in wanted and (lines or common)]


def _ways_out(kept: list[PolicyPlan], own: dict[str, list[str]], all_of_them: bool) -> str:
    """What can be done about a folder that was refused."""
    names = [policy.name for policy in kept if all_of_them or own[policy.name]]
    options = " ".join(f"--replace {name}" for name in names)
    what = "delete all records and run every policy again" if all_of_them else "run again what changed"
    return f"choose another --out, give the same settings, code and libraries, or {what} with {options}"


def _union(old: tuple[Any, ...], new: tuple[Any, ...], replaced: set[str]) -> tuple[Any, ...]:
    """Items of both by name; where both have a name, the old item unless it is replaced."""
    items = {item.name: item for item in old}
    return tuple(
        (items | {item.name: item for item in new if item.name not in items or item.name in replaced}).values()
    )


def _contradictions(old: Plan, new: Plan) -> Iterable[str]:
    """What differs for all policies."""
    for field in ("suite", "mode", "latency_s", "act_limit_s", "isolation"):
        was, wanted = getattr(old, field), getattr(new, field)
        if was != wanted:
            yield f"{field}: {was!r} there, {wanted!r} now"
    if old.simulator != new.simulator:
        yield f"code of the simulator: {old.simulator or '?'} there, {new.simulator or '?'} now"
    now = new.files | scenario_files(old.scenarios, new.base)
    for name, was in old.files.items():
        if now.get(name) != was:
            what = name if name.startswith(PLUG_IN) else f"file {name}"
            yield f"{what}: {'changed' if name in now else 'no longer there'}"
    scenarios = {scenario.name: scenario for scenario in old.scenarios}
    for scenario in new.scenarios:
        if scenario.name in scenarios:
            changed = _changed_keys(scenarios[scenario.name], scenario)
            if changed:
                yield f"scenario {scenario.name!r}: {', '.join(changed)} changed"


def _policy_differences(known: PolicyPlan, old: Plan, new: Plan) -> Iterable[str]:
    """What differs for one policy of the old plan. The version of a bundled one covers the simulator, whose change
    is reported for all policies."""
    is_reported = known.is_bundled and old.simulator != new.simulator
    again = next((policy for policy in new.policies if policy.name == known.name), None)
    if again is None:
        return
    if known.made_from != again.made_from:
        yield f"policy {known.name}: {known.made_from} there, {again.made_from} now"
    if _as_text(known.settings) != _as_text(again.settings):
        yield f"settings of {known.name}: {known.settings} there, {again.settings} now"
    for key, was in known.files.items():
        if again.files.get(key) == was:
            continue
        if key.startswith(PLUG_IN):
            yield f"{key} of {known.name}: {'changed' if key in again.files else 'no longer used'}"
        elif key in again.settings:
            yield f"file {again.settings[key]} of {known.name}: changed"
    if known.version != again.version and not is_reported:
        yield f"code of {known.name}: version {known.version or '?'} there, {again.version or '?'} now"


def _as_text(settings: dict[str, Any]) -> str:
    """Settings as text, in which a NaN equals a NaN."""
    return json.dumps(json.loads(json.dumps(settings)), sort_keys=True)


def _changed_keys(old: Scenario, new: Scenario) -> list[str]:
    """Keys that differ, compared as JSON because the old scenario was saved so."""
    was, wanted = old.model_dump(mode="json"), new.model_dump(mode="json")
    return [key for key in was if was[key] != wanted[key]]
