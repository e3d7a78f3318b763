"""Drivers of a car along a route: A* and PID as in IntersectNav (``pid``), the same with perturbations, and a driver
who keeps a comfort zone free of predicted people (``comfort_zone``). Shared: ``route`` (the line ahead of the car)."""
