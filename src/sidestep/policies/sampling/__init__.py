"""Planning among walls that several policies share: distance-to-goal fields, spline libraries, the sampling planner."""
