"""Logs of real robots, and of people in a robot's place, as episode records. Nothing is simulated here.

``judge``       contacts and the goal, by the referee of simulated episodes
``record``      a drive, as the readers in ``sidestep.records.logs`` give it, to records
``import_run``  logs to a run folder, which is scored and reported as any other
"""

from sidestep.runs.from_logs.import_run import Imported, detect_format, import_logs, read_logs

__all__ = ["Imported", "detect_format", "import_logs", "read_logs"]
