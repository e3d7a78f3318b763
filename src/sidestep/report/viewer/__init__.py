"""The viewer: one page that plays episodes in 3D and from above, as a file, from a local server, and in the report.

``pack`` turns records into JSON; ``page`` joins the scripts and style sheets under ``static/``, writes the page and
serves it to a browser on this machine. The 3D view is plain WebGL of our own, so that a report works from the file,
without a network and without further packages.
"""

from sidestep.report.viewer.page import make_server, viewer_page, write_viewer

__all__ = ["make_server", "viewer_page", "write_viewer"]
