"""From a drawn picture to the one that a policy gets: cut out, scaled, with the errors of a sensor.

Errors are drawn from a generator of their own for every picture, made of the settings' seed and the picture's time.
So they do not depend on which pictures were taken before, nor on who else takes some.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidestep.kernels.picture_scale import average_areas
from sidestep.render.renderer import Images
from sidestep.types.base import FloatArray
from sidestep.types.camera import CameraSettings, Crop

RGB_STREAM, DEPTH_STREAM = 0, 1


def develop(images: Images, settings: CameraSettings, time_s: float) -> Images:
    """The pictures as the camera hands them out. ``time_s`` is when they were taken."""
    parts = {
        name: _cut(getattr(images, name), settings)
        for name in ("rgb", "depth", "semantic", "instance")
        if getattr(images, name) is not None
    }
    if "rgb" in parts and settings.rgb_noise:
        rng = _generator(settings, time_s, RGB_STREAM)
        error = rng.standard_normal(parts["rgb"].shape, np.float32) * np.float32(settings.rgb_noise)
        parts["rgb"] = np.clip(np.rint(parts["rgb"] + error), 0, 255).astype(np.uint8)
    if "depth" in parts:
        parts["depth"] = _measured(parts["depth"], settings, time_s)
    return Images(**parts)


def _generator(settings: CameraSettings, time_s: float, stream: int) -> np.random.Generator:
    return np.random.default_rng((settings.noise_seed, round(time_s * 1e6), stream))


def _cut(picture: NDArray[Any], settings: CameraSettings) -> NDArray[Any]:
    """Cropped and scaled."""
    if settings.crop is None and settings.output_size is None:
        return picture
    rows, columns = (settings.crop or Crop()).within(settings.width, settings.height)
    kept = np.ascontiguousarray(picture[rows, columns])
    if settings.output_size is None or settings.output_size == (kept.shape[1], kept.shape[0]):
        return kept
    width, height = settings.output_size
    if kept.ndim == 3:
        scaled = np.empty((height, width, 3), np.uint8)
        average_areas(kept, np.empty((kept.shape[1], 3), np.int64), scaled)
        return scaled
    return np.ascontiguousarray(kept[_nearest(kept.shape[0], height)][:, _nearest(kept.shape[1], width)])


def _nearest(old: int, new: int) -> NDArray[np.int64]:
    """Which of ``old`` pixels holds the centre of each of ``new``: ⌊(k + ½) old / new⌋."""
    return (2 * np.arange(new) + 1) * old // (2 * new)


def _measured(depth: FloatArray, settings: CameraSettings, time_s: float) -> FloatArray:
    """Depth with noise, in steps, and only where it can be measured; (H, W) float32, m."""
    values = depth
    if settings.depth_noise:
        drawn = _generator(settings, time_s, DEPTH_STREAM).standard_normal(depth.shape, np.float32)
        seen = np.where(np.isfinite(depth), depth, np.float32(0.0))
        noise = np.float32(settings.depth_noise) * seen * seen * drawn
        values = np.where(np.isfinite(depth), np.maximum(depth + noise, np.float32(0.0)), depth)
    if settings.depth_step:
        values = np.rint(values / settings.depth_step) * settings.depth_step
    if settings.max_depth is not None:
        values = np.where(values > settings.max_depth, np.inf, values)
    if settings.min_depth:
        values = np.where(values < settings.min_depth, 0.0, values)
    measured: FloatArray = values.astype(np.float32)
    return measured
