"""The sidewalk suites: unit tests of lane keeping, people who react, and long routes through towns.

``routes`` has where they lie, as read from data files; ``scenarios`` makes the scenarios of the three suites.
"""
