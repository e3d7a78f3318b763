"""Logs of real robots: one reader per format, all returning ``drive.LoggedDrive``; ``resample`` gives them the time
steps of a record. What turns drives into scored records is ``runs.from_logs``."""
