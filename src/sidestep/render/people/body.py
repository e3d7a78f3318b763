"""A person's model: three levels of detail (about 1,500, 450 and 120 triangles), 17 bones, seven slots."""

from __future__ import annotations

from functools import cache

import numpy as np

from sidestep.errors import UnknownName
from sidestep.render.loft import Part, join_parts, mirrored
from sidestep.render.mesh import Model, Semantic
from sidestep.render.people.head import make_head
from sidestep.render.people.limbs import make_arm, make_leg
from sidestep.render.people.outfits import OUTFIT_NAMES, OUTFITS, SLOTS, Outfit
from sidestep.render.people.skeleton import BONE_COUNT, HEIGHTS, OTHER_SIDE, REST_HEIGHT, rest_joints
from sidestep.render.people.torso import make_bag, make_skirt, make_torso
from sidestep.types.base import FloatArray

LEVELS = 3
REACH = 1.15  # m at rest height: half a running stride behind the body, with the shoe


def _both_sides(parts: list[Part]) -> list[Part]:
    return parts + [mirrored(part, OTHER_SIDE) for part in parts]


def make_person_model(outfit: Outfit) -> Model:
    """The model of one body in its clothes, 1.75 m tall."""
    levels, bones, weights = [], [], []
    for level in range(LEVELS):
        parts = make_torso(outfit, level) + make_skirt(outfit, level) + make_head(outfit, level)
        parts += _both_sides(make_arm(outfit, level)) + _both_sides(make_leg(outfit, level)) + make_bag(outfit, level)
        mesh, bone, weight = join_parts(parts, Semantic.PERSON)
        levels.append(mesh)
        bones.append(bone)
        weights.append(weight)
    scale = HEIGHTS[1] / REST_HEIGHT
    return Model(tuple(levels), tuple(bones), tuple(weights), BONE_COUNT, SLOTS, REST_HEIGHT, REACH * scale)


@cache
def person_models() -> tuple[Model, ...]:
    """One model per outfit, in the order of ``OUTFIT_NAMES``."""
    return tuple(make_person_model(outfit) for outfit in OUTFITS)


@cache
def person_joints() -> FloatArray:
    """(models, 17, 3) float64: joints of the rest poses, in the order of ``OUTFIT_NAMES``."""
    joints = np.stack([rest_joints(outfit.build.shoulder, outfit.build.hip) for outfit in OUTFITS])
    joints.setflags(write=False)
    return joints


def find_outfit(name: str) -> int:
    """Index of a model by its name."""
    if name not in OUTFIT_NAMES:
        raise UnknownName("outfit", name, OUTFIT_NAMES)
    return OUTFIT_NAMES.index(name)
