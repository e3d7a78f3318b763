"""A small picture of a person on a street, with all that a camera sees: drawing it compiles the renderer."""

from __future__ import annotations

import numpy as np


def compile_renderer() -> None:
    """Draw a small picture of a person on a street, with all that a camera sees, on two threads as pictures of records
    are drawn (``RecordView``)."""
    from sidestep.render.camera_model import CameraModel, CameraPose
    from sidestep.render.people.pose import PeopleState
    from sidestep.render.renderer import make_renderer
    from sidestep.render.world_view import WorldView
    from sidestep.scenes.plans import load_plan

    view = WorldView(load_plan("crosswalk_street"), (), "compiling", np.arange(1))
    place, zero = np.array([[3.0, 5.0]]), np.zeros(1)
    state = PeopleState(place, zero, zero + 1.0, zero, view.looks.model, view.looks.scale)
    renderer = make_renderer("cpu", view.scene, CameraModel(64, 48, 1.4), threads=2)
    renderer.render(CameraPose(0.0, 5.0, 1.2, 0.0, 0.0), view.instances(np.arange(1), state, ()))
