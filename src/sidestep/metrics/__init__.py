"""One file per family of metrics, each a pure function record → result."""

METRICS: dict[str, str] = {}
