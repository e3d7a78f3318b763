"""The base of every settings model, and how its validation errors are told to a person."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any, Self

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from sidestep.errors import BadInput, did_you_mean

FloatArray = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.integer[Any]]
BoolArray = npt.NDArray[np.bool_]

Finite = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False), AfterValidator(lambda value: value + 0.0)]  # no -0.0
Speed = Annotated[NonNegative, Field(le=100)]
PositiveSpeed = Annotated[Positive, Field(le=100)]
"""m/s; whoever is faster than any car is a mistake, and the search for neighbours grows with the speed."""
Coordinate = Annotated[float, Field(ge=-1e5, le=1e5, allow_inf_nan=False)]
"""m; worlds are at most 32 km across, so that anything beyond 100 km is a mistake."""
Angle = Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]
"""rad; sines are exact up to a million (``sidestep.exact``), and anything beyond is a mistake."""
Point = tuple[Coordinate, Coordinate]
Pose = tuple[Coordinate, Coordinate, Angle]
FarPoint = tuple[Finite, Finite]
"""In the frame of a file, which may be that of a whole country."""


MOST_PROBLEMS = 20
"""Told of one file; a file with more is wrong as a whole."""


class Model(BaseModel):
    """Frozen settings; an unknown key is an error that names the nearest known one."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    @classmethod
    def parse(cls, data: Any, where: str) -> Self:
        """Validate plain data; ``where`` (a file, an option) opens the error message."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            found = islice(explain_error(cls, error), MOST_PROBLEMS)
            lines = [": ".join(part for part in (where, place, what) if part) + remedy for place, what, remedy in found]
            more = error.error_count() - len(lines)
            raise BadInput("\n".join(lines + ([f"{where}: and {more} more"] if more > 0 else []))) from None


def explain_error(model: type[BaseModel], error: ValidationError) -> Iterator[tuple[str, str, str]]:
    """Every mistake as where it is (``crowd.0.model``), what is wrong, and the remedy where one is known."""
    for item in error.errors():
        place = _cut(".".join(str(part) for part in item["loc"]), 120)
        if item["type"] == "extra_forbidden":
            key = str(item["loc"][-1])[:80]
            yield "", f"unknown key {place!r}", did_you_mean(key, _known_keys(model, item["loc"][:-1]))
        else:
            message = _cut(item["msg"].removeprefix("Value error, "), 400)
            yield place, f"{message} (got {_short(item.get('input'))})", ""


def _short(value: Any) -> str:
    return _cut(repr(value), 80)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


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
