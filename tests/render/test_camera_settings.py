"""From drawn pictures to those that a policy gets, worked out by hand."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.render.camera import apply_camera_settings, camera_model
from sidestep.render.renderer import Images
from sidestep.types.sensors import CAMERA_PRESETS, CameraSettings


def settings_of(height: int, width: int, **more: Any) -> CameraSettings:
    return CameraSettings.parse({"width": width, "height": height, **more}, "test")


def test_rows_and_columns_are_cut_out() -> None:
    depth = np.arange(20, dtype=np.float32).reshape(4, 5)
    settings = settings_of(4, 5, crop={"rows": [1, 3], "columns": [2, 5]})
    assert apply_camera_settings(Images(depth=depth), settings, 0.0).depth.tolist() == [[7, 8, 9], [12, 13, 14]]
    assert settings.picture_size == (3, 2)


def test_colours_are_averaged_over_areas() -> None:
    row = np.array([[0, 30, 90]], np.uint8)
    rgb = np.repeat(row[:, :, None], 3, axis=2)
    # two pixels of one and a half: (0 + 15) / 1.5 = 10, (15 + 90) / 1.5 = 70
    assert apply_camera_settings(Images(rgb=rgb), settings_of(1, 3, output_size=[2, 1]), 0.0).rgb[0, :, 1].tolist() == [
        10,
        70,
    ]
    # rounded half up: (0 + 30 + 90) / 3 = 40; a column of 1 and 2 becomes 2
    assert apply_camera_settings(Images(rgb=rgb), settings_of(1, 3, output_size=[1, 1]), 0.0).rgb[0, 0].tolist() == [
        40,
        40,
        40,
    ]
    tall = np.repeat(np.array([[1], [2]], np.uint8)[:, :, None], 3, axis=2)
    assert apply_camera_settings(Images(rgb=tall), settings_of(2, 1, output_size=[1, 1]), 0.0).rgb[0, 0, 0] == 2
    # larger: each old pixel covers whole new ones
    assert apply_camera_settings(Images(rgb=rgb), settings_of(1, 3, output_size=[6, 2]), 0.0).rgb[1, :, 0].tolist() == [
        0, 0, 30, 30, 90, 90,
    ]  # fmt: skip


@given(st.integers(1, 13), st.integers(1, 13), st.integers(1, 9), st.integers(1, 9), st.integers(0, 99))
def test_averages_are_those_of_the_definition(height: int, width: int, rows: int, columns: int, seed: int) -> None:
    rgb = np.random.default_rng(seed).integers(0, 256, (height, width, 3)).astype(np.uint8)
    fine = np.kron(rgb.astype(np.int64), np.ones((rows, columns, 1), np.int64))  # (H rows, W columns): whole pixels
    blocks = fine.reshape(rows, height, columns, width, 3).sum(axis=(1, 3))
    expected = (2 * blocks + height * width) // (2 * height * width)
    got = apply_camera_settings(Images(rgb=rgb), settings_of(height, width, output_size=[columns, rows]), 0.0).rgb
    np.testing.assert_array_equal(got, expected)


def test_depth_and_classes_take_the_nearest_pixel() -> None:
    semantic = np.arange(7, dtype=np.uint8)[None]
    # centres of three pixels of 7/3 lie at 1.17, 3.5, 5.83
    got = apply_camera_settings(Images(semantic=semantic), settings_of(1, 7, output_size=[3, 1]), 0.0).semantic
    assert got.tolist() == [[1, 3, 5]]
    assert got.dtype == np.uint8


def test_the_cars_picture_is_that_of_intersectnav() -> None:
    settings = CameraSettings.parse("car_front", "test")
    drawn = np.zeros((650, 1500, 3), np.uint8)
    drawn[115:510] = 200
    rgb = apply_camera_settings(Images(rgb=drawn), settings, 0.0).rgb
    assert rgb.shape == (88, 200, 3)
    assert (rgb == 200).all()  # nothing of the rows beyond
    assert camera_model(settings).fx == pytest.approx(750 / np.tan(np.radians(70)))
    assert all(CameraSettings.parse(name, "test").mount for name in CAMERA_PRESETS)


def test_depth_is_measured_between_limits_in_steps() -> None:
    depth = np.array([[0.2, 0.52, 3.14, 9.96, 12.0, np.inf]], np.float32)
    settings = settings_of(1, 6, min_depth=0.3, max_depth=10.0, depth_step=0.1)
    got = apply_camera_settings(Images(depth=depth), settings, 0.0).depth
    np.testing.assert_allclose(got, [[0.0, 0.5, 3.1, 10.0, np.inf, np.inf]], atol=1e-6)
    assert got.dtype == np.float32


def test_errors_of_colours_and_depths_are_as_stated() -> None:
    settings = settings_of(100, 100, rgb_noise=5.0, depth_noise=0.01)
    images = Images(rgb=np.full((100, 100, 3), 128, np.uint8), depth=np.full((100, 100), 4.0, np.float32))
    got = apply_camera_settings(images, settings, 0.3)
    error = got.rgb.astype(float) - 128
    assert abs(error.mean()) < 0.1
    assert error.std() == pytest.approx(np.hypot(5.0, np.sqrt(1 / 12)), rel=0.02)
    assert got.depth.std() == pytest.approx(0.01 * 16, rel=0.03)
    assert abs(got.depth.mean() - 4.0) < 0.01
    assert abs(np.corrcoef(error[..., 0].ravel(), got.depth.ravel())[0, 1]) < 0.05


def test_errors_follow_from_seed_and_time_alone() -> None:
    images = Images(rgb=np.full((8, 8, 3), 128, np.uint8))
    noisy = settings_of(8, 8, rgb_noise=5.0)
    first = apply_camera_settings(images, noisy, 0.1).rgb
    apply_camera_settings(images, noisy, 0.2)
    assert np.array_equal(apply_camera_settings(images, noisy, 0.1 + 1e-12).rgb, first)
    assert not np.array_equal(apply_camera_settings(images, noisy, 0.2).rgb, first)
    assert not np.array_equal(
        apply_camera_settings(images, settings_of(8, 8, rgb_noise=5.0, noise_seed=1), 0.1).rgb, first
    )


def test_intrinsics() -> None:
    model = camera_model(settings_of(480, 640, fx=500.0, cx=300.0))
    assert (model.fx, model.fy, model.cx, model.cy) == (500.0, 500.0, 300.0, 240.0)
    assert camera_model(settings_of(480, 640)).fx == pytest.approx(320.0)  # 90°
    outside = settings_of(480, 640, fx=500.0, crop={"rows": [0, 100]}).seen_from_outside(pi / 3)
    assert (outside.fx, outside.picture_size, outside.field_of_view) == (None, (640, 100), pi / 3)
