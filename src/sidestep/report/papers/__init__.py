"""Sections of a report in the shape of a publication: its tables and figures for our runs and the published ones."""
