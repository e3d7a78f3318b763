"""Model predictive control among predicted people.

``planner`` finds a path in space and time and ``smooth`` makes it smooth by iLQR, over the map's fields (``field``);
``policy`` drives.
"""
