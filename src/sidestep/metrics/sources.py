"""The publications that define the metrics, cited once."""

SOCNAVBENCH = "SocNavBench: Biswas et al., ACM Transactions on Human-Robot Interaction 11(3), 2022"
FRANCIS = (
    "Francis et al., Principles and Guidelines for Evaluating Social Robot Navigation Algorithms, "
    "ACM Transactions on Human-Robot Interaction 14(2), 2025 (arXiv 2306.16740)"
)
HUNAVSIM = "HuNavSim: Pérez-Higueras et al., IEEE Robotics and Automation Letters 8(11), 2023"
SEAN = "SEAN 2.0: Tsoi et al., IEEE Robotics and Automation Letters 7(4), 2022"
ANDERSON = "Anderson et al., On Evaluation of Embodied Navigation Agents, 2018 (arXiv 1807.06757)"
HALL = "zones of Hall, The Hidden Dimension, 1966"
KATYAL = "Katyal et al., Learning a Group-Aware Policy for Robot Navigation, IROS 2022"
CARLA = "route completion of the CARLA leaderboard (Dosovitskiy et al., CoRL 2017)"
SIDESTEP = "Sidestep"
