"""Train PPO on the scenarios of a suite, save it, and run it in the benchmark:

python examples/train_suite.py --suite catalogue --steps 2000000 --out model.zip
sidestep run catalogue --policy ppo=sb3:model.zip --out out/ppo
"""

from __future__ import annotations

import argparse

from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecMonitor

import sidestep.gym
from sidestep.gym.sb3 import CrowdVecEnv


def main() -> None:
    """Train and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="catalogue", help="name of a suite, or a file or folder of scenarios")
    parser.add_argument("--scenarios", nargs="*", help="names or patterns of scenarios; default: all")
    parser.add_argument("--envs", type=int, default=64, help="environments side by side")
    parser.add_argument("--steps", type=int, default=2_000_000, help="environment steps to train for")
    parser.add_argument("--out", default="model.zip", help="where the model is saved")
    arguments = parser.parse_args()
    env = CrowdVecEnv(
        arguments.envs,
        task="Suite",
        suite=arguments.suite,
        scenarios=arguments.scenarios,
        sensors=("lidar",),
        max_people=10,
        pool=4 * arguments.envs,
    )
    model = PPO(
        "MultiInputPolicy",
        VecMonitor(env),
        n_steps=128,
        batch_size=16 * arguments.envs,
        device="cpu",
        seed=0,
        verbose=1,
    )
    model.learn(arguments.steps)
    sidestep.gym.save_model(model, arguments.out)
    env.close()


if __name__ == "__main__":
    main()
