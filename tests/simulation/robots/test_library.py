"""Bundled robots, files of a user, and specs as numbers."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from sidestep.errors import BadInput, UnknownName
from sidestep.kernels import dynamics as k
from sidestep.simulation.robots import DYNAMICS_CODES, load_robot, native_bounds, pack_limits, robot_names
from sidestep.types.robot import Footprint, RobotLimits, RobotSpec

EXPECTED = {
    "car": "bicycle",
    "delivery_robot": "unicycle",
    "humanoid": "holonomic",
    "pioneer_3dx": "unicycle",
    "pioneer_3dx_real": "unicycle",
    "point": "holonomic",
    "robot_dog": "holonomic",
}


def test_the_bundled_robots():
    assert {name: load_robot(name).dynamics for name in robot_names()} == EXPECTED


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_each_bundled_robot_is_whole(name):
    spec = load_robot(name)
    assert spec.name == name
    assert spec.summary
    assert spec.source
    low, high = native_bounds(spec)
    assert (low <= 0).all()
    assert (high > 0).all()
    assert np.isfinite([low, high]).all()
    assert pack_limits(spec).shape == (k.LIMIT_ROWS,)
    assert not np.isnan(pack_limits(spec)).any()


def test_published_numbers():
    pioneer = load_robot("pioneer_3dx")
    assert pioneer.footprint.radius == 0.2
    assert native_bounds(pioneer)[0].tolist() == [0.0, -1.1]
    assert native_bounds(pioneer)[1].tolist() == [1.2, 1.1]
    assert pioneer.limits.max_acceleration is None
    assert load_robot("pioneer_3dx_real").footprint.enclosing_radius == pytest.approx(0.267, abs=5e-4)
    delivery = load_robot("delivery_robot").limits
    assert (delivery.max_speed, delivery.max_turn_rate) == (2.5, 0.65)
    assert native_bounds(load_robot("point"))[1].tolist() == [1.0, 1.0]
    assert native_bounds(load_robot("car"))[1].tolist() == [13.9, 0.55]


def test_an_unknown_name_suggests():
    with pytest.raises(UnknownName, match="did you mean 'pioneer_3dx'"):
        load_robot("pioneer3dx")
    with pytest.raises(BadInput, match=r"ends in \.yaml or \.urdf"):
        load_robot("some/folder")


def test_dynamics_can_be_replaced():
    holonomic = load_robot("pioneer_3dx", "holonomic")
    assert holonomic.dynamics == "holonomic"
    assert holonomic.limits == load_robot("pioneer_3dx").limits
    assert load_robot(holonomic) is holonomic
    with pytest.raises(BadInput, match="bicycle dynamics need wheelbase"):
        load_robot("pioneer_3dx", "bicycle")


def test_a_robot_file(tmp_path):
    path = tmp_path / "cart.yaml"
    data = {"dynamics": "unicycle", "footprint": {"radius": 0.4}, "limits": {"max_speed": 2}}
    path.write_text(yaml.safe_dump(data))
    spec = load_robot(str(path))
    assert (spec.name, spec.footprint.radius) == ("cart", 0.4)
    path.write_text(yaml.safe_dump(data | {"limits": {"max_sped": 2}}))
    with pytest.raises(BadInput, match=r"cart\.yaml: limits: unknown key 'max_sped'; did you mean 'max_speed'"):
        load_robot(str(path))
    path.write_text("[1, 2]")
    with pytest.raises(BadInput, match="expected keys such as name"):
        load_robot(str(path))
    path.write_text("{: [")
    with pytest.raises(BadInput, match="not valid YAML"):
        load_robot(str(path))
    with pytest.raises(BadInput, match="no such robot file"):
        load_robot(str(tmp_path / "none.yaml"))


def test_packed_limits_have_the_kernel_order():
    spec = RobotSpec(
        name="all",
        dynamics="bicycle",
        footprint=Footprint(radius=0.3),
        wheelbase=9,
        limits=RobotLimits(
            max_speed=1, min_speed=-0.5, max_turn_rate=3, max_acceleration=4, max_deceleration=5,
            max_turn_acceleration=6, max_steer=0.7, max_steer_rate=8,
        ),
    )  # fmt: skip
    assert pack_limits(spec).tolist() == [1, -0.5, 3, 4, 5, 6, 0.7, 8, 9]
    assert np.isinf(pack_limits(load_robot("point"))[k.LIMIT_MAX_TURN_RATE :]).all()
    assert DYNAMICS_CODES == {"holonomic": k.HOLONOMIC, "unicycle": k.UNICYCLE, "bicycle": k.BICYCLE}


def test_a_steer_limit_in_degrees_is_refused():
    car = load_robot("car")
    wrong = car.model_copy(update={"limits": car.limits.model_copy(update={"max_steer": 35.0})})
    with pytest.raises(BadInput, match="are these degrees"):
        pack_limits(wrong)


def test_reverse_is_never_faster_than_forward():
    spec = RobotSpec(
        name="odd",
        dynamics="unicycle",
        footprint=Footprint(radius=0.3),
        limits=RobotLimits(max_speed=1, min_speed=-3),
    )
    assert native_bounds(spec)[0].tolist() == [-1.0, -np.pi]
