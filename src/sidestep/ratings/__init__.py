"""Ratings of robots by people: questionnaires as data, the table of answers, and its statistics.

``questionnaire`` reads instruments from YAML files (``data/``), ``table`` holds one row per answer and reads and writes
CSV, Parquet and JSON. Nothing here simulates or serves pages.
"""
