"""In which order Push and Rotate solves its agents.

Agents can change places where the graph branches: in biconnected parts and at vertices of three or more edges. Parts
that are at most m - 2 steps from each other (m: free vertices) are one. The agents that can get into a part and leave
it a free vertex are its *subproblem*; the others keep their order in a corridor. A part comes before agents of others
whose goals lie in it or fill the way out of it, as these would lock it.

Source: de Wilde, ter Mors and Witteveen (2014), Section 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import networkx as nx

Neighbours = Sequence[Sequence[int]]


def solving_order(neighbours: Neighbours, starts: Sequence[int], goals: Sequence[int]) -> list[int]:
    """The agents in the order in which they are solved."""
    part_of = _parts(neighbours, len(neighbours) - len(starts))
    if len(set(part_of.values())) == 1 and len(part_of) == len(neighbours):
        return list(range(len(starts)))
    group_of = _assign(neighbours, starts, part_of)
    order = _sorted_groups(sorted(set(group_of)), _priorities(neighbours, goals, part_of, group_of))
    rank = {group: k for k, group in enumerate(order)}
    return sorted(range(len(starts)), key=lambda agent: (rank[group_of[agent]], agent))


def _sorted_groups(groups: Sequence[int], after: dict[int, set[int]]) -> list[int]:
    """Groups so that each comes before those in ``after``; a ring of them is cut at the least number."""
    left, order = list(groups), []
    while left:
        ready = [group for group in left if not any(group in after.get(other, ()) for other in left if other != group)]
        chosen = ready[0] if ready else left[0]
        order.append(chosen)
        left.remove(chosen)
    return order


def _parts(neighbours: Neighbours, free: int) -> dict[int, int]:
    """Number of the part that each vertex belongs to; vertices of corridors are not listed."""
    part_of: dict[int, int] = {}
    for component in biconnected_components(neighbours):
        if len(component) > 2:
            known = sorted({part_of[vertex] for vertex in component if vertex in part_of})
            number = known[0] if known else min(component)
            for vertex, part in list(part_of.items()):
                if part in known:
                    part_of[vertex] = number
            part_of.update(dict.fromkeys(component, number))
    for vertex, near in enumerate(neighbours):
        if len(near) >= 3:
            part_of.setdefault(vertex, vertex)
    while (bridge := _near_parts(neighbours, part_of, free - 2)) is not None:
        joined = {part_of[vertex] for vertex in bridge if vertex in part_of}
        number = min(joined)
        for vertex, part in list(part_of.items()):
            if part in joined:
                part_of[vertex] = number
        part_of.update(dict.fromkeys(bridge, number))
    return part_of


def _near_parts(neighbours: Neighbours, part_of: dict[int, int], reach: int) -> list[int] | None:
    """A path of at most ``reach`` steps from one part to another, both ends included."""
    for start, part in part_of.items():
        for first in neighbours[start]:
            path = [start, first]
            while first not in part_of and len(path) <= reach:
                onward = [vertex for vertex in neighbours[first] if vertex != path[-2]]
                if len(onward) != 1:
                    break
                first = onward[0]
                path.append(first)
            if len(path) - 1 <= reach and part_of.get(path[-1], part) != part:
                return path
    return None


def _assign(neighbours: Neighbours, starts: Sequence[int], part_of: dict[int, int]) -> list[int]:
    """The part of each agent; agents of none get numbers of their own below zero."""
    who = {vertex: agent for agent, vertex in enumerate(starts)}
    group_of = [-1 - agent for agent in range(len(starts))]
    free = len(neighbours) - len(starts)
    for vertex, part in part_of.items():
        inside = True
        for outside in neighbours[vertex]:
            if part_of.get(outside) == part:
                continue
            within = free - _free_beyond(neighbours, vertex, outside, who)
            inside = inside and within >= 1
            for agent in islice(_corridor_agents(neighbours, vertex, outside, part_of, who), max(within - 1, 0)):
                group_of[agent] = part
        if inside and vertex in who:
            group_of[who[vertex]] = part
    return group_of


def _free_beyond(neighbours: Neighbours, gate: int, first: int, who: dict[int, int]) -> int:
    """Free vertices that are reached over ``first`` without passing ``gate``."""
    seen, stack = {gate, first}, [first]
    count = 0
    while stack:
        vertex = stack.pop()
        count += vertex not in who
        for following in neighbours[vertex]:
            if following not in seen:
                seen.add(following)
                stack.append(following)
    return count


def _corridor(neighbours: Neighbours, gate: int, first: int, part_of: dict[int, int]) -> Iterator[int]:
    """Vertices from ``first`` away from ``gate`` to the corridor's end."""
    before, vertex = gate, first
    while vertex not in part_of:
        yield vertex
        onward = [following for following in neighbours[vertex] if following != before]
        if len(onward) != 1:
            return
        before, vertex = vertex, onward[0]
    yield vertex


def _corridor_agents(
    neighbours: Neighbours, gate: int, first: int, part_of: dict[int, int], who: dict[int, int]
) -> Iterator[int]:
    return (who[vertex] for vertex in _corridor(neighbours, gate, first, part_of) if vertex in who)


def _priorities(
    neighbours: Neighbours, goals: Sequence[int], part_of: dict[int, int], group_of: Sequence[int]
) -> dict[int, set[int]]:
    """For each part the groups that come after it: their goals lie in it or fill the corridor right behind its gate."""
    owner = {vertex: agent for agent, vertex in enumerate(goals)}
    after: dict[int, set[int]] = {}
    for vertex, part in part_of.items():
        if vertex not in owner:
            continue
        if group_of[owner[vertex]] != part:
            after.setdefault(part, set()).add(group_of[owner[vertex]])
        for outside in neighbours[vertex]:
            if part_of.get(outside) == part:
                continue
            for filled in _corridor(neighbours, vertex, outside, part_of):
                if filled not in owner:
                    break
                if group_of[owner[filled]] != part:
                    after.setdefault(part, set()).add(group_of[owner[filled]])
    return after


def biconnected_components(neighbours: Neighbours) -> list[set[int]]:
    """Largest sets of vertices that no single vertex separates."""
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(neighbours)))
    graph.add_edges_from((vertex, other) for vertex, near in enumerate(neighbours) for other in near)
    found: Any = nx.biconnected_components(graph)  # the stub has lists of sets
    return list(found)
