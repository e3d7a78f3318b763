"""Metrics of records that are made from logs, which contain less information than simulated episodes.

``scenario.notes["log"]["unknown"]`` lists what is missing from a log. A metric that needs it has no value, and the
reason says what is missing, so that no number is made up. Records of simulated episodes have no such note.
"""

from __future__ import annotations

from collections.abc import Iterable

from sidestep.types.record import EpisodeRecord

NOTE = "log"
"""Key of the note in ``scenario.notes``."""

_GOAL = (
    "success timeout completed path_length path_length_ratio path_efficiency spl path_irregularity heading_change "
    "time_to_goal path_traversal_time aggregated_time route_completion goal_traversal_ratio minimum_goal_distance "
    "final_goal_distance failure_to_progress success_pedestrian_distance social_compliance waypoint_deviation "
    "destination_deviation heading_deviation"
)
_PEOPLE = (
    "pedestrian_collision pedestrian_collisions collisions robot_on_person_collisions person_on_robot_collisions "
    "collision_intensity closest_pedestrian_distance average_closest_pedestrian_distance average_pedestrian_distance "
    "minimum_pedestrian_distance maximum_pedestrian_distance time_to_collision_min time_to_collision_avg "
    "average_pedestrian_speed people_delayed mean_delay_caused total_delay_caused max_delay_caused people_disturbed "
    "total_detour_caused intimate_space_intrusion personal_space_intrusion social_space_intrusion time_within_1_2m "
    "group_intimate_space_intrusion group_personal_space_intrusion group_social_space_intrusion "
    "intimate_space_violations personal_space_violations intimate_violations_by_robot personal_violations_by_robot "
    "space_compliance social_force_on_people social_force_on_robot social_work obstacle_force_on_people_avg "
    "obstacle_force_on_people_max pedestrian_contact success_pedestrian_distance social_compliance failures "
    "failures_per_100m collisions_per_100m other_jerk preventable_collision"
)
_WALLS = (
    "environment_collision wall_collisions collisions obstacle_force_on_robot obstacle_force_on_people_avg "
    "obstacle_force_on_people_max social_work obstacle_clearance_min obstacle_clearance_avg failures "
    "failures_per_100m collisions_per_100m"
)
_VEHICLES = "vehicle_collision vehicle_collisions minimum_vehicle_distance"
_GROUPS = "group_intrusion group_intimate_space_intrusion group_personal_space_intrusion group_social_space_intrusion"

REASONS: dict[str, tuple[str, frozenset[str]]] = {
    "goal": ("the log does not tell the robot's goal", frozenset(_GOAL.split())),
    "people": ("the log does not tell where people were", frozenset(_PEOPLE.split())),
    "walls": ("the log has no map", frozenset(_WALLS.split())),
    "vehicles": ("the log does not tell where vehicles were", frozenset(_VEHICLES.split())),
    "groups": ("the log does not tell who walks together", frozenset(_GROUPS.split())),
    "heading": ("the log does not tell the robot's heading", frozenset({"backward_motion", "angular_speed_avg"})),
    "policy": ("a log does not tell what the policy did", frozenset({"policy_error", "limits_applied"})),
}
"""What may be unknown → the reason, and the metrics that need it."""


def why_unknown(record: EpisodeRecord, metric: str) -> str:
    """Why ``metric`` has no value in a record of a log; empty if the log contains all that it needs."""
    note = record.scenario.notes.get(NOTE)
    missing = note.get("unknown", ()) if isinstance(note, dict) else ()
    if not isinstance(missing, Iterable):
        return ""
    return next((REASONS[what][0] for what in missing if what in REASONS and metric in REASONS[what][1]), "")
