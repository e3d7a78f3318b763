"""Check a pack: its hashes and signature, its records against its plan and results, and episodes by running them again.
Unless the pack is trusted, only bundled policies are run; episodes that were not checked are listed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from sidestep.errors import BadInput
from sidestep.leaderboard.audit import Audit, Problem, audit_run
from sidestep.leaderboard.declared import is_ours
from sidestep.leaderboard.signatures import read_public_key
from sidestep.leaderboard.unpack import Pack, unpacked
from sidestep.leaderboard.worlds import scenarios_not_here
from sidestep.runs.episode import EpisodeTask, RunEpisode
from sidestep.runs.folder import load_run
from sidestep.runs.plan import Plan, PolicyPlan
from sidestep.runs.provenance import setting_files, simulator_version
from sidestep.runs.remote.isolation import Isolation
from sidestep.runs.runner import tasks_of
from sidestep.runs.sampling import check_nonce, draw, new_nonce
from sidestep.runs.verify import (
    Progress,
    Verification,
    reason_not_rerun,
    run_again,
    under_access,
    was_served,
)

MOST_DISPUTED = 10
"""Most episodes of an entry that are run again because another pack contradicts them."""


@dataclass(frozen=True)
class NotChecked:
    """Number of a policy's episodes that were not re-run, and the reason."""

    policy: str
    episodes: int
    reason: str


@dataclass(frozen=True)
class PackVerification:
    """Result of the checks of a pack: of its files (``audit``) and of re-run episodes (``again``)."""

    pack: Pack
    audit: Audit
    again: Verification
    not_checked: tuple[NotChecked, ...]
    possible: dict[str, int] = field(default_factory=dict)
    """Policy → number of episodes that could be run again, of which a sample was drawn."""
    signer: str = ""
    """Name of the key that signed the pack, if a list of keys was given and has it."""

    @property
    def same_code(self) -> bool:
        """Whether the records were made with the simulator of this installation."""
        return self.audit.run.plan.simulator == simulator_version()

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return self.again.equal == self.again.checked and not self.audit.problems

    def as_json(self) -> dict[str, Any]:
        """The document of ``sidestep verify PACK --json``: that of a run, with an entry for the pack."""
        signature, run = self.pack.signature, self.audit.run.description
        return {
            **self.again.as_json(),
            "pack": {
                "file": str(self.pack.path),
                "sha256": self.pack.sha256,
                "signature": None if signature is None else signature.fingerprint,
                "public_key": None if signature is None else signature.public_key,
                "signer": self.signer,
                "package_version": run.package_version,
                "same_code": self.same_code,
                "episodes": run.plan.size,
                "rescored": len(self.audit.scored.episodes),
                "problems": [asdict(problem) for problem in self.audit.problems],
                "not_checked": [asdict(entry) for entry in self.not_checked],
                "worlds": self.audit.worlds_checked,
                "worlds_not_checked": [asdict(entry) for entry in self.audit.unbuilt],
            },
        }


def verify_pack(
    path: Path,
    sample: int | None = None,
    workers: int = 1,
    progress: Progress | None = None,
    run_episode: RunEpisode | None = None,
    *,
    trust: bool = False,
    key: Path | None = None,
    access: Isolation | None = None,
    nonce: str | None = None,
    keys: Mapping[str, str] | None = None,
) -> PackVerification:
    """Check a pack: hashes and signature, records against plan and results, and ``sample`` episodes (None: all, 0:
    none) by running them again. The sample is drawn with ``nonce``, by default a random one.

    Only bundled policies are run, unless ``trust`` allows the code of the others. With ``key``, the file of a public
    key, the pack must be signed by that key. With ``keys`` (public key → name), a pack that is not signed by one of
    them has a problem. ``access`` says what guests may reach.
    """
    with unpacked(path) as pack:
        if key is not None and (pack.signature is None or pack.signature.public_key != read_public_key(key)):
            signed = "is not signed" if pack.signature is None else f"is signed by {pack.signature.fingerprint}"
            raise BadInput(f"{path}: {signed}, not by the key in {key}")
        return check_unpacked(
            pack, sample, workers, progress, run_episode, trust=trust, access=access, nonce=nonce, keys=keys
        )


