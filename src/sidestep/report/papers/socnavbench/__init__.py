"""The SocNavBench paper: Tables 2 to 4, Figures 6 to 12, for the suite ``socnav``."""
