"""The base of every settings model."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from sidestep.errors import BadInput
from sidestep.types.explain import explain_error

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
"""rad; sines are exact up to a million (``sidestep._util.exact``), and anything beyond is a mistake."""
Point = tuple[Coordinate, Coordinate]
Pose = tuple[Coordinate, Coordinate, Angle]
FarPoint = tuple[Finite, Finite]
"""In the frame of a file, which may be that of a whole country."""


MOST_PROBLEMS = 20
"""Number of mistakes listed for one file; a file with more is rejected as a whole."""


class Model(BaseModel):
    """Frozen settings; an unknown key is an error that names the nearest known one."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    @classmethod
    def parse(cls, data: Any, where: str) -> Self:
        """Validate plain data; ``where`` (a file, an option) opens the error message."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            found = explain_error(cls, error, data)
            more = [f"and {len(found) - MOST_PROBLEMS} more"] if len(found) > MOST_PROBLEMS else []
            lines = [*map(str, found[:MOST_PROBLEMS]), *more]
            raise BadInput("\n".join(f"{where}: {line}" if where else line for line in lines)) from None


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
