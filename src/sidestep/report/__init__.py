"""Tables, plots, and the HTML report with its player of episodes.

It only reads records and results. ``html`` writes the report from ``summary`` (numbers), ``table_model`` and
``table_writer`` (tables), ``plots`` (SVG), ``papers`` (sections in the shape of publications), ``viewer`` (the player,
which also stands alone) and ``templates/``; ``terminal`` prints the same tables. Pictures and films of episodes are in
``sidestep.render``, exports for other viewers in ``sidestep.records.exports``.
"""

from sidestep.render.films.top_view import EpisodeView, draw_png, draw_strip
from sidestep.report.html import write_report
from sidestep.report.table_writer import write_tables

__all__ = ["EpisodeView", "draw_png", "draw_strip", "write_report", "write_tables"]
