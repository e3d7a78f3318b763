"""Who stands where at the nodes. At a queue everybody moves up when somebody leaves."""

from __future__ import annotations

from sidestep.crowd.behaviour.network import Network
from sidestep.crowd.behaviour.stage import Point


class Standing:
    """The places of all nodes and who has them."""

    def __init__(self, network: Network, people: int) -> None:
        self._network = network
        self._taken: dict[int, list[int | None]] = {}
        self._place_of: list[tuple[int, int] | None] = [None] * people

    def has_room(self, node: int) -> bool:
        """Whether a place of ``node`` is free."""
        return node not in self._taken or None in self._taken[node]

    def is_queue(self, node: int) -> bool:
        """Whether people stand one behind the other there."""
        spec = self._network.graph.nodes[node]
        return spec.kind == "object" and spec.interaction == "queue"

    def take(self, i: int, node: int) -> tuple[Point, bool]:
        """The first free place of ``node`` is person ``i``'s; and whether it is the first of all."""
        places = self._network.places[node]
        taken = self._taken.setdefault(node, [None] * len(places))
        k = taken.index(None)
        taken[k] = i
        self._place_of[i] = (node, k)
        return places[k], k == 0

    def release(self, i: int) -> list[tuple[int, Point, bool]]:
        """Person ``i`` goes. Who moves up in a queue, to which place, and whether it is the first."""
        if self._place_of[i] is None:
            return []
        node, k = self._place_of[i] or (0, 0)
        taken, places = self._taken[node], self._network.places[node]
        self._place_of[i], taken[k] = None, None
        moved = []
        if self.is_queue(node):
            behind = [j for j in taken[k + 1 :] if j is not None]
            taken[k:] = [*behind, *([None] * (len(taken) - k - len(behind)))]
            for place, j in enumerate(behind, start=k):
                self._place_of[j] = (node, place)
                moved.append((j, places[place], place == 0))
        if not any(other is not None for other in taken):
            del self._taken[node]
        return moved
