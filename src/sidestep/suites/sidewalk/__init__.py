"""The sidewalk suites: unit tests of lane keeping, people who react, and long routes through towns.

``places`` holds where they are, as read from ``data/sidewalk.json``; ``choose`` made that file from the towns;
``unit``, ``reactive`` and ``long`` make scenarios of it.
"""
