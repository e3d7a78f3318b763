"""The crowd models by name, and their parameters with overrides."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from functools import partial
from typing import Any

from sidestep import registry
from sidestep.errors import BadInput, UnknownName, plug_in_errors
from sidestep.interfaces import CrowdModel
from sidestep.kernels import layout
from sidestep.kernels.orca import OrcaParameters
from sidestep.kernels.social_force_helbing import HelbingParameters
from sidestep.kernels.social_force_moussaid import MoussaidParameters
from sidestep.types.base import FloatArray
from sidestep.types.behaviour import BehaviourPlacement
from sidestep.types.scenario import CrowdPart

MODEL_CODES: dict[str, int] = {
    "orca": layout.MODEL_ORCA,
    "social_force_helbing": layout.MODEL_HELBING,
    "social_force_moussaid": layout.MODEL_MOUSSAID,
    "replay": layout.MODEL_REPLAY,
    "static": layout.MODEL_NONE,
    "script": layout.MODEL_SCRIPT,
}

PARAMETERS: dict[str, Any] = {
    "orca": OrcaParameters,
    "social_force_helbing": HelbingParameters,
    "social_force_moussaid": MoussaidParameters,
}


def model_code(part: CrowdPart, where: str) -> int:
    """The kernels' number of the part's model; people of plug-in models are directed."""
    if part.model in MODEL_CODES:
        return MODEL_CODES[part.model]
    if part.model not in registry.names("crowd_models"):
        raise UnknownName("crowd model", part.model, registry.names("crowd_models"), where)
    if isinstance(part.placement, BehaviourPlacement):
        raise BadInput(
            f"{where}: people on a behaviour graph are moved by a bundled crowd model, not by plug-in {part.model!r}"
        )
    return layout.MODEL_SCRIPT


def plug_in_model(part: CrowdPart, where: str) -> Callable[[], CrowdModel] | None:
    """What makes the plug-in model of a part for each episode, tried out once; None: its model is bundled."""
    if part.model in MODEL_CODES:
        return None
    with plug_in_errors("crowd model", part.model, MODEL_CODES, f"made with {part.parameters} ({where})"):
        make = partial(registry.load("crowd_models", part.model), **part.parameters)
        make()
    return make


def pack_parameters(parts: Iterable[CrowdPart], step_s: float, where: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Parameter arrays of the three simulated models. People of one model share their parameters within a world."""
    chosen: dict[str, dict[str, float]] = {}
    for part in parts:
        if part.model not in MODEL_CODES:
            continue
        if part.parameters and part.model not in PARAMETERS:
            raise BadInput(f"{where}: crowd model {part.model!r} has no parameters")
        known = (
            [field.name for field in fields(PARAMETERS[part.model]) if field.name != "group"]
            if part.model in PARAMETERS
            else []
        )
        for key in part.parameters:
            if key not in known:
                raise UnknownName(f"{part.model} parameter", key, known, where)
        if chosen.setdefault(part.model, part.parameters) != part.parameters:
            raise BadInput(f"{where}: two parts of model {part.model!r} set different parameters; one world, one set")
    packed = []
    for name, kind in PARAMETERS.items():
        overrides = {key: type(getattr(kind(), key))(value) for key, value in chosen.get(name, {}).items()}
        if name == "orca":
            overrides["time_step"] = step_s
        try:
            made = replace(kind(), **overrides)
        except ValueError as error:
            raise BadInput(f"{where}: crowd model {name!r}: {error}") from error
        packed.append(made.as_array())
    return packed[0], packed[1], packed[2]
