"""Policies with weights of the project's own training. They run without torch; :mod:`sidestep.learning` trains them."""
