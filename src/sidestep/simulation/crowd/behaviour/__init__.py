"""Background people on a behaviour graph.

The graph with its ways and places to stand, also from networkx (``network``), conflict-free first paths
(``push_and_rotate``, ``subproblems``), and the state machine that sends everybody where to walk and when to stop
(``background``, with ``journeys`` and ``stops``). Avoidance is the crowd model's business.
"""
