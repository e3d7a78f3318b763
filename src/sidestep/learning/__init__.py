"""Demonstrations (files, recording, LeRobot), training of the learned policies (CADRL, driving, waypoints) and hand
driving in the browser (``drive_page``). Only training uses torch; what it writes runs without it."""
