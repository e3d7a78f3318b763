"""Surfaces made by code."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.errors import UnknownName
from sidestep.render.materials import material, material_names


@pytest.mark.parametrize("name", material_names())
def test_pictures_are_linear_colours_in_squares_of_a_power_of_two(name):
    surface = material(name)
    size = surface.texture.shape[0]
    assert surface.texture.shape == (size, size, 3)
    assert size == 1 or (64 <= size <= 256 and size & (size - 1) == 0)
    assert surface.texture.dtype == np.float32
    assert np.isfinite(surface.texture).all()
    assert 0 <= surface.texture.min() <= surface.texture.max() <= 1
    assert surface.size_m > 0
    assert material(name) is surface


@pytest.mark.parametrize("name", ["asphalt", "grass", "cobbles", "plaster_ochre", "leaves", "carpet_blue"])
def test_pictures_repeat_without_a_seam(name):
    """The step across the border is no larger than the largest inside."""
    picture = material(name).texture.astype(np.float64)
    for axis in (0, 1):
        inside = np.abs(np.diff(picture, axis=axis)).mean(axis=(1 - axis, 2)).max()
        seam = np.abs(np.take(picture, 0, axis) - np.take(picture, -1, axis)).mean()
        assert seam < 1.2 * inside


def test_an_unknown_surface_names_the_nearest():
    with pytest.raises(UnknownName, match="asphalt"):
        material("asfalt")
