"""The result of a study in a sentence: which policy was rated higher, by how much, and how certain that is.

A policy is rated higher where the corrected p of the pair is below 0.05 and the interval of the difference excludes 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, log2
from typing import Any

LEVEL = 0.05


def headline(comparison: Mapping[str, Any], scale: Sequence[int], origin: str) -> dict[str, Any]:
    """``sentence``, and the pairs that it rests on: of the policy with the highest mean and every other one, turned so
    that this policy is ``second``. ``comparison`` is that of all scenarios."""
    means = sorted(comparison["means"], key=lambda each: each["mean"], reverse=True)
    raters = "Simulated raters" if origin == "simulated" else "People"
    if not means:
        return {"sentence": 'No run has a rating other than "cannot tell".', "pairs": []}
    best = means[0]
    if len(means) == 1:
        sentence = (
            f"{raters} gave {best['policy']} a mean of {best['mean']:.2f} on the scale of {scale[0]} to {scale[-1]}"
            f"{_interval(best)}; {_people(best['participants'])}, {best['runs']} runs."
        )
        return {"sentence": sentence, "pairs": []}
    pairs = [turned(pair, best["policy"]) for pair in comparison["pairs"] if best["policy"] in _names(pair)]
    shown = [pair for pair in pairs if is_shown(pair)]
    open_ = [pair for pair in pairs if not is_shown(pair)]
    parts = []
    if len(means) > 2:
        parts.append(f"{raters} rated {best['policy']} highest, with a mean of {best['mean']:.2f}{_interval(best)}.")
    parts += [_shown(pair, raters) for pair in shown] + [_not_shown(pair) for pair in open_]
    parts += _too_few(open_, len(comparison["pairs"]))
    return {"sentence": " ".join(parts), "pairs": pairs}


def _names(pair: Mapping[str, Any]) -> tuple[str, str]:
    return pair["first"], pair["second"]


def turned(pair: Mapping[str, Any], second: str) -> dict[str, Any]:
    """The pair with this policy as the second one."""
    found = dict(pair)
    if pair["second"] != second:
        found |= {"first": pair["second"], "second": pair["first"], "difference": -pair["difference"]}
        found["low"], found["high"] = (None if each is None else -each for each in (pair["high"], pair["low"]))
        found |= {name: None if pair[name] is None else -pair[name] for name in ("effect", "cohen_d")}
    return found


def is_shown(pair: Mapping[str, Any]) -> bool:
    """Whether the difference of a pair counts as shown."""
    p, low, high = pair["p_corrected"], pair["low"], pair["high"]
    return p is not None and p < LEVEL and low is not None and not low <= 0 <= high


def _interval(each: Mapping[str, Any]) -> str:
    if each["low"] is None or each["high"] is None:
        return ""
    return f" (95 % interval {_signed(each['low'])} to {_signed(each['high'])})"


def _signed(value: float) -> str:
    return f"{value:z.2f}".replace("-", "−")


def _people(count: int) -> str:
    return f"{count} participant" + ("" if count == 1 else "s")


def _evidence(pair: Mapping[str, Any]) -> str:
    p = pair["p_corrected"]
    shown = "" if p is None else ", p < 0.001" if p < 0.001 else f", p = {p:.3f}"
    one = "one participant" in pair["note"]
    units = f"{pair['n']} runs of one participant, which does not apply to others" if one else _people(pair["n"])
    limits = "" if pair["low"] is None else f"95 % interval {_signed(pair['low'])} to {_signed(pair['high'])}, "
    return f"({limits}{units}{shown})"


def _shown(pair: Mapping[str, Any], raters: str) -> str:
    second, first = (pair["second"], pair["first"]) if pair["difference"] > 0 else (pair["first"], pair["second"])
    return f"{raters} rated {second} {abs(pair['difference']):.2f} levels higher than {first} {_evidence(pair)}."


def _not_shown(pair: Mapping[str, Any]) -> str:
    between = f"between {pair['second']} and {pair['first']}"
    if pair["p_corrected"] is None:
        return f"No comparison is possible {between}: {pair['note'] or 'too few ratings'}."
    return f"No difference was shown {between}: {_signed(pair['difference'])} levels {_evidence(pair)}."


def _too_few(pairs: Sequence[Mapping[str, Any]], tests: int) -> list[str]:
    """Whether a signed-rank test of so few participants cannot be below the level at all."""
    needed = ceil(1 - log2(LEVEL / tests) - 1e-9) if tests else 0
    few = [pair for pair in pairs if pair["design"] == "paired" and pair["n"] < needed]
    return [f"At least {needed} participants are needed to show any difference."] if few else []
