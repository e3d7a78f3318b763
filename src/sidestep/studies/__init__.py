"""Human studies: participants meet policies and rate each run right after it, on a server of the laboratory.

``definition`` is the study as a YAML file; ``order`` decides which participant meets which policy in which order.
``database``, ``store`` and ``answers`` keep everything (SQLite or PostgreSQL, migrations in ``migrations``). ``access``
has passwords, cookies and rate limits. ``participant_pages`` and ``experimenter_pages`` are the pages, ``walking`` lets
a participant walk in the simulation, ``server`` puts them together. Questionnaires and statistics are in
``sidestep.studies.ratings``, which does not depend on the server. The command is ``sidestep study``.
"""
