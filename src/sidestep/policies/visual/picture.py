"""From the camera's picture to a network's tensor: crop, area average, colours, normalisation, stacking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sidestep.policies.visual.spec import ImageSpec
from sidestep.types.base import FloatArray, IntArray


def middle(picture: IntArray, width: int, height: int) -> IntArray:
    """The middle of a picture (H, W, 3), at most ``width`` × ``height``."""
    rows, columns = picture.shape[:2]
    top, left = max(rows - height, 0) // 2, max(columns - width, 0) // 2
    return picture[top : top + height, left : left + width]


def _weights(old: int, new: int) -> FloatArray:
    """(new, old): the share that each old pixel has in a new one. The area that both cover, so larger pictures are
    averaged; in smaller ones a new pixel is a mixture of the one or two that it lies on."""
    low = np.arange(new)[:, None] * (old / new)
    covered = np.minimum(low + old / new, np.arange(old) + 1.0) - np.maximum(low, np.arange(old))
    weights: FloatArray = np.maximum(covered, 0.0) * (new / old)
    return weights


def resized(picture: IntArray, width: int, height: int) -> IntArray:
    """A picture (H, W, 3) uint8 in another size, by area average."""
    if picture.shape[:2] == (height, width):
        return picture
    rows = _weights(picture.shape[0], height)
    columns = _weights(picture.shape[1], width)
    mixed = np.einsum("ij,jkc,lk->ilc", rows, picture.astype(np.float64), columns, optimize=True)
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


def coloured(picture: IntArray, colour: str) -> FloatArray:
    """(H, W, C) float32 in 0…255 of a picture (H, W, 3) uint8; BT.601, full range, for grey and YUV."""
    rgb = picture.astype(np.float32)
    if colour == "rgb":
        return rgb
    if colour == "bgr":
        return np.ascontiguousarray(rgb[..., ::-1])
    y = rgb @ np.array([0.299, 0.587, 0.114], np.float32)
    if colour == "grey":
        return y[..., None]
    half = rgb.reshape(rgb.shape[0] // 2, 2, rgb.shape[1] // 2, 2, 3).mean(axis=(1, 3))
    u = half @ np.array([-0.168736, -0.331264, 0.5], np.float32) + 128.0
    v = half @ np.array([0.5, -0.418688, -0.081312], np.float32) + 128.0
    return np.stack([y[::2, ::2], y[::2, 1::2], y[1::2, ::2], y[1::2, 1::2], u, v], axis=-1)


def normalised(picture: IntArray, spec: ImageSpec) -> FloatArray:
    """(C, H, W) or (H, W, C): (pixel · scale − mean) / std."""
    mean, std = np.asarray(spec.mean, np.float32), np.asarray(spec.std, np.float32)
    values = (coloured(picture, spec.colour) * np.float32(spec.scale) - mean) / std
    return values.transpose(2, 0, 1) if spec.layout == "nchw" else values


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
    shape = (spec.height // shrink, spec.width // shrink, spec.channels)
    blank = np.zeros(shape if spec.layout == "nhwc" else (shape[2], *shape[:2]), np.float32)
    values = [blank if picture is None else normalised(picture, spec) for picture in pictures]
    if spec.history.order == "newest_first":
        values.reverse()
    stack = spec.history.stack
    if stack == "separate":
        tensors = {name: value[None] for name, value in zip(spec.names, values, strict=True)}
    elif stack == "channels":
        tensors = {spec.input: np.concatenate(values, axis=0 if spec.layout == "nchw" else 2)[None]}
    else:
        tensors = {spec.input: np.stack(values)[None] if stack == "time" else np.stack(values)}
    tensors = {name: as_dtype(value, spec.dtype) for name, value in tensors.items()}
    first = next(iter(tensors.values()))
    return tensors | dict.fromkeys(spec.copies, first)


def as_dtype(values: FloatArray, dtype: str) -> Any:
    """Contiguous and of ``dtype``; integers are rounded."""
    if np.issubdtype(np.dtype(dtype), np.integer) and np.issubdtype(values.dtype, np.floating):
        values = np.rint(values)
    return np.ascontiguousarray(values, dtype=dtype)
