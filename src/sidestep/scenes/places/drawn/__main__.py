"""Write the files of the bundled places."""

from __future__ import annotations

from sidestep.scenes.places.bundled import DATA
from sidestep.scenes.places.drawn.kettlegate import draw_kettlegate
from sidestep.scenes.places.drawn.piper_parade import draw_piper_parade

for stem, paper in (("kettlegate", draw_kettlegate()), ("piper-parade", draw_piper_parade())):
    (DATA / f"{stem}.osm").write_text(paper.to_xml(), encoding="utf-8")
    print(f"{stem}.osm: {len(paper.nodes)} nodes, {len(paper.ways)} ways")