def check_unpacked(
    pack: Pack,
    sample: int | None = None,
    workers: int = 1,
    progress: Progress | None = None,
    run_episode: RunEpisode | None = None,
    *,
    trust: bool = False,
    each: bool = False,
    access: Isolation | None = None,
    nonce: str | None = None,
    keys: Mapping[str, str] | None = None,
) -> PackVerification:
    """Check an unpacked pack as ``verify_pack`` does. With ``each``, ``sample`` is the number of episodes of each
    policy."""
    nonce = new_nonce() if nonce is None else check_nonce(nonce)
    audit = _audit(pack)
    if keys is not None and (problem := _problem_of_signature(pack, keys)):
        audit = replace(audit, problems=(problem, *audit.problems))
    policies = tuple(_from_pack(policy, pack) for policy in audit.run.plan.policies)
    plan = under_access(audit.run.plan.model_copy(update={"policies": policies}), access)
    signer = "" if pack.signature is None else (keys or {}).get(pack.signature.public_key, "")
    if sample == 0:
        count = len(plan.scenarios) * len(plan.seeds)
        left = [NotChecked(policy.name, count, "no episode was re-run") for policy in policies]
        return PackVerification(pack, audit, Verification(0, 0, None), tuple(left), signer=signer)
    tasks, left = _divide(plan, audit, pack.folder, trust)
    possible = {policy.name: sum(task.policy is policy for task in tasks) for policy in policies}
    parts = [[task for task in tasks if task.policy is policy] for policy in policies] if each else [tasks]
    chosen = [task for part in parts for task in draw(part, sample, nonce)]
    again = Verification(0, 0, None)
    if chosen:
        named = {task.policy.name for task in chosen}
        plan = plan.model_copy(update={"policies": tuple(policy for policy in policies if policy.name in named)})
        again = replace(run_again(plan, chosen, workers, progress, run_episode), nonce=nonce, of=len(tasks))
    return PackVerification(pack, audit, again, tuple(left), possible, signer)


def run_disputed(path: Path, policy: str, places: Sequence[tuple[str, int]], workers: int = 1) -> bool | None:
    """Run the episodes of a bundled policy at ``places`` (scenario and seed) of a pack again: whether all came out
    equal, or None if they cannot be run here. Of very many, the first are run."""
    with unpacked(path) as pack:
        plan = under_access(load_run(pack.folder).plan)
        policies = tuple(each for each in plan.policies if each.name == policy and not _reason_not_run(each, False))
        missing = scenarios_not_here(plan)
        plan = plan.model_copy(update={"policies": policies})
        wanted = [place for place in places if place[0] not in missing][:MOST_DISPUTED]
        tasks = [task for task in tasks_of(plan, pack.folder) if (task.scenario.name, task.seed) in wanted]
        if not tasks or reason_not_rerun(plan):
            return None
        found = run_again(plan, tasks, workers, None, None)
        return found.equal == found.checked


def _audit(pack: Pack) -> Audit:
    """The audit; errors name the pack, not the folder where it is unpacked for a while."""
    try:
        return audit_run(pack.folder)
    except BadInput as error:
        raise BadInput(str(error).replace(str(pack.folder), str(pack.path))) from None


def _problem_of_signature(pack: Pack, keys: Mapping[str, str]) -> Problem | None:
    """What is wrong if only packs signed by one of ``keys`` are accepted."""
    if pack.signature is None:
        return Problem("signature", "the pack is not signed, but only packs signed by keys of the list count")
    if pack.signature.public_key not in keys:
        return Problem(
            "signature", f"the pack is signed by {pack.signature.fingerprint}, which is not in the list of keys"
        )
    return None


def _divide(plan: Plan, audit: Audit, folder: Path, trust: bool) -> tuple[list[EpisodeTask], list[NotChecked]]:
    """Episodes that can be re-run, and the number and reason of those that cannot."""
    there = {(each.policy, each.scenario, each.seed) for each in audit.scored.episodes}
    missing = scenarios_not_here(plan)
    all_tasks = [task for task in tasks_of(plan, folder) if (task.policy.name, task.scenario.name, task.seed) in there]
    tasks: list[EpisodeTask] = []
    left: list[NotChecked] = []
    for policy in plan.policies:
        own = [task for task in all_tasks if task.policy is policy]
        if reason := reason_not_rerun(plan) or _reason_not_run(policy, trust):
            left.append(NotChecked(policy.name, len(own), reason))
            continue
        unbuilt = [task for task in own if task.scenario.name in missing]
        if unbuilt:
            left.append(NotChecked(policy.name, len(unbuilt), missing[unbuilt[0].scenario.name]))
        tasks += [task for task in own if task.scenario.name not in missing]
    return tasks, left


def _from_pack(policy: PolicyPlan, pack: Pack) -> PolicyPlan:
    """The policy, with its source code from the pack if the pack contains it."""
    reference = pack.sources.get(policy.name)
    if reference is None or reference != policy.reference:
        return policy
    file, _, name = reference.rpartition(":")
    path = pack.folder / file
    if not path.resolve().is_relative_to(pack.folder.resolve()):
        raise BadInput(f"{pack.path}: member 'pack.json': the source of {policy.name!r} lies outside the pack")
    return policy.model_copy(update={"reference": f"{path}:{name}"})


def _reason_not_run(policy: PolicyPlan, trust: bool) -> str:
    """Why a policy of a pack cannot be run here; empty if it can."""
    if was_served(policy.made_from):
        return "it connected to `sidestep serve` over a socket"
    if not is_ours(policy) and not trust:
        return "it is the author's own code, which runs only with --trust"
    if {key: value for key, value in policy.files.items() if key in policy.settings} != setting_files(policy.settings):
        return "a file in its settings is missing here or has changed"
    return ""
