"""IntersectNav: ratios of outcomes by task and by scene, and its six metrics in both dialects, for ``intersection``."""
