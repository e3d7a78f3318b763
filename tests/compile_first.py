"""Compiles the kernels that most tests need, where this machine has not yet, before tests run in several processes that
would each compile them."""

from __future__ import annotations

import subprocess
import sys

SIMULATOR = """
from sidestep.simulation.prepare import prepare_kernels

prepare_kernels()

import gymnasium

gymnasium.make("sidestep.gym:sidestep/Crossing-v0").reset(seed=0)
"""
PICTURES = """
from sidestep.render.films.first_picture import CAMERA, POSE, compile_renderer, street

compile_renderer()

from sidestep.render.renderer import Renderer

Renderer(street().scene, CAMERA).render(POSE)
"""


def compile_first() -> None:
    """Each of both begins with what it compiles in two processes; what is in the cache costs their start."""
    running = [subprocess.Popen([sys.executable, "-c", code]) for code in (SIMULATOR, PICTURES)]
    for process in running:
        process.wait()
