"""The policy ``dynamic_window``: a planar lidar, the goal, and nothing else."""
