"""A GIF film as an animated WebP that pages can embed: ``python -m tools.film_to_webp film.gif film.webp``.

The film of the README is made by the two commands that it names.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from PIL import Image, ImageSequence

LARGEST_BYTES = 1_500_000


def film_to_webp(source: Path, target: Path, every: int = 2, quality: int = 45) -> int:
    """Write every ``every``-th frame of ``source`` to ``target`` at the same speed. Returns the size in bytes."""
    pictures, durations = [], []
    for k, frame in enumerate(ImageSequence.Iterator(Image.open(source))):
        length = int(frame.info["duration"])
        if k % every == 0:
            pictures.append(frame.convert("RGB"))
            durations.append(length)
        else:
            durations[-1] += length
    first, *rest = pictures
    first.save(target, "WEBP", save_all=True, append_images=rest, duration=durations, loop=0, quality=quality, method=4)
    size = target.stat().st_size
    if size > LARGEST_BYTES:
        raise SystemExit(f"{target}: {size} bytes are more than {LARGEST_BYTES}; choose a lower --quality")
    return size


def main() -> None:
    """Convert one film."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--every", type=int, default=2, help="Keep every n-th frame")
    parser.add_argument("--quality", type=int, default=45, help="0 to 100")
    options = parser.parse_args()
    print(f"{options.target}: {film_to_webp(options.source, options.target, options.every, options.quality)} bytes")


if __name__ == "__main__":
    main()
