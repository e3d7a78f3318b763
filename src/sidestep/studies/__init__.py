"""Human studies: participants meet policies and rate them at once, on a server of the lab's own.

``definition`` is the study as a YAML file, ``order`` decides who meets what in which order, ``database`` and ``store``
keep everything (SQLite or PostgreSQL, migrations in ``migrations``), ``access`` has passwords, cookies and rate limits,
``participant_pages`` and ``experimenter_pages`` are the pages, ``walking`` lets a participant walk in the simulation,
``server`` puts them together. Questionnaires and statistics are in ``sidestep.studies.ratings``, which knows no server. The
command is ``sidestep study``.
"""
