"""From a name or a seed to a town, and from ``town:NAME``, ``town:NAME@x0,y0,x1,y1`` or ``town:NAME/long/NUMBER`` in a
scenario file to a saved window of one; ``+roads`` at the end adds lanes, for traffic. The order of the hundred made-up
names is part of the generator's version: name k is seed k.

Making a town takes a second or two, so windows are saved in the user's cache (``SIDESTEP_CACHE``, else the system's
folder). A file's name is a hash of everything that decides what is in it: the sources that make towns, the versions of
the libraries that they call, and the reference. Its first line is a hash of its contents, so that a truncated, damaged
or renamed file is noticed, made again and replaced. Where nothing can be written, nothing is saved.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path

import networkx as nx
import numpy as np
import platformdirs
import scipy
import shapely
from pydantic import ValidationError

import sidestep._util.exact
import sidestep.scenes.walkways
import sidestep.types.base
import sidestep.types.road
import sidestep.types.scene
from sidestep.errors import BadInput, UnknownName
from sidestep.scenes.towns.furniture import Clutter, furnish_street
from sidestep.scenes.towns.ground import (
    Plaza,
    add_corner_ground,
    add_junction_ground,
    add_street_ground,
    furnish_plaza,
    lay_plazas,
)
from sidestep.scenes.towns.lots import lay_lots
from sidestep.scenes.towns.network import HALF, Network, lay_network
from sidestep.scenes.towns.pieces import ObjectRows, PieceList
from sidestep.scenes.towns.streets import CURVE_TURN, Layout, Street, junction_kinds, lay_rings, lay_streets
from sidestep.scenes.towns.town import ROADS, Block, Town, long_scene
from sidestep.scenes.towns.walk_graph import BlockNumbers, WalkLines, make_graph
from sidestep.types.base import FloatArray
from sidestep.types.scene import SceneSpec

NAMES: tuple[str, ...] = (
    "Alderwick", "Amberleigh", "Applecross", "Ashbourne", "Bakerfold", "Barlowe", "Beckhaven", "Bellmere", "Birchend",
    "Blackford", "Bramblewood", "Brightsea", "Brookmarch", "Cairnholt", "Caldermoor", "Candleford", "Carrowdale",
    "Chalkwell", "Cloverdale", "Copperhill", "Cranmere", "Crowhurst", "Dappleton", "Deerleap", "Dovecote", "Driftwood",
    "Dunmarsh", "Eastwick", "Eddington", "Elmscroft", "Emberly", "Fairlight", "Fallowfield", "Fenwater", "Fernhollow",
    "Finchley", "Foxglove", "Galeport", "Gildersea", "Glassmoor", "Goldcrest", "Gorsedale", "Greyfriars", "Hallowby",
    "Harrowmead", "Hartsbridge", "Hawthorn", "Hazelbury", "Heronsgate", "Hollybank", "Honeywell", "Inglenook",
    "Ironbridge", "Ivyhatch", "Juniper", "Kestrel", "Kingfisher", "Kirkwall", "Lambswick", "Larkspur", "Lavenham",
    "Lindenfold", "Lowmarsh", "Maplewood", "Marlpit", "Meadowsweet", "Millbrook", "Mistlethorpe", "Mosswater",
    "Nettlecombe", "Nightingale", "Northolt", "Oakhanger", "Orchardleigh", "Otterbourne", "Pebbleridge", "Pinewick",
    "Plumstead", "Quarrybank", "Quillford", "Ravenscar", "Redmarley", "Riverbend", "Rookhope", "Rosewater",
    "Saltmarsh", "Sandpiper", "Silverdale", "Sparrowfield", "Springvale", "Starling", "Stonehaven", "Sunnymead",
    "Swallowcliffe", "Thistledown", "Tumbledown", "Umberleigh", "Violetbank", "Willowmere", "Yarrowby",
)  # fmt: skip


GENERATOR_VERSION = 1
"""Raised whenever a town changes. Results name it."""


def town_names() -> tuple[str, ...]:
    """The hundred names; name k is seed k."""
    return NAMES


def make_town(name_or_seed: str | int) -> Town:
    """A town by its name, or by a seed ≥ 0 (from 100 on it is called ``town-SEED``). The last few are kept."""
    if isinstance(name_or_seed, str):
        if name_or_seed not in NAMES:
            raise UnknownName("town", name_or_seed, NAMES)
        return _make(NAMES.index(name_or_seed))
    if int(name_or_seed) < 0:
        raise BadInput(f"town: a seed is 0 or more, got {name_or_seed}")
    return _make(int(name_or_seed))


def _stream(seed: int, purpose: int) -> np.random.Generator:
    """Random numbers of their own for each step, so that a change in one does not shift the next."""
    return np.random.Generator(np.random.PCG64([seed, GENERATOR_VERSION, purpose]))


@lru_cache(maxsize=4)
def _make(seed: int) -> Town:
    network = lay_network(_stream(seed, 1))
    kinds = junction_kinds(network, _stream(seed, 2))
    streets, rounds = lay_streets(network, kinds, _stream(seed, 3))
    layout = lay_rings(network, streets, rounds)
    plazas = lay_plazas(layout, _stream(seed, 4))
    blocks, numbers = _number_blocks(network, kinds, streets, plazas)
    pieces, rows = PieceList(), ObjectRows()
    _lay_ground(network, layout, rounds, plazas, numbers, pieces)
    clutter = _furnish(streets, plazas, numbers, rows, _stream(seed, 5))
    for junction in np.flatnonzero(rounds).tolist():  # a tree in the middle of each roundabout
        middle, ahead = network.junctions[junction], np.array([1.0, 0.0])
        rows.add("tree", middle, ahead, (0.6, 0.6), 7.5, numbers.junctions[junction])
    lay_lots(layout, plazas, _stream(seed, 6), pieces, rows)
    rows.put_down(pieces)
    walks = WalkLines(streets, layout.corners, clutter)
    graph = make_graph(walks, layout.rings, plazas, numbers)
    name = NAMES[seed] if seed < len(NAMES) else f"town-{seed}"
    bounds = (-HALF, -HALF, HALF, HALF)
    return Town(
        name,
        seed,
        GENERATOR_VERSION,
        bounds,
        blocks,
        graph,
        tuple(rows.standing_points),
        streets,
        plazas,
        walks,
        pieces.finish(),
        network,
        rounds,
    )


def _number_blocks(
    network: Network, kinds: tuple[str, ...], streets: tuple[Street, ...], plazas: tuple[Plaza, ...]
) -> tuple[tuple[Block, ...], BlockNumbers]:
    """Streets first, then junctions, crossings between junctions, and plazas."""
    found: list[tuple[str, FloatArray]] = []
    for street in streets:
        kind = "curve" if street.turned(street.start, street.end) > CURVE_TURN else "straight"
        found.append((kind, street.centre[len(street.centre) // 2]))
    junction_block = {junction: len(found) + junction for junction in range(len(kinds))}
    found += list(zip(kinds, network.junctions, strict=True))
    crossing_block = {}
    for number, street in enumerate(streets):
        for index, crossing in enumerate(street.crossings):
            if crossing.mid_block:
                crossing_block[(number, index)] = len(found)
                found.append(("mid_block_crossing", street.points_at(np.array([crossing.station]), np.zeros(1))[0][0]))
    plaza_block = [len(found) + k for k in range(len(plazas))]
    found += [("plaza", plaza.centre) for plaza in plazas]
    blocks = []
    for index, (kind, middle) in enumerate(found):
        x, y = np.round(middle, 3).tolist()
        blocks.append(Block(index, kind, (x, y)))
    return tuple(blocks), BlockNumbers(junction_block, crossing_block, plaza_block)


def _lay_ground(
    network: Network,
    layout: Layout,
    rounds: FloatArray,
    plazas: tuple[Plaza, ...],
    numbers: BlockNumbers,
    pieces: PieceList,
) -> None:
    streets, corners = layout.streets, layout.corners
    for number, street in enumerate(streets):
        add_street_ground(pieces, street, number)
    by_after = {corner.after: corner for corner in corners}
    for corner in corners:
        add_corner_ground(pieces, corner, len(streets) + corner.junction)
    for junction in range(len(network.junctions)):
        add_junction_ground(pieces, network, junction, by_after, float(rounds[junction]), len(streets) + junction)
    for plaza, block in zip(plazas, numbers.plazas, strict=True):
        pieces.add("sidewalk", plaza.area, block, "plaza")


def _furnish(
    streets: tuple[Street, ...],
    plazas: tuple[Plaza, ...],
    numbers: BlockNumbers,
    rows: ObjectRows,
    rng: np.random.Generator,
) -> tuple[tuple[tuple[Clutter, ...], tuple[Clutter, ...]], ...]:
    mouths: dict[int, tuple[list[float], list[float]]] = {}
    for plaza in plazas:
        for (number, side), station in zip(plaza.halves, plaza.stations, strict=True):
            mouths.setdefault(number, ([], []))[side].append(station)
    clutter = [
        furnish_street(street, mouths.get(number, ([], [])), rows, number, rng) for number, street in enumerate(streets)
    ]
    for plaza, block in zip(plazas, numbers.plazas, strict=True):
        furnish_plaza(plaza, rows, block, rng)
    return tuple(clutter)


PREFIX = "town:"
LARGEST = 400_000
"""Characters: larger scenes (whole towns) are not saved."""
MODULES = (
    sidestep._util.exact,
    sidestep.scenes.walkways,
    sidestep.types.base,
    sidestep.types.road,
    sidestep.types.scene,
)
"""Beside those of this folder, the sources on which windows depend. No kernel is among them."""


def resolve_town(reference: str) -> SceneSpec:
    """The window of a town that ``reference`` names; without a box the whole town."""
    scene = _load(reference)
    if scene is None:
        scene = make_window(reference)
        _save(reference, scene)
    return scene


def make_window(reference: str) -> SceneSpec:
    """The scene of a window, generated without the cache."""
    roads = reference.endswith(ROADS)
    name, at, box = reference.removeprefix(PREFIX).removesuffix(ROADS).partition("@")
    name, long, number = name.partition("/long/")
    seed = re.fullmatch(r"town-([0-9]{1,9})", name)
    town = make_town(int(seed[1]) if seed else name)
    if long:
        if not re.fullmatch(r"[0-9]{1,9}", number):
            raise BadInput(f"scene {reference:.80}: a long route is town:NAME/long/NUMBER, got {number!r:.40}")
        return long_scene(town, int(number), roads=roads)
    if not at:
        return town.window(roads=roads)
    try:
        x0, y0, x1, y1 = (float(value) for value in box.split(","))
    except ValueError:
        raise BadInput(f"scene {reference:.80}: a window is town:NAME@x0,y0,x1,y1 in metres, got {box!r:.80}") from None
    return town.window((x0, y0, x1, y1), roads=roads)


@cache
def _generator_hash() -> str:
    """Hash of the sources that make towns and of the versions of the libraries that they call."""
    files = [*Path(__file__).parent.glob("*.py"), *(Path(str(module.__file__)) for module in MODULES)]
    found = hashlib.sha256()
    for path in sorted(files):
        found.update(f"{path.parent.name}/{path.name}".encode() + path.read_bytes())
    versions = (sys.version_info[:2], np.__version__, scipy.__version__, shapely.__version__, shapely.geos_version)
    found.update(repr((versions, nx.__version__)).encode())
    return found.hexdigest()


def cache_file(reference: str) -> Path:
    """Where the window is saved."""
    base = os.environ.get("SIDESTEP_CACHE") or platformdirs.user_cache_dir("sidestep", appauthor=False)
    name = hashlib.sha256(f"{_generator_hash()} {reference}".encode()).hexdigest()[:32]
    return Path(base) / "towns" / _generator_hash()[:16] / f"{name}.json"


def _checksum(reference: str, text: bytes) -> bytes:
    return hashlib.sha256(f"{_generator_hash()} {reference}\n".encode() + text).hexdigest().encode()


def _load(reference: str) -> SceneSpec | None:
    """The saved window; None if there is none, or not one that was saved whole under this name."""
    try:
        checksum, _, text = cache_file(reference).read_bytes().partition(b"\n")
    except OSError:
        return None
    if checksum != _checksum(reference, text):
        return None
    try:
        return SceneSpec.model_validate_json(text)
    except ValidationError:
        return None


def _save(reference: str, scene: SceneSpec) -> None:
    """Write the window if it is small enough; a reader sees the old file or the new one, never a part."""
    text = scene.model_dump_json().encode()
    if scene.name != reference or len(text) > LARGEST:
        return
    path = cache_file(reference)
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
        with os.fdopen(descriptor, "wb") as file:
            file.write(_checksum(reference, text) + b"\n" + text)
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
