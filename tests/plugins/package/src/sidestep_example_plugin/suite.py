"""A suite: an empty scene, and one with everything that this package adds."""

from sidestep import Suite
from sidestep.types import Scenario

ROBOT = {"spec": "point", "start": [0, 0, 0], "goal": [1, 0]}
RULES = {"step_s": 0.1, "time_limit_s": 5}
SCENARIOS = [
    {"name": "alone"},
    {
        "name": "everything",
        "robots": [ROBOT | {"goal": [9, 0]}],
        "crowd": [
            {
                "model": "example_stop_and_go",
                "parameters": {"gap_m": 0.4},
                "at_end": "leave",
                "people": [{"start": [-6, 3], "waypoints": [[9, 3]], "speed": 1.0}],
            }
        ],
        "events": [{"kind": "plugin", "name": "example_waving", "settings": {"at": [3, 0.5]}}],
        "sensors": {"extra": {"example_nearest": {"range_m": 4.0}}},
    },
]


class Examples(Suite):
    """One robot and little else."""

    name = "example_empty"
    summary = "one robot, and what this package adds"

    def scenarios(self):
        """Both scenarios."""
        common = {"suite": self.name, "robots": [ROBOT], "rules": RULES}
        return [Scenario.parse(common | document, "example plug-in") for document in SCENARIOS]


EMPTY = Examples()
