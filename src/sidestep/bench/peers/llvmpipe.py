"""OpenGL on the processor: Mesa's llvmpipe, the usual way to draw without a graphics card.

The same street, people, culling, levels of detail, shading and pictures as ours, by the OpenGL back end: people are
skinned by the card's vertex shader in one call for each level of detail, what stands still casts its shadow only when
the map moves, and RGB, depth and instance numbers are read back into arrays that are kept. llvmpipe uses all cores.
"""

from __future__ import annotations

from sidestep.bench.peers import Peer
from sidestep.errors import SidestepError


def street_peer(size: tuple[int, int]) -> Peer:
    """The street at a size of picture; raises where OpenGL draws on a graphics card, or not at all."""
    from sidestep.bench.render import THREADS, Street
    from sidestep.render.gl.context import driver_name

    driver = driver_name()
    if "llvmpipe" not in driver:
        raise SidestepError(f"OpenGL draws on {driver} here, not on llvmpipe (LIBGL_ALWAYS_SOFTWARE=1 may change that)")
    return Peer("moderngl/llvmpipe", Street(*size, THREADS, kind="gl"))
