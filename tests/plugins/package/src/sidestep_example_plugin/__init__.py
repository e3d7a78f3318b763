"""An outsider's additions to Sidestep."""
