"""Migrations of the database of studies, run by Alembic from :func:`sidestep.studies.database.migrate`."""
