"""``--set key=value``: options of the suite and settings of policies."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sidestep.errors import BadInput, did_you_mean


def split_suite_options(assignments: Sequence[str], known: Collection[str]) -> tuple[dict[str, Any], list[str]]:
    """The suite's own options, ``reactivity=pause`` or ``suite.reactivity=pause``, and the assignments left."""
    options: dict[str, Any] = {}
    left = []
    for assignment in assignments:
        key, separator, text = assignment.partition("=")
        name = key.strip().removeprefix("suite.")
        if separator and (name in known or key.strip().startswith("suite.")):
            options[name] = _value(text, assignment)
        else:
            left.append(assignment)
    return options, left


def parse_settings(assignments: Sequence[str], policies: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Settings per policy. ``orca.horizon=3`` is for one policy (a user's own goes by its reference or its
    class name), ``horizon=3`` for all. Values are YAML scalars: ``3``, ``0.5``, ``true``, ``text``, ``[1,
    2]``."""
    settings: dict[str, dict[str, Any]] = {policy: {} for policy in policies}
    for assignment in assignments:
        key, separator, text = assignment.partition("=")
        if not separator or not key.strip():
            raise BadInput(f"--set {assignment:.120}: must be key=value, such as orca.horizon=3")
        target, name = _target(key.strip(), policies, assignment)
        value = _value(text, assignment)
        for policy in policies if target is None else [target]:
            settings[policy][name] = value
    return settings


def _target(key: str, policies: Sequence[str], assignment: str) -> tuple[str | None, str]:
    """The policy that ``key`` speaks of (None: all) and the setting's name."""
    names = {policy: policy for policy in policies} | {policy.rpartition(":")[2]: policy for policy in policies}
    for name in sorted(names, key=len, reverse=True):
        if key.startswith(name + "."):
            return names[name], key[len(name) + 1 :]
    if "." in key:
        owner = key.rpartition(".")[0]
        raise BadInput(f"--set {assignment:.120}: no policy {owner!r:.80} in this run{did_you_mean(owner[:80], names)}")
    return None, key


def _value(text: str, assignment: str) -> Any:
    from sidestep.reading import parse_yaml

    try:
        values = parse_yaml(text, f"--set {assignment}")
    except BadInput:
        raise BadInput(f"--set {assignment:.120}: {text!r:.120} is not a YAML value; quote it") from None
    value = values[0] if values else ("" if not text else None)
    if isinstance(value, str) and value == text.strip():  # not quoted
        try:
            return float(value)  # YAML 1.1 reads 1e-3 as text
        except ValueError:
            return value
    return value
