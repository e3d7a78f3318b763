"""Sets of scenarios: the bundled suites, and suites that a user writes as YAML files.

``files.load_suite`` finds either by name or path; ``validate`` checks files. A suite only describes scenarios:
``simulation`` builds their worlds and ``runs`` runs them.
"""
