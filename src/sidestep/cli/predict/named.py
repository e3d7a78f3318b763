"""Predictors on the command line: ``[LABEL=]NAME``, ``file.py:Class``, a network's ``.onnx`` or a file of forecasts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sidestep.errors import BadInput

_LABEL = re.compile(r"([\w.+&-]{1,64})=(.+)", re.DOTALL)


class Named(NamedTuple):
    """A predictor and the label of its row."""

    label: str
    what: str

    @property
    def is_network(self) -> bool:
        """Whether it is an exported network."""
        return self.what.endswith(".onnx")


def named(text: str) -> Named:
    """``LABEL=WHAT``; without a label it is the name, the class, or the file's name without its ending."""
    found = _LABEL.fullmatch(text)
    if found is not None and not Path(text.rpartition(":")[0] or text).is_file():
        return Named(*found.groups())
    if text.endswith((".onnx", ".h5")):
        return Named(Path(text).stem, text)
    return Named(text.rpartition(":")[2] if ":" in text else text, text)


def all_named(texts: Sequence[str]) -> list[Named]:
    """All predictors. Networks may share a label, as seeds of one kind; ``BadInput`` if others share one."""
    found = [named(text) for text in texts]
    for label in dict.fromkeys(each.label for each in found):
        same = [each for each in found if each.label == label]
        if len(same) > 1 and not all(each.is_network for each in same):
            raise BadInput(
                f"two predictors have the same label {label!r}; give them others: LABEL=PREDICTOR. Only exported "
                "networks may share one, as training seeds of one kind"
            )
        if len({each.what for each in same}) < len(same):
            raise BadInput(f"{label}: the network {same[0].what} is given twice; give networks of different seeds")
    return found
