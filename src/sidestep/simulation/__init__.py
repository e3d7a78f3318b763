"""Left of the waist: a scenario and a seed become a world, a world and a policy become an episode record.

``build`` draws every random number and fills the arrays of one world; ``worlds`` holds many worlds side by side and
steps them in one compiled call; ``observe`` is what a policy gets to see; ``driver`` asks the policy and keeps time;
``loop`` is the one episode loop; ``recorder`` writes down what happened; ``check`` tries a policy out.
"""

from sidestep.simulation.build import World, build_world
from sidestep.simulation.check import check_policy
from sidestep.simulation.loop import begin_episode, run_episode, run_episodes
from sidestep.simulation.worlds import Worlds

__all__ = ["World", "Worlds", "begin_episode", "build_world", "check_policy", "run_episode", "run_episodes"]
