"""Forces and clearance: disturbance by the social force model, summed over time, and distance to walls.

Between robot i and person j with centre distance d and unit vector e from i to j (Moussaïd et al., Proc. R.
Soc. B 276, 2009):

    D = λ (v_i - v_j) + e,   B = γ |D|,   θ = angle from e to D
    f_i = -A exp(-d / B) [ exp(-(n' B θ)²) t + sign(θ) exp(-(n B θ)²) n ],   t = D / |D|,   n = t turned left

with A = 2.1 m/s², λ = 2 s/m, γ = 0.35 m, n = 2, n' = 3 as in HuNavSim. Swapping i and j turns D, e and f round
and keeps |f|. Walls push with 10 m/s² · exp(-clearance / 0.2 m) (form of Helbing and Molnár, Phys. Rev. E 51,
1995; values of HuNavSim). Forces are per unit mass; integrated over time they give m/s, independent of the step
length.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep.metrics import series
from sidestep.metrics.definition import NO_STEPS, NOBODY, Value, average, largest, metric, smallest
from sidestep.metrics.sources import FRANCIS, HUNAVSIM
from sidestep.types.base import FloatArray
from sidestep.types.record import EpisodeRecord

STRENGTH, LAMBDA, GAMMA, N, N_PRIME = 2.1, 2.0, 0.35, 2.0, 3.0
WALL_STRENGTH, WALL_RANGE_M = 10.0, 0.2
WALL_REACH_M = 4.0
_NO_WALLS = "there are no walls"


@series.once_per_record
def social_forces(record: EpisodeRecord) -> FloatArray:
    """(T+1, N, 2) force of each person on the robot, m/s², by the formula above; 0 for absent people."""
    there = series.present(record)
    offset = np.where(there[..., None], record.person_position.astype(np.float64) - record.robot_pose[:, None, :2], 0.0)
    motion = record.robot_velocity[:, None, :2] - record.person_velocity.astype(np.float64)
    motion = np.where(there[..., None], motion, 0.0)
    distance = np.where(there, series.pedestrian_centre_distance(record), 1.0)
    towards = offset / np.where(distance > 0, distance, 1.0)[..., None]
    interaction = LAMBDA * motion + towards
    length = np.hypot(interaction[..., 0], interaction[..., 1])
    ahead = interaction / np.where(length > 0, length, 1.0)[..., None]
    left = np.stack([-ahead[..., 1], ahead[..., 0]], axis=-1)
    cross = towards[..., 0] * ahead[..., 1] - towards[..., 1] * ahead[..., 0]
    angle = np.arctan2(cross, np.einsum("...i,...i->...", towards, ahead))
    reach = GAMMA * length
    decay = np.where(reach > 0, np.exp(-distance / np.where(reach > 0, reach, 1.0)), 0.0)
    slowing = decay * np.exp(-np.square(N_PRIME * reach * angle))
    turning = decay * np.sign(angle) * np.exp(-np.square(N * reach * angle))
    force = -STRENGTH * (slowing[..., None] * ahead + turning[..., None] * left)
    return np.where(there[..., None], force, 0.0)


def _norm(vectors: FloatArray) -> FloatArray:
    return np.hypot(vectors[..., 0], vectors[..., 1])


def wall_force(record: EpisodeRecord) -> FloatArray:
    """(T+1,) force of the nearest wall on the robot, m/s²; 0 without walls."""
    clearance = series.obstacle_clearance(record)
    known = ~np.isnan(clearance)
    return np.where(known, WALL_STRENGTH * np.exp(-np.where(known, clearance, 0.0) / WALL_RANGE_M), 0.0)


@series.once_per_record
def wall_force_on_people(record: EpisodeRecord) -> FloatArray:
    """(T+1, N) force of the nearest wall on each person, m/s²; NaN for absent people. Beyond
    ``WALL_REACH_M`` from a wall it is 0, as the formula gives less than 10⁻⁶ m/s²."""
    there = series.present(record)
    force = np.where(there, 0.0, np.nan)
    state, person = np.nonzero(there)
    if not len(state) or not len(record.walls):
        return force
    from shapely import STRtree, linestrings, points

    walls = record.walls.astype(np.float64).reshape(-1, 2, 2)
    places = points(record.person_position[state, person].astype(np.float64))
    lines: Any = linestrings(walls)
    found, distance = STRtree(lines).query_nearest(
        places, max_distance=WALL_REACH_M, return_distance=True, all_matches=False
    )
    near = found[0]
    clearance = distance - record.person_radius[person[near]]
    force[state[near], person[near]] = WALL_STRENGTH * np.exp(-clearance / WALL_RANGE_M)
    return force


def _over_time(force: FloatArray, record: EpisodeRecord) -> Value:
    """∫ force dt, the force of state k acting during step k."""
    return float(force[1:] @ np.diff(record.time)) if record.steps else NO_STEPS


_FORMULA = (
    "Force of Moussaïd et al. 2009 per unit mass with A = 2.1 m/s², λ = 2, γ = 0.35, n = 2, n' = 3: D = λ Δv "
    "+ e, B = γ|D|, θ the angle "
    "from e to D, |f| = A exp(-d/B) |(exp(-(n'Bθ)²), sign θ · exp(-(nBθ)²))|, d between centres."
)
_STEP = (
    "HuNavSim's program sums over samples instead of time, so its values depend on the sampling rate. The value grows "
    "with the length of the episode, so a lower value is not better when episodes fail early."
)
_PEOPLE = "Episodes with at least one step and one person."


@metric("m/s", source=f"{HUNAVSIM}, social force on agents", validity=_PEOPLE, distance="centre")
def social_force_on_people(record: EpisodeRecord) -> Value:
    """{_FORMULA} ∫ Σ_j |f_j| dt over the forces of the robot on each person present. {_STEP}"""
    if not series.present(record).any():
        return NOBODY
    return _over_time(_norm(social_forces(record)).sum(axis=1), record)


@metric("m/s", source=f"{HUNAVSIM}, social force on robot", validity=_PEOPLE, distance="centre")
def social_force_on_robot(record: EpisodeRecord) -> Value:
    """{_FORMULA} ∫ |Σ_j f_j| dt, the resultant of the people's forces on the robot. (The sum of their moduli would
    equal social_force_on_people, because the model is symmetric.) {_STEP}"""
    if not series.present(record).any():
        return NOBODY
    return _over_time(_norm(social_forces(record).sum(axis=1)), record)


@metric(
    "m/s",
    source=f"{HUNAVSIM}, obstacle force on robot",
    validity="Episodes with at least one step and one wall.",
    distance="surface",
)
def obstacle_force_on_robot(record: EpisodeRecord) -> Value:
    """∫ {WALL_STRENGTH:g} m/s² · exp(-c / {WALL_RANGE_M:g} m) dt with c the clearance from the robot's surface to the
    nearest wall. {_STEP}"""
    return _over_time(wall_force(record), record) if len(record.walls) else _NO_WALLS


@metric("m/s", source=f"{HUNAVSIM}, social work", validity=_PEOPLE, distance="centre")
def social_work(record: EpisodeRecord) -> Value:
    """Sum of social_force_on_robot, obstacle_force_on_robot (0 without walls) and social_force_on_people. {_STEP}"""
    if not series.present(record).any():
        return NOBODY
    forces = social_forces(record)
    return _over_time(_norm(forces.sum(axis=1)) + wall_force(record) + _norm(forces).sum(axis=1), record)


_ON_AGENTS = f"{HUNAVSIM}, obstacle force on agents"
_PEOPLE_AND_WALLS = "Episodes with people in a scene with walls."
_WALL_ON_PEOPLE = (
    f"{WALL_STRENGTH:g} m/s² · exp(-c / {WALL_RANGE_M:g} m) with c the distance from a person's surface to the nearest "
    f"wall, 0 beyond {WALL_REACH_M:g} m. It rises if the robot crowds people towards the walls"
)


@metric(
    "m/s²",
    "lower",
    source=f"{_ON_AGENTS}, whose program adds up the means of all samples",
    validity=_PEOPLE_AND_WALLS,
    distance="surface",
)
def obstacle_force_on_people_avg(record: EpisodeRecord) -> Value:
    """Mean over the states and the people present in them of {_WALL_ON_PEOPLE}."""
    return average(wall_force_on_people(record), NOBODY) if len(record.walls) else _NO_WALLS


@metric("m/s²", "lower", source=f"{_ON_AGENTS}, worst moment", validity=_PEOPLE_AND_WALLS, distance="surface")
def obstacle_force_on_people_max(record: EpisodeRecord) -> Value:
    """Maximum over the states and the people present in them of {_WALL_ON_PEOPLE}."""
    return largest(wall_force_on_people(record), NOBODY) if len(record.walls) else _NO_WALLS


_CLEARANCE = (
    "distance from the robot's surface (circle or polygon, exact) to the nearest wall edge, negative when the edge "
    "cuts the body"
)


@metric("m", "higher", source=f"{FRANCIS}, CD min", validity="Scenes with walls.", distance="surface")
def obstacle_clearance_min(record: EpisodeRecord) -> Value:
    """Minimum over the states of the {_CLEARANCE}."""
    return smallest(series.obstacle_clearance(record), _NO_WALLS)


@metric("m", "higher", source=f"{FRANCIS}, CD avg", validity="Scenes with walls.", distance="surface")
def obstacle_clearance_avg(record: EpisodeRecord) -> Value:
    """Mean over the states of the {_CLEARANCE}."""
    return average(series.obstacle_clearance(record), _NO_WALLS)
