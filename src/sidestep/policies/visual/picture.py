"""From the camera's picture to a network's tensor: crop, area average, colours, normalisation, stacking."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from sidestep.policies.visual.spec import ImageSpec
from sidestep.types.base import FloatArray, IntArray


def middle(picture: IntArray, width: int, height: int) -> IntArray:
    """The middle of a picture (H, W, 3), at most ``width`` × ``height``."""
    rows, columns = picture.shape[:2]
    top, left = max(rows - height, 0) // 2, max(columns - width, 0) // 2
    return picture[top : top + height, left : left + width]


@lru_cache(maxsize=16)
def _weights(old: int, new: int) -> FloatArray:
    """(new, old) float32: the share that each old pixel has in a new one, which is the area that both cover. So larger
    pictures are averaged; in smaller ones a new pixel is a mixture of the one or two that it lies on."""
    low = np.arange(new)[:, None] * (old / new)
    covered = np.minimum(low + old / new, np.arange(old) + 1.0) - np.maximum(low, np.arange(old))
    weights: FloatArray = (np.maximum(covered, 0.0) * (new / old)).astype(np.float32)
    return weights


def resized(picture: IntArray, width: int, height: int) -> IntArray:
    """A picture (H, W, 3) uint8 in another size, by area average."""
    if picture.shape[:2] == (height, width):
        return picture
    old_height, old_width = picture.shape[:2]
    lower = _weights(old_height, height) @ picture.reshape(old_height, -1).astype(np.float32)
    mixed = _weights(old_width, width) @ lower.reshape(height, old_width, 3)
    rounded: IntArray = np.clip(np.rint(mixed), 0, 255).astype(np.uint8)
    return rounded


def fitted(picture: IntArray, spec: ImageSpec) -> IntArray:
    """The camera's picture as the network sees it, (height, width, 3) uint8.

    A camera of another size than wished for is first cropped to the wished shape and resized.
    """
    camera = spec.wished_camera
    rows, columns = picture.shape[:2]
    if (columns, rows) != (camera.width, camera.height):
        scale = min(columns / camera.width, rows / camera.height)
        picture = middle(picture, max(1, round(camera.width * scale)), max(1, round(camera.height * scale)))
        picture = resized(picture, camera.width, camera.height)
    if spec.crop is not None:
        picture = middle(picture, *spec.crop)
    return np.ascontiguousarray(resized(picture, spec.width, spec.height))


def coloured(picture: IntArray, colour: str) -> Any:
    """Channels (C, H, W) in 0…255 of a picture (H, W, 3) uint8; BT.601, full range, for grey and YUV."""
    planes = np.ascontiguousarray(picture.transpose(2, 0, 1))
    if colour == "rgb":
        return planes
    if colour == "bgr":
        return planes[::-1]
    rgb = planes.astype(np.float32)
    y = np.tensordot(np.array([0.299, 0.587, 0.114], np.float32), rgb, 1)
    if colour == "grey":
        return y[None]
    half = rgb.reshape(3, rgb.shape[1] // 2, 2, rgb.shape[2] // 2, 2).mean(axis=(2, 4))
    u = np.tensordot(np.array([-0.168736, -0.331264, 0.5], np.float32), half, 1) + 128.0
    v = np.tensordot(np.array([0.5, -0.418688, -0.081312], np.float32), half, 1) + 128.0
    return np.stack([y[::2, ::2], y[::2, 1::2], y[1::2, ::2], y[1::2, 1::2], u, v])


def normalise(picture: IntArray, spec: ImageSpec, into: FloatArray) -> None:
    """(pixel · scale − mean) / std into channels (C, H, W) float32; channel by channel, as memory lies."""
    for channel, plane in enumerate(coloured(picture, spec.colour)):
        std = spec.std[channel % len(spec.std)]
        np.multiply(plane, np.float32(spec.scale / std), out=into[channel], dtype=np.float32)
        into[channel] -= np.float32(spec.mean[channel % len(spec.mean)] / std)


def tensor_shape(spec: ImageSpec) -> tuple[int, ...]:
    """Shape of the tensor of each of ``spec.names``."""
    shrink = 2 if spec.colour == "yuv420" else 1
    rows, columns, channels, frames = spec.height // shrink, spec.width // shrink, spec.channels, spec.history.frames
    if spec.history.stack == "channels":
        channels *= frames
    one = (channels, rows, columns) if spec.layout == "nchw" else (rows, columns, channels)
    return {"time": (1, frames, *one), "batch": (frames, *one)}.get(spec.history.stack, (1, *one))


def picture_tensors(pictures: Sequence[IntArray | None], spec: ImageSpec) -> dict[str, Any]:
    """The picture inputs by name. ``pictures`` are fitted, oldest first; None is one from before the start."""
    shrink = 2 if spec.colour == "yuv420" else 1
    size = (len(pictures), spec.channels, spec.height // shrink, spec.width // shrink)
    values: FloatArray = np.zeros(size, np.float32)
    for into, picture in zip(values, pictures if spec.history.order == "oldest_first" else pictures[::-1], strict=True):
        if picture is not None:
            normalise(picture, spec, into)
    stack = spec.history.stack
    if stack == "channels":
        values = values.reshape(1, -1, *size[2:])
    if spec.layout == "nhwc":
        values = np.moveaxis(values, 1, -1)
    values = as_dtype(values, spec.dtype)
    if stack == "separate":
        return {name: values[k : k + 1] for k, name in enumerate(spec.names)}
    tensor = values[None] if stack == "time" else values
    return dict.fromkeys((spec.input, *spec.copies), tensor)


def as_dtype(values: FloatArray, dtype: str) -> Any:
    """Contiguous and of ``dtype``; integers are rounded."""
    if np.issubdtype(np.dtype(dtype), np.integer) and np.issubdtype(values.dtype, np.floating):
        values = np.rint(values)
    return np.ascontiguousarray(values, dtype=dtype)
