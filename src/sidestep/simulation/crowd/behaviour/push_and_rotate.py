"""Push and Rotate: paths for many agents on one graph, so that no two are ever on one vertex.

Agents are solved one after the other. An agent walks along a shortest path to its goal. Whoever stands on the next
vertex is *pushed* away if there is room beyond; otherwise the two *swap* places at a branching vertex, everybody else
being put back where they were. Agents at their goal are not pushed; those that were swapped one vertex back are
returned in reverse order (*resolve*). On a graph that is a single ring nobody can overtake: everybody *rotates* until
the first agent is at its goal. :mod:`sidestep.simulation.crowd.behaviour.subproblems` finds the order.

Source: de Wilde, ter Mors and Witteveen, "Push and Rotate: a complete multi-agent pathfinding algorithm", JAIR 51
(2014), after Luna and Bekris, "Push and Swap" (2011). For up to |V| - 2 agents on a connected graph. Departures:
finished agents are returned right after each agent, so that the recursion for which the paper rotates does not begin;
and a path prefers vertices without finished agents.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from sidestep.errors import BadInput
from sidestep.simulation.crowd.behaviour.subproblems import solving_order

Move = tuple[int, int, int]
"""Agent, from vertex, to vertex."""
Neighbours = Sequence[Sequence[int]]
"""The neighbours of each vertex, in a fixed order."""

NOBODY = -1


def push_and_rotate(neighbours: Neighbours, starts: Sequence[int], goals: Sequence[int]) -> list[Move] | None:
    """Single moves, one after the other, that bring agent ``k`` from ``starts[k]`` to ``goals[k]``; None: no moves do.

    Every move goes along an edge to a vertex on which nobody is. The graph must be connected.
    """
    _check(neighbours, starts, goals)
    board = Board(neighbours, starts)
    if not _solve(board, goals, solving_order(neighbours, starts, goals)):
        return None
    return without_detours(board.moves, len(starts))


def _check(neighbours: Neighbours, starts: Sequence[int], goals: Sequence[int]) -> None:
    vertices = range(len(neighbours))
    for what, places in (("starts", starts), ("goals", goals)):
        if len(set(places)) != len(places) or any(place not in vertices for place in places):
            raise BadInput(f"push and rotate: {what} must be different vertices 0 … {len(neighbours) - 1}")
    if len(starts) != len(goals):
        raise BadInput(f"push and rotate: {len(starts)} starts but {len(goals)} goals")
    if len(starts) > max(len(neighbours) - 2, 0):
        raise BadInput(
            f"push and rotate: {len(starts)} agents on {len(neighbours)} vertices; two vertices must stay free"
        )
    if len(neighbours) and len(distances_from(neighbours, 0)) != len(neighbours):
        raise BadInput("push and rotate: the graph is not connected; solve each connected part by itself")


class Board:
    """The node of each person, and the moves so far, which can be taken back."""

    def __init__(self, neighbours: Neighbours, starts: Sequence[int]) -> None:
        self.neighbours = neighbours
        self.at = list(starts)
        self.who = [NOBODY] * len(neighbours)
        for agent, vertex in enumerate(starts):
            self.who[vertex] = agent
        self.moves: list[Move] = []

    def move(self, agent: int, vertex: int) -> None:
        """One step of one agent to a free neighbouring vertex."""
        here = self.at[agent]
        self.who[here], self.who[vertex] = NOBODY, agent
        self.at[agent] = vertex
        self.moves.append((agent, here, vertex))

    def take_back(self, count: int) -> None:
        """Undo all moves but the first ``count``."""
        while len(self.moves) > count:
            agent, here, vertex = self.moves.pop()
            self.who[vertex], self.who[here] = NOBODY, agent
            self.at[agent] = here

    def path(self, start: int, goal: int, blocked: Iterable[int] = ()) -> list[int] | None:
        """A shortest path over vertices that are not ``blocked``, both ends included."""
        return self._search(start, blocked, lambda vertex: vertex == goal)

    def clear(self, vertex: int, blocked: Iterable[int]) -> bool:
        """Free ``vertex`` by shifting agents toward the nearest free vertex, over none that is ``blocked``."""
        path = self._search(vertex, blocked, lambda there: self.who[there] == NOBODY)
        if path is None:
            return False
        for k in range(len(path) - 1, 0, -1):
            self.move(self.who[path[k - 1]], path[k])
        return True

    def _search(self, start: int, blocked: Iterable[int], is_end: Callable[[int], bool]) -> list[int] | None:
        before = dict.fromkeys(blocked, NOBODY)
        before.pop(start, None)
        before[start] = start
        queue = deque([start])
        while queue:
            vertex = queue.popleft()
            if is_end(vertex):
                path = [vertex]
                while path[-1] != start:
                    path.append(before[path[-1]])
                return path[::-1]
            for following in self.neighbours[vertex]:
                if following not in before:
                    before[following] = vertex
                    queue.append(following)
        return None


def distances_from(neighbours: Neighbours, start: int) -> dict[int, int]:
    """Steps from ``start`` to every vertex that can be reached, nearest first."""
    distance = {start: 0}
    queue = deque([start])
    while queue:
        vertex = queue.popleft()
        for following in neighbours[vertex]:
            if following not in distance:
                distance[following] = distance[vertex] + 1
                queue.append(following)
    return distance


def _solve(board: Board, goals: Sequence[int], order: Sequence[int]) -> bool:
    if order and all(len(near) == 2 for near in board.neighbours):
        _rotate_until(board, order[0], goals[order[0]])
    finished: set[int] = set()
    return all(_bring(board, agent, goals, finished) for agent in order)


def _rotate_until(board: Board, agent: int, goal: int) -> None:
    """On a ring: everybody steps round, the one before a free vertex first, until ``agent`` is at its goal."""
    ring = [0, board.neighbours[0][0]]
    while len(ring) < len(board.neighbours):
        ring.append(next(vertex for vertex in board.neighbours[ring[-1]] if vertex != ring[-2]))
    size = len(ring)
    while board.at[agent] != goal:
        free = next(k for k in range(size) if board.who[ring[k]] == NOBODY)
        for k in range(free - 1, free - size, -1):
            walker = board.who[ring[k % size]]
            if walker != NOBODY and board.who[ring[(k + 1) % size]] == NOBODY:
                board.move(walker, ring[(k + 1) % size])
                if walker == agent and board.at[agent] == goal:
                    return


def _bring(board: Board, agent: int, goals: Sequence[int], finished: set[int]) -> bool:
    """Bring ``agent`` to its goal and those who were finished back to theirs."""
    standing = [board.at[other] for other in finished]
    path = board.path(board.at[agent], goals[agent], standing) or board.path(board.at[agent], goals[agent])
    if path is None:
        return False
    for vertex in path[1:]:
        if not _step(board, agent, vertex, finished):
            return False
    finished.add(agent)
    owner = {goals[other]: other for other in finished}
    for vertex in reversed(path):
        displaced = owner.get(vertex)
        if displaced is not None and board.at[displaced] != vertex and not _step(board, displaced, vertex, finished):
            return False
    return True


def _step(board: Board, agent: int, vertex: int, finished: set[int]) -> bool:
    """One step of ``agent`` to ``vertex``: push who stands there, or swap with them."""
    other = board.who[vertex]
    if other == NOBODY:
        board.move(agent, vertex)
        return True
    if other not in finished:
        standing = {board.at[done] for done in finished}
        standing.add(board.at[agent])
        if board.clear(vertex, standing):
            board.move(agent, vertex)
            return True
    return swap(board, agent, other)


def swap(board: Board, one: int, other: int) -> bool:
    """Exchange two neighbours at the nearest branching vertex that allows it; all others end where they were."""
    for junction in distances_from(board.neighbours, board.at[one]):
        if len(board.neighbours[junction]) < 3:
            continue
        for lead, trail in ((one, other), (other, one)):
            begin = len(board.moves)
            if _multipush(board, lead, trail, junction) and _make_room(board, lead, trail):
                moves = board.moves[begin:]
                _exchange(board, lead, trail)
                roles = {one: other, other: one}
                for agent, here, _ in reversed(moves):
                    board.move(roles.get(agent, agent), here)
                return True
            board.take_back(begin)
    return False


def _multipush(board: Board, lead: int, trail: int, junction: int) -> bool:
    """Bring ``lead`` to the junction with ``trail`` right behind, pushing others out of the way."""
    path = board.path(board.at[lead], junction, [board.at[trail]])
    if path is None or junction == board.at[trail]:
        return False
    for vertex in path[1:]:
        if board.who[vertex] != NOBODY and not board.clear(vertex, (board.at[lead], board.at[trail])):
            return False
        behind = board.at[lead]
        board.move(lead, vertex)
        board.move(trail, behind)
    return True


def _make_room(board: Board, lead: int, trail: int) -> bool:
    """Free two neighbours of the junction on which ``lead`` stands, besides the one of ``trail``."""
    junction, behind = board.at[lead], board.at[trail]
    sides = [vertex for vertex in board.neighbours[junction] if vertex != behind]
    free = [vertex for vertex in sides if board.who[vertex] == NOBODY]
    for side in sides:
        if len(free) >= 2:
            return True
        if side not in free and board.clear(side, (junction, behind, *free)):
            free.append(side)
    if len(free) >= 2:
        return True
    if not free:
        return False
    begin = len(board.moves)
    for attempt in (_room_through_free, _room_from_behind, _room_by_retreat):
        for side in sides:
            if side != free[0]:
                if attempt(board, lead, trail, free[0], side):
                    return True
                board.take_back(begin)
    return False


def _room_through_free(board: Board, lead: int, trail: int, free: int, side: int) -> bool:
    """Empty ``side`` by way of the free neighbour, then that one again."""
    junction, behind = board.at[lead], board.at[trail]
    return board.clear(side, (junction, behind)) and board.clear(free, (junction, behind, side))


def _room_from_behind(board: Board, lead: int, trail: int, free: int, side: int) -> bool:
    """Let the two step forward, empty ``side`` by way of where they came from, and step back."""
    junction, behind = board.at[lead], board.at[trail]
    board.move(lead, free)
    board.move(trail, junction)
    if not (board.clear(side, (junction, free)) and board.clear(behind, (junction, free, side))):
        return False
    board.move(trail, behind)
    board.move(lead, junction)
    return True


def _room_by_retreat(board: Board, lead: int, trail: int, free: int, side: int) -> bool:
    """Let the two step back, pass who is on ``side`` over the junction to the free neighbour, and on from there."""
    junction, behind = board.at[lead], board.at[trail]
    begin = len(board.moves)
    for back in board.neighbours[behind]:
        if back in (junction, free, side):
            continue
        if board.clear(back, (junction, behind, free)):
            passing = board.who[side]
            if passing != NOBODY:
                board.move(trail, back)
                board.move(lead, behind)
                board.move(passing, junction)
                board.move(passing, free)
                board.move(lead, junction)
                board.move(trail, behind)
            if board.clear(free, (junction, behind, side)):
                return True
        board.take_back(begin)
    return False


def _exchange(board: Board, lead: int, trail: int) -> None:
    """With two free neighbours of the junction the two change places."""
    junction, behind = board.at[lead], board.at[trail]
    one, two = [side for side in board.neighbours[junction] if board.who[side] == NOBODY][:2]
    board.move(lead, one)
    board.move(trail, junction)
    board.move(trail, two)
    board.move(lead, junction)
    board.move(lead, behind)
    board.move(trail, junction)


def without_detours(moves: Sequence[Move], agents: int) -> list[Move]:
    """Drop what an agent does between two visits of a vertex to which nobody else comes in the meantime."""
    kept = list(moves)
    while True:
        shorter = _drop_detours(kept, agents)
        if len(shorter) == len(kept):
            return shorter
        kept = shorter


def _drop_detours(moves: Sequence[Move], agents: int) -> list[Move]:
    own: list[list[int]] = [[] for _ in range(agents)]  # each agent's moves that still count, in order
    visits: dict[int, tuple[int, int, int]] = {}  # last visitor of a vertex, when, and when anybody else was there
    dropped: set[int] = set()

    def visit(agent: int, vertex: int, now: int) -> int:
        visitor, when, others = visits.get(vertex, (agent, -1, -1))
        others = others if visitor == agent else when
        visits[vertex] = (agent, now, others)
        return others

    for number, (agent, here, vertex) in enumerate(moves):
        visit(agent, here, number)
        others = visit(agent, vertex, number)
        stack = own[agent]
        back = next((k for k in range(len(stack) - 1, -1, -1) if moves[stack[k]][1] == vertex), None)
        if back is not None and stack[back] > others:
            dropped.update(stack[back:], (number,))
            del stack[back:]
        else:
            stack.append(number)
    return [move for number, move in enumerate(moves) if number not in dropped]
