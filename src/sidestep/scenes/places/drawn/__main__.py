"""Write the files of the bundled places."""

from __future__ import annotations

import json

from sidestep.scenes.geojson import to_geojson
from sidestep.scenes.places.bundled import DATA, LONG_WAYS, bundled_place
from sidestep.scenes.places.closed import draw_long_way
from sidestep.scenes.places.drawn.kettlegate import draw_kettlegate
from sidestep.scenes.places.drawn.lantern_court import draw_lantern_court
from sidestep.scenes.places.drawn.lantern_mesh import model_place
from sidestep.scenes.places.drawn.piper_parade import draw_piper_parade
from sidestep.scenes.places.glb import write_glb
from sidestep.scenes.towns.routes import Route

LONG = {"kettlegate": 2, "piper-parade": 2, "lantern-court": 1}
"""How many long ways each place has."""


def main() -> None:
    """The maps, the annotation, the mesh, and the long ways over them."""
    for stem, paper in (("kettlegate", draw_kettlegate()), ("piper-parade", draw_piper_parade())):
        (DATA / f"{stem}.osm").write_text(paper.to_xml(), encoding="utf-8")
        print(f"{stem}.osm: {len(paper.nodes)} nodes, {len(paper.ways)} ways")
    scene = draw_lantern_court()
    annotation = json.dumps(to_geojson(scene), separators=(",", ":")).replace(
        '{"type":"Feature"', '\n{"type":"Feature"'
    )
    (DATA / "lantern-court.geojson").write_text(annotation + "\n", encoding="utf-8")
    parts = model_place(scene).parts()
    write_glb(DATA / "lantern-court.glb", parts)
    print(f"lantern-court: {len(scene.regions)} regions, {sum(len(t) for _, t in parts.values())} triangles")
    chosen = {name: _long_ways(name, count) for name, count in LONG.items()}
    LONG_WAYS.write_text(json.dumps(chosen, separators=(",", ":")) + "\n", encoding="utf-8")


def _long_ways(name: str, count: int) -> list[list[tuple[float, float]]]:
    place = bundled_place(name)
    routes: list[Route] = []
    for number in range(count):
        routes.append(draw_long_way(place, number, routes))
        print(f"place:{name}/long/{number}: {routes[-1].length:.0f} m")
    return [[place.graph.nodes[node]["xy"] for node in route.nodes] for route in routes]


main()
