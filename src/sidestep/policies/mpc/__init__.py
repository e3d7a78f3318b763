"""Model predictive control among predicted people.

``search`` finds a path in space and time, ``smooth`` makes it smooth by iLQR, over the map's fields (``field``);
``planner`` joins them and ``policy`` drives.
"""
