"""The base of every settings model, and how its validation errors are told to a person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Self

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sidestep.errors import BadInput, did_you_mean

FloatArray = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.integer[Any]]
BoolArray = npt.NDArray[np.bool_]

Finite = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Point = tuple[Finite, Finite]
Pose = tuple[Finite, Finite, Finite]


class Model(BaseModel):
    """Frozen settings; an unknown key is an error that names the nearest known one."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    @classmethod
    def parse(cls, data: Any, where: str) -> Self:
        """Validate plain data; ``where`` (a file, an option) opens the error message."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise BadInput("\n".join(_explain(cls, error, where))) from None


def _explain(model: type[BaseModel], error: ValidationError, where: str) -> Iterable[str]:
    for item in error.errors():
        place = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden":
            key = str(item["loc"][-1])
            yield f"{where}: unknown key {place!r}{did_you_mean(key, _known_keys(model, item['loc'][:-1]))}"
        else:
            message = item["msg"].removeprefix("Value error, ")
            yield f"{where}: {place + ': ' if place else ''}{message} (got {_short(item.get('input'))})"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "…"


def _known_keys(model: type[BaseModel], location: tuple[Any, ...]) -> list[str]:
    """Field names of the model that lies at ``location`` inside ``model``; every nested name when unclear."""
    candidates: list[type[BaseModel]] = [model]
    for part in location:
        following: list[type[BaseModel]] = []
        for candidate in candidates:
            field = candidate.model_fields.get(str(part))
            if field is not None:
                following += _models_in(field.annotation)
            elif part == _kind_of(candidate):  # one of a union, told apart by ``kind``
                following = [candidate]
                break
        candidates = following or candidates
    return sorted({name for candidate in candidates for name in candidate.model_fields})


def _kind_of(model: type[BaseModel]) -> Any:
    """The fixed ``kind`` of a model that has one."""
    field = model.model_fields.get("kind")
    return None if field is None else field.default


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for inner in getattr(annotation, "__args__", ()) for found in _models_in(inner)]


def frozen_array(values: Any, dtype: Any, shape: tuple[int | None, ...], name: str) -> npt.NDArray[Any]:
    """A read-only, contiguous array of ``dtype``; ``None`` in ``shape`` is any length. Raises on mismatch."""
    array = np.ascontiguousarray(values, dtype=dtype)
    if array.ndim != len(shape) or any(w is not None and w != g for w, g in zip(shape, array.shape, strict=True)):
        raise BadInput(f"{name}: expected shape {shape}, got {array.shape}")
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array itself if nobody can write to it, else a view that nobody can write through."""
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array
