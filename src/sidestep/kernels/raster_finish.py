"""What is done to finished pictures: four samples to one, and rain."""

from __future__ import annotations

import math

import numpy as np

from sidestep.kernels.jit import inlined, kernel

STREAKS = 900  # of heavy rain on any picture


@kernel
def halve_rgb(fine, coarse):
    """Samples about each pixel's centre, weighted 1 : 2 : 1 both ways. Sample (2 i, 2 j) lies on the centre."""
    height, width = coarse.shape[0], coarse.shape[1]
    for j in range(height):
        above, below = max(2 * j - 1, 0), 2 * j + 1
        for i in range(width):
            left, right = max(2 * i - 1, 0), 2 * i + 1
            for c in range(3):
                total = 4 * np.int32(fine[2 * j, 2 * i, c]) + 8
                total += 2 * (np.int32(fine[above, 2 * i, c]) + np.int32(fine[below, 2 * i, c]))
                total += 2 * (np.int32(fine[2 * j, left, c]) + np.int32(fine[2 * j, right, c]))
                total += np.int32(fine[above, left, c]) + np.int32(fine[above, right, c])
                total += np.int32(fine[below, left, c]) + np.int32(fine[below, right, c])
                coarse[j, i, c] = total >> 4


@kernel
def halve_depth(fine, coarse):
    """The sample on each pixel's centre."""
    for j in range(coarse.shape[0]):
        for i in range(coarse.shape[1]):
            coarse[j, i] = fine[2 * j, 2 * i]


@kernel
def halve_ids(fine, coarse):
    """The sample on each pixel's centre."""
    for j in range(coarse.shape[0]):
        for i in range(coarse.shape[1]):
            coarse[j, i] = fine[2 * j, 2 * i]


@inlined
def _scatter(number, salt):
    """A number in 0 … 1 from two whole numbers, as good as random."""
    h = np.uint32(np.uint32(number) * np.uint32(0x9E3779B1) + np.uint32(salt) * np.uint32(0x85EBCA77))
    h = np.uint32(np.uint32(h ^ (h >> np.uint32(15))) * np.uint32(0x2C1B3C6D))
    h = np.uint32(np.uint32(h ^ (h >> np.uint32(12))) * np.uint32(0x297A2D39))
    h = np.uint32(h ^ (h >> np.uint32(15)))
    return np.float64(h) / 4294967296.0


@kernel
def draw_rain(rgb, time_s, strength, colour, focal):
    """Streaks of falling drops over a picture (H, W, 3): each falls at 7 m/s at its own distance, and comes again
    elsewhere. The same time gives the same streaks."""
    height, width = rgb.shape[0], rgb.shape[1]
    for k in range(int(STREAKS * strength)):
        distance = 1.5 + 10.0 * _scatter(k, 1)
        speed = 7.0 / distance * focal  # pixels per second
        length = min(max(0.022 * speed, 2.0), 0.3 * height)
        way = height + length
        fallen = _scatter(k, 2) + time_s * speed / way
        turn = math.floor(fallen)
        x = _scatter(k, 3 + int(turn)) * width
        y = (fallen - turn) * way - length
        alpha = 0.30 / (0.6 + 0.22 * distance)
        first, last = max(int(y), 0), min(int(y + length), height)
        for row in range(first, last):
            column = int(x + 0.06 * (row - y))
            if column < 0 or column >= width:
                continue
            along = (row - y) / length
            a = np.float32(alpha * 4.0 * along * (1.0 - along))
            for c in range(3):
                value = np.float32(rgb[row, column, c])
                rgb[row, column, c] = np.uint8(value + (colour[c] - value) * a)
