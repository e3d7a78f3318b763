"""Write the files of the bundled places."""

from __future__ import annotations

import json

from sidestep.scenes.geojson import to_geojson
from sidestep.scenes.places.bundled import DATA
from sidestep.scenes.places.drawn.kettlegate import draw_kettlegate
from sidestep.scenes.places.drawn.lantern_court import HALF, draw_lantern_court
from sidestep.scenes.places.drawn.lantern_mesh import model_place
from sidestep.scenes.places.drawn.piper_parade import draw_piper_parade
from sidestep.scenes.places.glb import write_glb

for stem, paper in (("kettlegate", draw_kettlegate()), ("piper-parade", draw_piper_parade())):
    (DATA / f"{stem}.osm").write_text(paper.to_xml(), encoding="utf-8")
    print(f"{stem}.osm: {len(paper.nodes)} nodes, {len(paper.ways)} ways")
scene = draw_lantern_court()
annotation = json.dumps(to_geojson(scene), separators=(",", ":"))
(DATA / "lantern-court.geojson").write_text(annotation.replace('{"type":"Feature"', '\n{"type":"Feature"') + "\n", encoding="utf-8")
parts = model_place(scene, HALF).parts()
write_glb(DATA / "lantern-court.glb", parts)
print(f"lantern-court: {len(scene.regions)} regions, {sum(len(t) for _, t in parts.values())} triangles")
