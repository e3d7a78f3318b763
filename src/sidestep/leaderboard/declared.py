"""Compare what records say about bundled policies with these policies: version, needs and privilege."""

from __future__ import annotations

from dataclasses import dataclass

from sidestep import registry
from sidestep.errors import SidestepError
from sidestep.interfaces import describe_policy
from sidestep.runs.plan import Plan, PolicyPlan
from sidestep.runs.provenance import policy_version, setting_files, simulator_version
from sidestep.types import EpisodeRecord

_RAISED = (ValueError, TypeError, LookupError, ArithmeticError, OSError, RuntimeError, ImportError, MemoryError)
"""What policies raise on settings that they do not expect."""


def is_ours(policy: PolicyPlan) -> bool:
    """Whether all code of a policy is bundled, its predictor as well."""
    predictor = policy.settings.get("predictor")
    return policy.is_bundled and (not isinstance(predictor, str) or predictor in registry.PREDICTORS)


@dataclass(frozen=True)
class _Expected:
    needs: tuple[str, ...] | None
    """None where the policy cannot be made here."""
    privileged: bool
    version: str
    """Empty where the run was of another simulator, whose versions are not known here."""


class PolicyCheck:
    """Compares records with the policies of a plan, each of which is made once."""

    def __init__(self, plan: Plan) -> None:
        self._same_code = plan.simulator == simulator_version()
        self._expected = {policy.name: self._expect(policy) for policy in plan.policies if is_ours(policy)}

    def difference(self, policy: PolicyPlan, record: EpisodeRecord) -> str:
        """What the record says otherwise; empty if nothing is wrong, or if the policy is the packer's own."""
        if record.policy.privileged != policy.privileged and policy.privileged:
            return "the plan says that the policy is privileged, the record that it is not"
        if policy.name in registry.POLICIES and registry.true_name("policies", policy.made_from) != policy.name:
            return f"it has the name of a bundled policy, but is {policy.made_from!r:.80}"
        expected = self._expected.get(policy.name)
        if expected is None:
            return ""
        if expected.version and expected.version != policy.version:
            return f"version {policy.version[:80] or 'unknown'}, but the bundled policy of this simulator has another"
        if expected.needs is None:
            return ""
        if tuple(sorted(record.policy.needs)) != expected.needs:
            return f"observes {', '.join(record.policy.needs)}; the bundled policy {', '.join(expected.needs)}"
        if record.policy.privileged != expected.privileged:
            return "the record says otherwise than the bundled policy whether it is privileged"
        return ""

    def _expect(self, policy: PolicyPlan) -> _Expected:
        version = policy_version(policy.made_from) if self._same_code else ""
        if {key: hash_ for key, hash_ in policy.files.items() if key in policy.settings} != setting_files(
            policy.settings
        ):
            return _Expected(None, policy.privileged, version)
        try:
            made = registry.make_policy(policy.made_from, policy.settings)
            info = describe_policy(made, policy.name, policy.settings, policy.version)
        except (SidestepError, *_RAISED):
            return _Expected(None, policy.privileged, version)
        return _Expected(tuple(sorted(info.needs)), info.privileged, version)
