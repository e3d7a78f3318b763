"""Many environments, one picture each at a time: every environment on one thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from sidestep.errors import BadInput
from sidestep.render.camera_model import CameraPose
from sidestep.render.mesh import Instance
from sidestep.render.packing import PackedInstances
from sidestep.render.renderer import ALL, Images, Renderer
from sidestep.render.team import Team


def render_many(
    renderers: Sequence[Renderer],
    poses: Sequence[CameraPose],
    instances: Sequence[Sequence[Instance] | PackedInstances],
    want: Iterable[str] = ALL,
    *,
    threads: int = 2,
    time_s: float = 0.0,
) -> list[Images]:
    """A picture of each environment, each drawn by one thread. For small pictures this is the way to use all cores."""
    return BatchRenderer(renderers, threads=threads).render(poses, instances, want, time_s=time_s)


class BatchRenderer:
    """Several environments, each with its own renderer (of one scene or of several), drawn side by side."""

    def __init__(self, renderers: Sequence[Renderer], *, threads: int = 2) -> None:
        if any(renderer.threads != 1 for renderer in renderers) or len(set(map(id, renderers))) != len(renderers):
            raise BadInput("batch: give every environment a renderer of its own with threads=1")
        self.renderers = list(renderers)
        self._team = Team(max(1, min(threads, len(renderers))))

    def render(
        self,
        poses: Sequence[CameraPose],
        instances: Sequence[Sequence[Instance] | PackedInstances],
        want: Iterable[str] = ALL,
        *,
        time_s: float = 0.0,
    ) -> list[Images]:
        """One frame of every environment, in order."""
        if not len(poses) == len(instances) == len(self.renderers):
            raise BadInput(
                f"batch: {len(self.renderers)} renderers, {len(poses)} poses, {len(instances)} sets of people"
            )
        asked = frozenset([want] if isinstance(want, str) else want)
        images: list[Images | None] = [None] * len(poses)

        def draw(k: int) -> None:
            images[k] = self.renderers[k].render(poses[k], instances[k], asked, time_s=time_s)

        side_by_side(self._team, draw, range(len(poses)))
        return [one for one in images if one is not None]


def side_by_side(team: Team, job: Callable[[int], object], numbers: Iterable[int]) -> None:
    """``job(k)`` for every number, each on one of the team's threads."""
    waiting = deque(numbers)

    def work(_: int) -> None:
        while waiting:
            try:
                k = waiting.popleft()
            except IndexError:  # another thread took the last
                return
            job(k)

    team.run(work)
