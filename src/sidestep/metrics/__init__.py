"""Metrics: pure functions of an episode record, one file per family, and their aggregation over episodes.

``definition`` is how a metric is written, ``series`` derives time series from a record (viewers plot them too),
``score`` scores one record, ``aggregate`` makes the table of many, ``estimates`` has every mean, proportion and rate
with its interval (by ``statistics`` and ``rates``), ``sources`` names the publications and the dialects (other
published definitions). Nothing here simulates or reads files.
"""

_FAMILIES: dict[str, str] = {
    "outcome": (
        "success pedestrian_collision environment_collision vehicle_collision timeout group_intrusion "
        "disobeyed off_route lane_invasion wrong_exit frozen policy_error completed"
    ),
    "collisions": (
        "pedestrian_collisions wall_collisions vehicle_collisions collisions robot_on_person_collisions "
        "person_on_robot_collisions collision_intensity"
    ),
    "path": (
        "path_length distance_driven path_length_ratio path_efficiency spl path_irregularity heading_change "
        "heading_change_rate"
    ),
    "progress": (
        "time_to_goal path_traversal_time aggregated_time route_completion goal_traversal_ratio "
        "minimum_goal_distance final_goal_distance failure_to_progress stalled_time time_not_moving"
    ),
    "motion": (
        "speed_min speed_avg speed_max acceleration_min acceleration_avg acceleration_max jerk_min jerk_avg "
        "jerk_max energy oscillations angular_speed_avg direction_reversals backward_motion"
    ),
    "pedestrians": (
        "closest_pedestrian_distance average_closest_pedestrian_distance average_pedestrian_distance "
        "minimum_pedestrian_distance maximum_pedestrian_distance time_to_collision_min time_to_collision_avg "
        "average_pedestrian_speed minimum_vehicle_distance"
    ),
    "reactivity": (
        "people_delayed mean_delay_caused total_delay_caused max_delay_caused people_disturbed total_detour_caused"
    ),
    "people_cost": ("delay_mean_s delay_max_s detour_mean_m extra_stops speed_loss affected_people closest_approach"),
    "personal_space": (
        "intimate_space_intrusion personal_space_intrusion social_space_intrusion time_within_1_2m "
        "group_intimate_space_intrusion group_personal_space_intrusion group_social_space_intrusion "
        "intimate_space_violations personal_space_violations intimate_violations_by_robot "
        "personal_violations_by_robot space_compliance"
    ),
    "forces": (
        "social_force_on_people social_force_on_robot obstacle_force_on_robot obstacle_force_on_people_avg "
        "obstacle_force_on_people_max social_work obstacle_clearance_min obstacle_clearance_avg"
    ),
    "sidewalk": (
        "failures off_route_count freeze_count failures_per_100m collisions_per_100m off_route_per_100m "
        "freezes_per_100m pedestrian_contact success_pedestrian_distance social_compliance"
    ),
    "gestures": "wait_obedience proceed_obedience",
    "staged_events": "event_happened companion_share companion_distance",
    "intersection": (
        "ego_jerk other_jerk waypoint_deviation destination_deviation heading_deviation total_steps lane_invasions "
        "preventable_collision"
    ),
    "free_flow": "free_flow_time time_weighted_success",
    "planning": "planning_time_avg planning_time_max limits_applied",
}
"""Module → names of its metrics, in the order of tables and pages."""

METRICS: dict[str, str] = {
    name: f"sidestep.metrics.{module}:{name}" for module, names in _FAMILIES.items() for name in names.split()
}
"""Name → where its ``Metric`` is."""
