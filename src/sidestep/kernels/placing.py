"""Choosing places that keep apart, among candidates drawn beforehand."""

from __future__ import annotations

from sidestep.kernels.jit import kernel


@kernel
def pick_apart(candidates, free, radius, spacing, taken, count, chosen):
    """The first ``candidates (K, 2)`` that are ``free (K,)`` and at least ``spacing`` from the discs ``taken[:count]``
    (x, y, radius) and from each other, surface to surface, go to ``taken[count:]``, their numbers to ``chosen``.
    Returns how many."""
    found = 0
    for k in range(candidates.shape[0]):
        if found == chosen.shape[0]:
            break
        if not free[k]:
            continue
        x, y = candidates[k, 0], candidates[k, 1]
        apart = True
        for j in range(count + found):
            dx, dy = x - taken[j, 0], y - taken[j, 1]
            reach = radius + taken[j, 2] + spacing
            if dx * dx + dy * dy <= reach * reach:
                apart = False
                break
        if apart:
            taken[count + found, 0], taken[count + found, 1], taken[count + found, 2] = x, y, radius
            chosen[found] = k
            found += 1
    return found
