"""The policy ``cadrl``, with weights of the project's own training. It runs without torch; ``sidestep.learning.cadrl``
trains it."""
