"""Bodies and clothes: what the renderer may rely on."""

import numpy as np
import pytest

from sidestep.render.people.body import person_joints, person_models
from sidestep.render.people.skeleton import BONE_COUNT, FOOT_L, FOOT_R
from sidestep.render.people.wardrobe import OUTFIT_NAMES, OUTFITS, SLOTS, dress_people

MODELS = list(zip(OUTFIT_NAMES, person_models(), strict=True))


@pytest.mark.parametrize(("name", "model"), MODELS)
def test_model_is_sound(name, model):
    assert model.bone_count == BONE_COUNT
    assert model.slots == SLOTS
    counts = [len(mesh.triangles) for mesh in model.levels]
    assert counts[0] < 2000
    assert counts[1] < 560
    assert counts[2] < 280
    for mesh, bones, weights in zip(model.levels, model.bones, model.weights, strict=True):
        assert bones.min() >= 0
        assert bones.max() < BONE_COUNT
        assert np.allclose(weights.sum(axis=1), 1.0)
        assert weights.min() >= -1e-6
        assert np.allclose(np.linalg.norm(mesh.normals, axis=1), 1.0, atol=1e-5)
        assert mesh.material.max() < len(SLOTS)
        assert mesh.vertices[:, 2].min() == pytest.approx(0.0, abs=0.001)
        assert 1.70 < mesh.vertices[:, 2].max() < 1.82
        corners = mesh.vertices[mesh.triangles].astype(float)
        volume = np.einsum("fi,fi->f", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6
        assert 0.03 < volume < 0.25, "triangles face outwards and enclose about a body"


@pytest.mark.parametrize(("name", "model"), MODELS)
def test_shoes_hang_on_the_feet_and_both_sides_mirror(name, model):
    mesh, bones = model.levels[0], model.bones[0]
    shoes = np.unique(mesh.triangles[mesh.material == SLOTS.index("shoes")])
    assert set(np.unique(bones[shoes])) == {FOOT_L, FOOT_R}
    left = mesh.vertices[(bones[:, 0] == FOOT_L)]
    right = mesh.vertices[(bones[:, 0] == FOOT_R)]
    assert np.allclose(sorted(left[:, 1]), sorted(-right[:, 1]), atol=1e-6)


def test_models_differ_in_build_and_clothes():
    assert (
        len({(outfit.build, outfit.legs, outfit.top, outfit.hair, outfit.hat, outfit.bag) for outfit in OUTFITS}) >= 8
    )
    assert {outfit.legs for outfit in OUTFITS} == {"trousers", "shorts", "skirt", "dress"}
    assert person_joints().shape == (len(OUTFITS), BONE_COUNT, 3)


def test_wardrobe_depends_on_scenario_and_person_only():
    one = dress_people("plaza", [3, 8, 11])
    two = dress_people("plaza", [11, 3])
    assert one.model[0] == two.model[1]
    assert np.array_equal(one.colours[2], two.colours[0])
    assert one.scale[0] == two.scale[1]
    assert not np.array_equal(one.colours, dress_people("street", [3, 8, 11]).colours)


def test_wardrobe_makes_a_varied_crowd():
    looks = dress_people("crowd", range(400))
    assert 1.50 <= looks.height.min() < 1.58
    assert 1.84 < looks.height.max() <= 1.95 + 1e-9
    assert set(looks.model) == set(range(len(OUTFITS)))
    assert len(np.unique(looks.colours[:, SLOTS.index("top")].round(3), axis=0)) > 150
    assert looks.colours.min() >= 0
    assert looks.colours.max() <= 1
    assert looks.colours.dtype == np.float32
