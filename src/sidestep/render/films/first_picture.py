"""A small picture of a person on a street, with all that a camera sees: drawing it compiles the renderer, in two
processes. One compiles how people stand and what is seen of everything, the other the shading of pixels."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import numpy as np

from sidestep._util.threads import WorkerThreads
from sidestep.kernels.jit import CACHE_FOLDER, compile_for
from sidestep.render.camera_model import CameraModel, CameraPose
from sidestep.render.people.pose import PeopleState
from sidestep.render.raster import frame as steps
from sidestep.render.raster import layout as L
from sidestep.render.renderer import Renderer
from sidestep.render.shading_maps import ShadowMap
from sidestep.render.target import Target
from sidestep.render.world_view import WorldView
from sidestep.scenes.plans import load_plan
from sidestep.types.base import FloatArray

THREADS = 2
"""Number of threads that draw pictures of records (``RecordView``)."""
CAMERA, POSE = CameraModel(64, 48, 1.4), CameraPose(0.0, 5.0, 1.2, 0.0, 0.0)


def compile_renderer() -> None:
    """Draw the picture."""
    code = f"from {__name__} import compile_shading; compile_shading()"
    can_share = CACHE_FOLDER is not None and (os.cpu_count() or 1) > 1
    beside = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL) if can_share else None
    view = street()
    place, zero = np.array([[3.0, 5.0]]), np.zeros(1)
    state = PeopleState(place, zero, zero + 1.0, zero, view.looks.model, view.looks.scale)
    people = view.instances(np.arange(1), state, ())

    def wait() -> None:
        if beside is not None:
            beside.wait()

    class Renders(Renderer):
        def _target(self, width: int, height: int) -> Target:
            return AllSteps(width, height, self._scene, self._shadow, self._workers, wait)

    Renders(view.scene, CAMERA, threads=THREADS).render(POSE, people)


def compile_shading() -> None:
    """Compile the last step of a picture, for another process that compiles the steps before."""

    class Shades(Renderer):
        def _target(self, width: int, height: int) -> Target:
            return LastStep(width, height, self._scene, self._shadow, self._workers)

    Shades(street().scene, CAMERA, threads=THREADS).render(POSE)


def street() -> WorldView:
    """A street with one person."""
    return WorldView(load_plan("crosswalk_street"), (), "compiling", np.arange(1))


class LastStep(Target):
    """Compiles the last step and draws nothing."""

    def draw(
        self, camera: FloatArray, want: int, with_shadow: bool, instances: L.InstanceArrays, lights: L.LightArrays,
        pictures: L.Pictures,
    ) -> None:  # fmt: skip
        self._make_room(len(instances.model))
        view = L.View(camera, self.width, self.height, self._bands, want, with_shadow)
        compile_for(steps.draw_bands, view, self._scene.surfaces, lights, self._frame, self._threads[0], pictures)


class AllSteps(Target):
    """Compiles all steps but the last, waits for that one, and draws."""

    def __init__(
        self, width: int, height: int, scene: L.SceneArrays, shadow: ShadowMap, workers: WorkerThreads,
        wait: Callable[[], None],
    ) -> None:  # fmt: skip
        super().__init__(width, height, scene, shadow, workers)
        self._wait = wait

    def draw(
        self, camera: FloatArray, want: int, with_shadow: bool, instances: L.InstanceArrays, lights: L.LightArrays,
        pictures: L.Pictures,
    ) -> None:  # fmt: skip
        self._make_room(len(instances.model))
        view = L.View(camera, self.width, self.height, self._bands, want, with_shadow)
        world = (view, self._scene, instances, lights, self._frame)
        compile_for(steps.plan_frame, *world)
        compile_for(steps.prepare_objects, *world, self._threads[0])
        compile_for(steps.cast_shadows, 0, self._scene.models, lights.shadow, self._frame)
        self._wait()
        super().draw(camera, want, with_shadow, instances, lights, pictures)
