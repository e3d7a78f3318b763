"""Logs of real robots, and of people in a robot's place, as episode records. Nothing is simulated here.

``drive``      what a reader makes of a log: positions at the times at which they were logged
``rosbag``     ROS 2 bags (MCAP, sqlite3), with ``ros_messages``, ``ros_people``, ``ros_frames`` and ``ros_map``
``tracks``     TrajNet++, ETH and UCY; ``csv_log``  tables; ``lerobot``  LeRobot datasets
``resample``   to states at a constant step; ``judge``  contacts and the goal, by the referee of simulated episodes
``record``     a drive to records; ``import_run``  logs to a run folder, which is scored and reported as any other
"""

from sidestep.runs.from_logs.import_run import Imported, detect_format, import_logs, read_logs

__all__ = ["Imported", "detect_format", "import_logs", "read_logs"]
