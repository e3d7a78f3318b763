"""Sets of scenarios: the bundled suites, and suites that a user writes as YAML files.

``files.load_suite`` finds either by name or path; ``schema`` publishes the JSON Schema of a scenario. A suite
only describes: building and running it is the business of ``simulation`` and ``benchmark``.
"""
