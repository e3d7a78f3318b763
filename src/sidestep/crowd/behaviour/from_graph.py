"""A behaviour graph out of a networkx graph."""

from __future__ import annotations

from typing import Any

from sidestep.errors import BadInput
from sidestep.types.behaviour import BehaviourGraph, BehaviourNode

PLACE_KEYS = ("at", "pos", "xy", "position")


def behaviour_graph(graph: Any, where: str = "behaviour graph") -> BehaviourGraph:
    """Nodes and edges of ``graph`` (networkx, directed or not) in its own order.

    A node's place, m, is its attribute ``at``, ``pos``, ``xy`` or ``position``, or ``x`` and ``y``, or the node itself
    if it is a pair of numbers. The attributes ``kind``, ``name``, ``heading``, ``interaction`` and ``capacity`` are
    taken over; others are ignored.
    """
    number: dict[Any, int] = {}
    nodes: list[dict[str, Any]] = []
    for node, data in graph.nodes(data=True):
        number[node] = len(nodes)
        known = {key: data[key] for key in BehaviourNode.model_fields if key != "at" and data.get(key) is not None}
        x, y = _place(node, data, where)
        nodes.append({"at": (float(x), float(y)), **known})
    edges = dict.fromkeys(
        (min(number[a], number[b]), max(number[a], number[b])) for a, b in graph.edges() if number[a] != number[b]
    )
    return BehaviourGraph.parse({"nodes": tuple(nodes), "edges": tuple(edges)}, where)


def _place(node: Any, data: dict[str, Any], where: str) -> tuple[Any, Any]:
    place = next((data[key] for key in PLACE_KEYS if key in data), None)
    if place is None and "x" in data and "y" in data:
        place = (data["x"], data["y"])
    if place is None and isinstance(node, tuple):
        place = node
    try:
        x, y = float(place[0]), float(place[1])  # type: ignore[index]
    except (TypeError, ValueError, IndexError):
        keys = ", ".join(PLACE_KEYS)
        raise BadInput(
            f"{where}: node {node!r} has no place; give it an attribute {keys} or x and y, in metres"
        ) from None
    return x, y
