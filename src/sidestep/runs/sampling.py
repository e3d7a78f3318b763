"""Draw the episodes that are run again, and compute how likely such a sample finds forged ones.

The sample follows from a nonce that the verifier chooses after the records are made. Nobody who made them knows which
will be run again, and everybody who knows the nonce can draw the same sample.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence

from sidestep.errors import BadInput
from sidestep.runs.episode import EpisodeTask

NONCE_BYTES = 8
MOST_NONCE = 200
SHOWN_FORGED = (1, 5)
"""Numbers of forged episodes whose chance of being found is shown."""


def new_nonce() -> str:
    """A random nonce."""
    return secrets.token_hex(NONCE_BYTES)


def check_nonce(nonce: str) -> str:
    """The nonce itself; BadInput unless it is a line of text."""
    if not nonce.strip() or len(nonce) > MOST_NONCE or not nonce.isprintable():
        raise BadInput(f"--nonce {nonce!r:.40}: a nonce is a line of 1 to {MOST_NONCE} characters; choose another one")
    return nonce


def draw(tasks: Sequence[EpisodeTask], sample: int | None, nonce: str) -> Sequence[EpisodeTask]:
    """``sample`` of the tasks in their order, drawn with the nonce; all if ``sample`` is None or not smaller."""
    if sample is None or sample >= len(tasks):
        return tasks
    places = sorted(range(len(tasks)), key=lambda place: _lot(tasks[place], nonce))
    return [tasks[place] for place in sorted(places[:sample])]


def _lot(task: EpisodeTask, nonce: str) -> bytes:
    parts = (nonce, task.policy.name, task.scenario.name, str(task.seed))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()


def chance_of_finding(episodes: int, checked: int, forged: int) -> float:
    """Probability that a sample of ``checked`` of ``episodes`` has at least one of ``forged`` (hypergeometric)."""
    missed = 1.0
    for k in range(min(forged, episodes)):
        missed *= max(episodes - checked - k, 0) / (episodes - k)
    return 1.0 - missed


def chances(episodes: int, checked: int) -> dict[int, float]:
    """Number of forged episodes → chance that the sample finds one of them."""
    return {forged: chance_of_finding(episodes, checked, forged) for forged in SHOWN_FORGED if forged <= episodes}


def chance_text(episodes: int, checked: int) -> str:
    """The chances in words, such as ``would have found 1 forged episode of 40 with 25 %, 5 with 77 %``."""
    if checked >= episodes:
        return f"all {episodes} episodes that can be run again were"
    parts = [f"{forged} with {_percent(chance)}" for forged, chance in chances(episodes, checked).items()]
    return f"would have found {parts[0].replace(' with', f' forged episode of {episodes} with', 1)}" + "".join(
        f", {part}" for part in parts[1:]
    )


def _percent(chance: float) -> str:
    """Rounded down, so that no chance looks certain."""
    return f"{int(chance * 100 + 1e-9)} %"
