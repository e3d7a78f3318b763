"""What a person looks at: pictures and videos of episodes, tables, and the HTML report.

Only reads records and results. ``topview`` draws a record (the painting itself is in ``sidestep.render.top_view``);
``html`` writes the report from ``summary`` (numbers), ``plots`` (SVG), ``viewer`` (the player, which also stands alone)
and ``templates/``. ``export_rerun`` and ``export_mcap`` write a record for other people's viewers.
"""

from sidestep.render.films.top_view import EpisodeView, draw_png, draw_strip
from sidestep.report.html import write_report
from sidestep.report.table_writer import write_tables

__all__ = ["EpisodeView", "draw_png", "draw_strip", "write_report", "write_tables"]
