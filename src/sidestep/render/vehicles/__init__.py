"""Vehicles as models: :func:`vehicle_figure` makes a car or a van of any size and paint."""

from sidestep.render.vehicles.cars import KINDS, PAINTS, paint_for, vehicle_figure

__all__ = ["KINDS", "PAINTS", "paint_for", "vehicle_figure"]
