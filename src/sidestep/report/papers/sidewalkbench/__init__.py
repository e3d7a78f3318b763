"""The SidewalkBench paper: Tables 2, 5, 6 and 7, Figures 4 and 6, for the three sidewalk suites."""
