"""Training of the learned policies that are shipped, in the project's own batched simulator. Only this package uses
torch; what it writes is plain numbers that :mod:`sidestep.policies.cadrl` reads without it."""
