"""Records for other programs: MCAP and Rerun files, both from one ``episode_log``."""
