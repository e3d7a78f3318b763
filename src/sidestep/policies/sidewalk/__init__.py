"""Policies for sidewalks: a lane follower that knows the map, and an expert who also knows people and their signs."""
