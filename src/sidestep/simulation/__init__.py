"""A scenario and a seed become a world; a world and a policy become an episode record.

``build`` draws every random number and fills the arrays of one world; ``worlds`` holds many worlds side by side and
steps them in one compiled call; ``observe`` is what sensors and policies get to see; ``driver`` asks the policy and
keeps time; ``referee`` and ``road_judge`` pack the rules and turn verdicts into events; ``recorder`` makes the record.
``loop`` runs episodes with policies, ``session`` and ``live`` episodes that the caller steps, ``counterfactual``
episodes without the robot; ``check`` tries a policy out.

``crowd`` has the people, ``traffic`` the vehicles and their drivers, ``robots`` specs and controllers, ``sensors``
what robots see with. Metrics, reports and files are not here: they read records.
"""

from typing import TYPE_CHECKING

from sidestep._util.on_demand import names_on_demand

if TYPE_CHECKING:
    from sidestep.simulation.build import World, build_world
    from sidestep.simulation.check import check_policy
    from sidestep.simulation.loop import begin_episode, run_episode, run_episodes
    from sidestep.simulation.worlds import Worlds

__all__ = ["World", "Worlds", "begin_episode", "build_world", "check_policy", "run_episode", "run_episodes"]

__getattr__ = names_on_demand(  # lists of robots and kinds of vehicles import no kernels
    __name__,
    {
        "World": "build", "build_world": "build", "check_policy": "check", "begin_episode": "loop",
        "run_episode": "loop", "run_episodes": "loop", "Worlds": "worlds",
    },
)  # fmt: skip
