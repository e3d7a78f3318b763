"""Frozen data that flows through Sidestep: scenario, scene, tracks, observation, command, record, result.

Settings (what a person writes in a file) are frozen pydantic models: unknown keys are errors. Arrays (what a simulation
produces) are frozen dataclasses whose fields state shape, frame and unit. Methods and functions here validate these
data or derive values from them: a digest, an outcome from events (:mod:`sidestep.types.decide`), a position on a track.
None simulates, draws or reads a file.
"""

from sidestep.types.command import Command, Drive, HolonomicVelocity, Native, Position, Velocity, Waypoints
from sidestep.types.observation import LidarScan, Observation, Pedestrians, PointScan, RobotState, Task, Vehicles
from sidestep.types.outcome import Outcome, Rules
from sidestep.types.record import EpisodeRecord, Event, PolicyInfo
from sidestep.types.result import EpisodeEnd, MetricResult
from sidestep.types.robot import Footprint, RobotLimits, RobotSpec
from sidestep.types.scenario import CrowdPart, Person, RobotPlacement, Scenario, VehiclePlacement
from sidestep.types.scene import CompiledScene, Region, SceneSpec
from sidestep.types.tracks import Tracks

__all__ = [
    "Command",
    "CompiledScene",
    "CrowdPart",
    "Drive",
    "EpisodeEnd",
    "EpisodeRecord",
    "Event",
    "Footprint",
    "HolonomicVelocity",
    "LidarScan",
    "MetricResult",
    "Native",
    "Observation",
    "Outcome",
    "Pedestrians",
    "Person",
    "PointScan",
    "PolicyInfo",
    "Position",
    "Region",
    "RobotLimits",
    "RobotPlacement",
    "RobotSpec",
    "RobotState",
    "Rules",
    "Scenario",
    "SceneSpec",
    "Task",
    "Tracks",
    "VehiclePlacement",
    "Vehicles",
    "Velocity",
    "Waypoints",
]
