"""Background people on a behaviour graph.

The graph with its ways and places to stand (``network``), graphs from networkx (``from_graph``), conflict-free first
paths (``push_and_rotate``, ``subproblems``), placement (``place``), and the state machine that tells everybody where to
walk and when to stop (``background``, with ``journeys``, ``standing``, ``talking``, ``pose``). Avoidance is the crowd
model's business.
"""
